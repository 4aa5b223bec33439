import { get } from 'node:http'
import { expect, test } from 'vitest'
import { startEmailApi, type EmailApi } from '../../support/email-api.ts'

const plain = { from: 'App <app@sender.example>', to: 'user@recipient.example', subject: 'Hello' }
const png = Buffer.from('89504e470d0a1a0a', 'hex')

const make = (api: EmailApi, body: object) => api.request('POST', '/api/previews', { token: api.key, body })

async function fetched(api: EmailApi, url: unknown) {
  const response = await fetch(api.url + String(url))
  return { status: response.status, headers: Object.fromEntries(response.headers), text: await response.text() }
}

test('HTML is shown once, for a minute, under a policy that lets nothing of it run', async () => {
  const api = await startEmailApi()
  const { status, body } = await make(api, { html: '<script>alert(1)</script><p>Grüße</p>' })
  expect(status).toBe(200)
  expect(body).toMatchObject({ object: 'preview', url: expect.stringMatching(/^\/preview\/[\w-]{43}$/) })
  expect(Date.parse(String(body.expires_at))).toBe(api.clock.now() + 60_000)
  const shown = await fetched(api, body.url)
  expect(shown).toMatchObject({ status: 200, text: '<script>alert(1)</script><p>Grüße</p>' })
  expect(shown.headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'content-security-policy':
      "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'",
  })
  expect(await fetched(api, body.url)).toMatchObject({ status: 404 })
  const { body: late } = await make(api, { html: '<p>late</p>' })
  api.clock.advance(60_000)
  expect((await fetched(api, late.url)).status).toBe(404)
})

test('pictures from the web are allowed only where that was asked for, and then over HTTPS only', async () => {
  const api = await startEmailApi()
  const { body } = await make(api, { html: '<img src="https://a.example/x.png">', pictures: true })
  expect((await fetched(api, body.url)).headers['content-security-policy']).toContain('; img-src https: data:; ')
})

test('an email is shown with the pictures that are attached to it', async () => {
  const api = await startEmailApi()
  const sent = await api.send({
    ...plain,
    html: '<img src="cid:logo"><img src="cid:no"><img src="cid:page">',
    attachments: [
      { filename: 'logo.png', content: png.toString('base64'), content_id: 'logo', content_type: 'image/png' },
      { filename: 'page.pdf', content: btoa('%PDF'), content_id: 'page', content_type: 'application/pdf' },
    ],
  })
  const { body } = await make(api, { email_id: sent.body.id })
  const { text } = await fetched(api, body.url)
  expect(text.trimEnd()).toBe(`<img src="data:image/png;base64,${png.toString('base64')}"><img src="cid:no"><img src="cid:page">`)
})

test('a picture that is linked again and again is left out where it no longer fits', async () => {
  const api = await startEmailApi()
  const content = Buffer.alloc(1024 * 1024, 7).toString('base64')
  const sent = await api.send({
    ...plain,
    html: '<img src="cid:logo">'.repeat(1_000),
    attachments: [{ filename: 'logo.png', content, content_id: 'logo', content_type: 'image/png' }],
  })
  const { body } = await make(api, { email_id: sent.body.id })
  const { text } = await fetched(api, body.url)
  expect(text.length).toBeLessThan(5 * 1024 * 1024)
  expect(text.split('data:image/png')).toHaveLength(4)
  expect(text.split('cid:logo')).toHaveLength(998)
})

test('what is refused says why', async () => {
  const api = await startEmailApi()
  for (const body of [{}, { html: '<p>', email_id: 'em_1' }, { html: 1 }]) {
    expect(await make(api, body), JSON.stringify(body)).toMatchObject({ status: 422, body: { name: 'validation_error' } })
  }
  expect(await make(api, { html: 'x'.repeat(5 * 1024 * 1024 + 1) })).toMatchObject({ status: 422 })
  expect((await make(api, { html: 'x'.repeat(5 * 1024 * 1024) })).status).toBe(200)
  expect(await make(api, { email_id: `em_${'0'.repeat(26)}` })).toMatchObject({ status: 404, body: { name: 'not_found' } })
  const sent = await api.send({ ...plain, text: 'No HTML' })
  expect(await make(api, { email_id: sent.body.id })).toMatchObject({ status: 404 })
  const other = await api.token({ account: 'other' })
  const own = await api.send({ ...plain, html: '<p>Hello</p>' })
  const foreign = await api.request('POST', '/api/previews', { token: other, body: { email_id: own.body.id } })
  expect(foreign.status).toBe(404)
})

test('nobody is shown one at a host of a customer', async () => {
  const api = await startEmailApi()
  const { body } = await make(api, { html: '<p>Hello</p>' })
  const port = new URL(api.url).port
  const status = await new Promise<number | undefined>((resolve, reject) => {
    get({ port, host: '127.0.0.1', path: String(body.url), headers: { host: 'links.customer.example' } }, (answer) => {
      answer.resume()
      resolve(answer.statusCode)
    }).on('error', reject)
  })
  expect(status).toBe(404)
  expect((await fetched(api, body.url)).status).toBe(200)
})
