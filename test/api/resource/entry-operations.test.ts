import { expect, test } from 'vitest'
import { startPeopleApi } from '../../support/people-api.ts'

async function start() {
  const api = await startPeopleApi()
  await api.accounts.create('default', 'enterprise')
  await api.accounts.create('later', 'free')
  const token = (await api.people.setupLink.renew()) ?? ''
  const post = (form: Record<string, string>, path = `/setup/${token}`, headers: Record<string, string> = {}) =>
    fetch(api.url + path, { method: 'POST', body: new URLSearchParams(form), headers })
  return { ...api, token, post }
}

const ann = { email: 'ann@example.com', password: 'correct horse' }

test('the first owner sets a password on a page that runs no script and nobody frames', async () => {
  const { url, token, post, login, people, logged } = await start()
  const page = await fetch(`${url}/setup/${token}`)
  expect(page.status).toBe(200)
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(page.headers.get('content-security-policy')).toMatch(
    /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
  )
  expect(Object.fromEntries(['x-frame-options', 'cache-control', 'referrer-policy'].map((name) => [name, page.headers.get(name)]))).toEqual(
    {
      'x-frame-options': 'DENY',
      'cache-control': 'no-store',
      'referrer-policy': 'same-origin',
    },
  )
  expect(await page.text()).toMatch(/^<!doctype html>(?!.*<script)/s)
  const done = await post(ann)
  expect([done.status, await done.text()]).toEqual([200, expect.stringContaining('ann@example.com')])
  const cookie = done.headers.get('set-cookie')?.split(';')[0] ?? ''
  const session = await fetch(`${url}/session`, { headers: { cookie } })
  expect(await session.json()).toMatchObject({ user: { email: 'ann@example.com', role: 'owner', operator: true } })
  expect((await login(ann.email, ann.password)).status).toBe(200)
  expect(await people.setupLink.renew()).toBeNull()
  expect([(await fetch(`${url}/setup/${token}`)).status, (await post(ann)).status]).toEqual([404, 404])
  // Somebody may have typed it, or a program may have joined it to another address.
  for (const path of [`/SETUP/${token}`, `/x/setup/${token}`]) expect((await fetch(`${url}${path}`)).status).toBe(404)
  expect(logged.join('\n')).not.toContain(token)
})

test('of two who use the link at once, one is the owner, of the first account', async () => {
  const { post, people, accounts } = await start()
  const answers = await Promise.all([post(ann), post({ ...ann, email: 'bob@example.com' }), post({ ...ann, email: 'eve@example.com' })])
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 404, 404])
  expect(people.users.list()).toMatchObject([{ accountId: accounts.getAccount('default').id }])
})

test.each([
  ['a short password', { ...ann, password: 'short' }, {}, 422],
  ['no address', { ...ann, email: 'nobody' }, {}, 422],
  ['another site', ann, { origin: 'https://evil.example' }, 403],
  ['another type', ann, { 'content-type': 'text/plain' }, 415],
  ['a huge form', { ...ann, password: 'x'.repeat(20_000) }, {}, 413],
])('%s is refused on the page, and the link still works', async (_, form, headers, status) => {
  const { post } = await start()
  const refused = await post(form, undefined, headers)
  expect([refused.status, await refused.text()]).toEqual([status, expect.stringMatching(/role="alert".*<form/s)])
  expect((await post(ann)).status).toBe(200)
})

test('a newer link takes the place of the one before', async () => {
  const { post, people, url, token } = await start()
  const newer = await people.setupLink.renew()
  expect((await post(ann)).status).toBe(404)
  expect((await fetch(`${url}/setup/${'a'.repeat(43)}`)).status).toBe(404)
  expect((await post(ann, `/setup/${newer}`)).status).toBe(200)
  expect(token).not.toBe(newer)
})

test('what is stored of a link does not let anybody in', async () => {
  const { db, token } = await start()
  const rows = await db.read('select name, digest from setup_link')
  expect(rows).toHaveLength(1)
  expect(JSON.stringify(rows)).not.toContain(token)
})

test('a browser is led on to the dashboard, and is logged in there', async () => {
  const api = await startPeopleApi('https://mail.example.com/mail', '/mail')
  await api.accounts.create('default', 'enterprise')
  const path = `/setup/${await api.people.setupLink.renew()}`
  const body = new URLSearchParams(ann)
  const answer = await fetch(api.url + path, { method: 'POST', body, headers: { accept: 'text/html' }, redirect: 'manual' })
  expect([answer.status, answer.headers.get('location')]).toEqual([303, '/mail/welcome'])
  const headers = { cookie: answer.headers.get('set-cookie')?.split(';')[0] ?? '' }
  expect((await api.request('GET', '/session', { headers })).status).toBe(200)
})
