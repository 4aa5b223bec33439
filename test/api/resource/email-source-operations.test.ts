import { expect, test } from 'vitest'
import { startEmailApi, type EmailApi } from '../../support/email-api.ts'

const plain = { from: 'App <app@sender.example>', to: 'user@recipient.example', subject: 'Hello', text: 'Hi' }

async function source(api: EmailApi, id: unknown) {
  const response = await fetch(`${api.url}/api/emails/${id}/source`, { headers: { authorization: `Bearer ${api.key}` } })
  return { status: response.status, headers: Object.fromEntries(response.headers), bytes: Buffer.from(await response.arrayBuffer()) }
}

const stored = async (api: EmailApi, id: unknown): Promise<Buffer> => {
  const rows = await api.db.read<{ bytes: Uint8Array }>('select bytes from content where message_id = :id order by chunk', {
    id: String(id),
  })
  return Buffer.concat(rows.map(({ bytes }) => bytes))
}

test('the source is the message as it was accepted, as a download', async () => {
  const api = await startEmailApi()
  const { body } = await api.send({ ...plain, text: 'line\n'.repeat(300_000) })
  const { status, headers, bytes } = await source(api, body.id)
  expect(status).toBe(200)
  expect(bytes.length).toBeGreaterThan(1_500_000)
  expect(bytes.equals(await stored(api, body.id))).toBe(true)
  expect(headers).toMatchObject({
    'content-type': 'message/rfc822',
    'content-disposition': `attachment; filename="${body.id}.eml"`,
    'content-length': String(bytes.length),
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
  })
})

test('the header is listed field by field, as it stands', async () => {
  const api = await startEmailApi()
  const sent = await api.send({ ...plain, subject: 'Grüße', headers: { 'X-Note': `<script>${'long '.repeat(60)}end` } })
  const { status, body } = await api.get(`/api/emails/${sent.body.id}/headers`)
  expect(status).toBe(200)
  const fields = body.data as { name: string; value: string }[]
  expect(fields.map(({ name }) => name)).toEqual(expect.arrayContaining(['From', 'To', 'Subject', 'Message-ID', 'Date', 'X-Note']))
  expect(fields.find(({ name }) => name === 'X-Note')?.value).toMatch(/^<script>(long )+end$/)
  expect(fields.find(({ name }) => name === 'Subject')?.value).toMatch(/^=\?UTF-8\?/i)
})

test('what is no longer kept, or not theirs, is refused', async () => {
  const api = await startEmailApi()
  const { body } = await api.send(plain)
  const other = await api.token({ account: 'other' })
  for (const what of ['source', 'headers']) expect((await api.get(`/api/emails/${body.id}/${what}`, other)).status).toBe(404)
  await api.db.write([{ sql: 'delete from content' }])
  for (const what of ['source', 'headers']) {
    expect(await api.get(`/api/emails/${body.id}/${what}`), what).toMatchObject({ status: 404, body: { name: 'not_found' } })
  }
})
