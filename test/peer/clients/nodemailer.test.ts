import { createTransport } from 'nodemailer'
import { expect, test } from 'vitest'
import { picture, startClientRelay, type ClientRelay } from '../../support/client-relay.ts'

const clientOf = (relay: ClientRelay, pass = relay.token) =>
  createTransport({
    host: '127.0.0.1',
    port: relay.submissionPort,
    requireTLS: true,
    // The relay made its certificate itself.
    tls: { rejectUnauthorized: false },
    auth: { user: 'sterna', pass },
  })

const hello = { from: 'App <app@sender.example>', to: 'ann@inbox.example', subject: 'Hello', text: 'Hello there' }

test('an email with all that it may have arrives as it was meant, and is on record by the id in the reply', async () => {
  const relay = await startClientRelay()
  const transport = clientOf(relay)
  const { response, accepted } = await transport.sendMail({
    ...hello,
    to: ['Ann <ann@inbox.example>', 'bob@inbox.example'],
    cc: 'cc@inbox.example',
    bcc: 'bcc@inbox.example',
    replyTo: 'help@sender.example',
    html: '<p>Hello <img src="cid:dot"></p>',
    headers: { 'X-Tags': 'kind=welcome', 'X-Metadata': JSON.stringify({ user: '42' }), 'X-Campaign': 'spring' },
    attachments: [
      { filename: 'report.txt', content: 'the report' },
      { filename: 'dot.png', content: Buffer.from(picture, 'base64'), cid: 'dot' },
    ],
  })
  expect(accepted).toHaveLength(4)
  const id = /^250 2\.0\.0 Ok: queued as (em_[0-9a-z]{26})$/.exec(response)?.[1] as string
  const mail = await relay.received('ann@inbox.example')
  expect({ subject: mail.subject, text: mail.text?.trim(), campaign: mail.headers.get('x-campaign') }).toEqual({
    subject: 'Hello',
    text: 'Hello there',
    campaign: 'spring',
  })
  expect(['x-tags', 'x-metadata', 'bcc'].filter((name) => mail.headers.has(name))).toEqual([])
  expect(mail.attachments.map(({ filename, cid }) => [filename, cid])).toEqual(
    expect.arrayContaining([
      ['report.txt', undefined],
      ['dot.png', 'dot'],
    ]),
  )
  for (const name of ['bob', 'cc', 'bcc']) await relay.received(`${name}@inbox.example`)
  expect(await relay.record(id)).toMatchObject({
    source: 'smtp',
    bcc: ['bcc@inbox.example'],
    tags: [{ name: 'kind', value: 'welcome' }],
    metadata: { user: '42' },
  })
  transport.close()
})

test('an idempotency key sends once, a time to send is kept', async () => {
  const relay = await startClientRelay()
  const transport = clientOf(relay)
  const headers = { 'Idempotency-Key': 'order-1', 'X-Scheduled-At': new Date(relay.clock.now() + 3_600_000).toISOString() }
  const [first, second] = [await transport.sendMail({ ...hello, headers }), await transport.sendMail({ ...hello, headers })]
  expect(second.response).toBe(first.response)
  expect(await relay.emails()).toMatchObject([{ status: 'scheduled' }])
  transport.close()
})

test('refusals come with their codes', async () => {
  const relay = await startClientRelay()
  const transport = clientOf(relay)
  await expect(transport.sendMail({ ...hello, from: 'app@elsewhere.example' })).rejects.toMatchObject({
    responseCode: 550,
    response: expect.stringContaining('5.7.1'),
  })
  await expect(transport.sendMail({ ...hello, headers: { 'X-Metadata': 'no JSON' } })).rejects.toMatchObject({ responseCode: 550 })
  await expect(clientOf(relay, 'wrong').sendMail(hello)).rejects.toMatchObject({ code: 'EAUTH', responseCode: 535 })
  expect(await relay.emails()).toEqual([])
  transport.close()
})
