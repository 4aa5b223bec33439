import { expect, test } from 'vitest'
import { startEmailApi, type EmailApi } from '../../support/email-api.ts'

const plain = { from: 'App <app@sender.example>', to: 'user@recipient.example', subject: 'Hello', html: '<p>Hi</p>' }
const file = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * i) % 251))

async function sendFiles(api: EmailApi): Promise<string> {
  const attachments = [
    { filename: 'Rechnung "äöü" €.pdf', content: file.toString('base64'), content_type: 'application/pdf' },
    { filename: 'page.html', content: Buffer.from('<script>alert(1)</script>').toString('base64') },
    { filename: 'logo.png', content: Buffer.from('png').toString('base64'), content_id: 'logo' },
  ]
  const { status, body } = await api.send({ ...plain, html: '<p>Hi</p><img src="cid:logo">', attachments })
  expect(status).toBe(200)
  return String(body.id)
}

const download = async (api: EmailApi, path: string) => {
  const response = await fetch(api.url + path, { headers: { authorization: `Bearer ${api.key}` } })
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) }
}

test('attachments are listed, told of and given as files that no browser shows', async () => {
  const api = await startEmailApi()
  const id = await sendFiles(api)
  const { status, body } = await api.get(`/api/emails/${id}/attachments`)
  expect(status).toBe(200)
  const data = body.data as { id: string; filename: string; download_url: string }[]
  const url = (place: string) => `https://mail.example.com/api/emails/${id}/attachments/${place}/content`
  expect(data.toSorted((a, b) => a.filename.localeCompare(b.filename))).toEqual([
    expect.objectContaining({
      filename: 'logo.png',
      content_type: 'image/png',
      content_disposition: 'inline',
      content_id: 'logo',
      size: 3,
    }),
    expect.objectContaining({
      filename: 'page.html',
      content_type: 'text/html',
      content_disposition: 'attachment',
      content_id: null,
      size: 25,
    }),
    expect.objectContaining({
      filename: 'Rechnung "äöü" €.pdf',
      content_type: 'application/pdf',
      content_disposition: 'attachment',
      content_id: null,
      size: 300_000,
    }),
  ])
  for (const attachment of data) {
    expect((await api.get(`/api/emails/${id}/attachments/${attachment.id}`)).body).toEqual({
      ...attachment,
      object: 'attachment',
      download_url: url(attachment.id),
    })
  }
  const find = (name: string) => data.find(({ filename }) => filename.startsWith(name))?.id
  const pdf = await download(api, `/api/emails/${id}/attachments/${find('Rechnung')}/content`)
  expect(pdf.bytes.equals(file)).toBe(true)
  expect(Object.fromEntries(pdf.headers)).toMatchObject({
    'content-type': 'application/octet-stream',
    'content-disposition': `attachment; filename="Rechnung \\"???\\" ?.pdf"; filename*=UTF-8''Rechnung%20%22%C3%A4%C3%B6%C3%BC%22%20%E2%82%AC.pdf`,
    'content-length': '300000',
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
  })
  const page = await download(api, `/api/emails/${id}/attachments/${find('page')}/content`)
  expect([page.bytes.toString(), page.headers.get('content-type')]).toEqual(['<script>alert(1)</script>', 'application/octet-stream'])
})

test('there are none where there are none, and no others', async () => {
  const api = await startEmailApi()
  const { body } = await api.send(plain)
  expect((await api.get(`/api/emails/${body.id}/attachments`)).body).toEqual({ object: 'list', has_more: false, data: [] })
  const id = await sendFiles(api)
  for (const place of ['0', '4', '01', '-1', 'x', '99999999999999999999']) {
    for (const path of [`/api/emails/${id}/attachments/${place}`, `/api/emails/${id}/attachments/${place}/content`]) {
      expect(await api.get(path), path).toMatchObject({ status: 404, body: { name: 'not_found' } })
    }
  }
  await api.db.write([{ sql: 'delete from content' }])
  expect((await api.get(`/api/emails/${id}/attachments`)).body.data).toEqual([])
  for (const path of [`/api/emails/${id}/attachments/1`, `/api/emails/${id}/attachments/1/content`]) {
    expect(await api.get(path), path).toMatchObject({ status: 404, body: { name: 'not_found' } })
  }
})
