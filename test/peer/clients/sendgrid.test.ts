import sgMail from '@sendgrid/mail'
import { createTransport, type Transport } from 'nodemailer'
import { expect, test, vi } from 'vitest'
import { picture, startClientRelay, trackedIn, type ClientRelay } from '../../support/client-relay.ts'

/** SendGrid's own client, told where to send: the key first, since that sets the host back. */
function clientOf(relay: ClientRelay, key = relay.token): typeof sgMail {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  sgMail.setApiKey(key)
  // What its own types leave out.
  const { client } = sgMail as unknown as { client: { setDefaultRequest(name: string, value: string): void } }
  client.setDefaultRequest('baseUrl', `${relay.baseUrl}/compat/sendgrid`)
  warn.mockRestore()
  return sgMail
}

const hello = { from: 'App <app@sender.example>', subject: 'Hello', text: 'Hello there', html: '<p>Hello there</p>' }

async function refusal(
  sending: Promise<unknown>,
): Promise<{ code: number; errors: { message: string; field: string | null; help: string | null }[] }> {
  const error = await sending.then(
    () => {
      throw new Error('it was taken')
    },
    (thrown) => thrown,
  )
  return { code: error.code, errors: error.response.body.errors }
}

test('an email with all that it may have arrives as it was meant, and is on record', async () => {
  const relay = await startClientRelay()
  const [response, body] = await clientOf(relay).send({
    ...hello,
    to: [{ email: 'ann@inbox.example', name: 'Ann' }, 'bob@inbox.example'],
    cc: 'cc@inbox.example',
    bcc: 'bcc@inbox.example',
    replyTo: 'Help <help@sender.example>',
    html: '<p>Hello <img src="cid:dot"></p>',
    categories: ['welcome', 'first-week'],
    customArgs: { user: '42' },
    headers: { 'X-Campaign': 'spring', 'Idempotency-Key': 'not-for-the-request' },
    attachments: [
      { content: Buffer.from('the report').toString('base64'), filename: 'report.txt', type: 'text/plain', disposition: 'attachment' },
      { content: picture, filename: 'dot.png', type: 'image/png', disposition: 'inline', contentId: 'dot' },
    ],
  })
  expect({ status: response.statusCode, body }).toEqual({ status: 202, body: '' })
  const id = (response.headers as Record<string, string>)['x-message-id'] as string
  const mail = await relay.received('ann@inbox.example')
  expect({ from: mail.from?.text, replyTo: mail.replyTo?.text, subject: mail.subject, text: mail.text?.trim() }).toEqual({
    from: '"App" <app@sender.example>',
    replyTo: '"Help" <help@sender.example>',
    subject: 'Hello',
    text: 'Hello there',
  })
  expect(mail.headers.get('x-campaign')).toBe('spring')
  expect(mail.headers.has('bcc')).toBe(false)
  expect(mail.attachments.map(({ filename, contentType, cid }) => ({ filename, contentType, cid }))).toEqual(
    expect.arrayContaining([
      { filename: 'report.txt', contentType: 'text/plain', cid: undefined },
      { filename: 'dot.png', contentType: 'image/png', cid: 'dot' },
    ]),
  )
  for (const name of ['bob', 'cc', 'bcc']) await relay.received(`${name}@inbox.example`)
  expect(await relay.record(id)).toMatchObject({
    source: 'compat',
    to: ['Ann <ann@inbox.example>', 'bob@inbox.example'],
    bcc: ['bcc@inbox.example'],
    tags: [
      { name: 'welcome', value: 'true' },
      { name: 'first-week', value: 'true' },
    ],
    metadata: { user: '42' },
  })
})

test('sendMultiple sends each recipient an email of their own, with their substitutions', async () => {
  const relay = await startClientRelay()
  const [response] = await clientOf(relay).sendMultiple({
    from: hello.from,
    subject: 'Hello {{name}}',
    text: 'Dear {{name}}, {{greeting}}',
    substitutions: { greeting: 'good morning' },
    personalizations: [
      { to: 'ann@inbox.example', substitutions: { name: 'Ann' } },
      { to: 'bob@inbox.example', substitutions: { name: 'Bob & Co' } },
    ],
  })
  expect((response.headers as Record<string, string>)['x-message-ids']?.split(', ')).toHaveLength(2)
  const [ann, bob] = [await relay.received('ann@inbox.example'), await relay.received('bob@inbox.example')]
  expect([ann.subject, ann.text?.trim(), bob.subject, bob.text?.trim()]).toEqual([
    'Hello Ann',
    'Dear Ann, good morning',
    'Hello Bob & Co',
    'Dear Bob & Co, good morning',
  ])
})

test('an array of emails, and one of several personalizations: all or none', async () => {
  const relay = await startClientRelay()
  const client = clientOf(relay)
  const answers = await client.send([
    { ...hello, to: 'ann@inbox.example' },
    { ...hello, to: 'bob@inbox.example' },
  ])
  expect(answers).toHaveLength(2)
  const faulty = { ...hello, personalizations: [{ to: 'eve@inbox.example' }, { to: 'two@at@inbox.example' }] }
  expect(await refusal(client.send(faulty))).toMatchObject({ code: 400, errors: [{ field: 'personalizations.1.to.0.email' }] })
  expect(await relay.emails()).toHaveLength(2)
})

test('sendAt is kept as the time to send', async () => {
  const relay = await startClientRelay()
  const sendAt = Math.floor(relay.clock.now() / 1000) + 3600
  const [response] = await clientOf(relay).send({ ...hello, to: 'ann@inbox.example', sendAt })
  const record = await relay.record((response.headers as Record<string, string>)['x-message-id'] as string)
  expect(record).toMatchObject({ status: 'scheduled', scheduled_at: new Date(sendAt * 1000).toISOString() })
})

test('a template is sent with its data, for each recipient their own', async () => {
  const relay = await startClientRelay()
  await relay.template('d-welcome', {
    subject: 'Welcome, {{name}}',
    html: '<p>{{name}}: {{#items}}{{title}} {{/items}}{{account.plan}}</p>',
  })
  const data = (name: string) => ({ name, items: [{ title: 'one' }, { title: 'two' }], account: { plan: 'free' } })
  await clientOf(relay).send({
    from: hello.from,
    templateId: 'd-welcome',
    personalizations: [
      { to: 'ann@inbox.example', dynamicTemplateData: data('Ann') },
      { to: 'bob@inbox.example', dynamicTemplateData: data('Bob') },
    ],
  })
  const [ann, bob] = [await relay.received('ann@inbox.example'), await relay.received('bob@inbox.example')]
  expect([ann.subject, bob.subject]).toEqual(['Welcome, Ann', 'Welcome, Bob'])
  expect([ann.html, bob.html]).toEqual([expect.stringContaining('Ann: one two free'), expect.stringContaining('Bob: one two free')])
  const unknown = { from: hello.from, to: 'ann@inbox.example', templateId: 'd-unknown', dynamicTemplateData: {} }
  expect(await refusal(clientOf(relay).send(unknown))).toMatchObject({
    code: 400,
    errors: [{ message: expect.stringContaining('template') }],
  })
  const both = { ...hello, to: 'ann@inbox.example', templateId: 'd-welcome', dynamicTemplateData: data('Ann') }
  expect(await refusal(clientOf(relay).send(both))).toMatchObject({ code: 400, errors: [{ field: 'content' }, { field: 'content' }] })
})

test('with sandbox mode everything is checked, and nothing sent', async () => {
  const relay = await startClientRelay()
  const client = clientOf(relay)
  const rehearsal = { ...hello, mailSettings: { sandboxMode: { enable: true } } }
  expect((await client.send({ ...rehearsal, to: 'ann@inbox.example' }))[0].statusCode).toBe(200)
  expect(await refusal(client.send({ ...rehearsal, to: 'nobody' }))).toMatchObject({ code: 400 })
  expect(await relay.emails()).toEqual([])
})

test('refusals come in the form that the client shows', async () => {
  const relay = await startClientRelay()
  const client = clientOf(relay)
  const to = 'ann@inbox.example'
  expect(await refusal(client.send({ ...hello, to: 'nobody' }))).toEqual({
    code: 400,
    errors: [{ message: expect.stringContaining('`personalizations.0.to.0.email`'), field: 'personalizations.0.to.0.email', help: null }],
  })
  expect(await refusal(client.send({ ...hello, to, batchId: 'b' }))).toMatchObject({ code: 400, errors: [{ field: 'batch_id' }] })
  expect(await refusal(client.send({ ...hello, to, from: 'app@elsewhere.example' }))).toMatchObject({
    code: 403,
    errors: [{ field: 'from' }],
  })
  const raw = { ...hello, to, attachments: [{ content: 'plain text!', filename: 'a.txt' }] }
  expect(await refusal(client.send(raw))).toMatchObject({ code: 400, errors: [{ field: 'attachments.0.content' }] })
  expect(await refusal(clientOf(relay, 'SG.wrong').send({ ...hello, to }))).toMatchObject({ code: 401, errors: [{ field: null }] })
  expect(await relay.emails()).toEqual([])
})

test('trackingSettings are done', async () => {
  const relay = await startClientRelay()
  const html = '<a href="https://shop.example/">Shop</a>'
  await clientOf(relay).send({
    ...hello,
    to: 'ann@inbox.example',
    html,
    trackingSettings: { clickTracking: { enable: true }, openTracking: { enable: true } },
  })
  expect(trackedIn(await relay.received('ann@inbox.example'))).toEqual({ opens: true, clicks: true })
  await clientOf(relay).send({ ...hello, to: 'bob@inbox.example', html, trackingSettings: { clickTracking: { enable: true } } })
  expect(trackedIn(await relay.received('bob@inbox.example'))).toEqual({ opens: false, clicks: true })
})

type Mailboxes = { name: string; address: string } | { name: string; address: string }[]
interface Normalized {
  from: Mailboxes
  to: Mailboxes
  subject: string
  text: string
  normalizedHeaders: Record<string, string>
  messageId: string
}

/** What nodemailer-sendgrid 1.0.3 makes of an email: nodemailer's own Message-ID is among the header fields. */
const nodemailerSendGrid = (client: typeof sgMail): Transport =>
  ({
    name: 'nodemailer-sendgrid',
    version: '1.0.3',
    send: (mail, callback) =>
      mail.normalize((_, source) => {
        const { from, to, subject, text, normalizedHeaders, messageId } = source as unknown as Normalized
        const mailboxes = [from, to].map((given) => [given].flat().map(({ name, address }) => ({ name, email: address })))
        const message = {
          from: mailboxes[0]?.[0],
          to: mailboxes[1],
          subject,
          text,
          headers: { ...normalizedHeaders, 'message-id': messageId },
        }
        client.send(message as never).then(([{ headers }]) => callback(null, headers as never), callback)
      }),
  }) as Transport

test('nodemailer-sendgrid sends: the Message-ID that it gives along gives way to ours, and the answer names it', async () => {
  const relay = await startClientRelay()
  const transport = createTransport(nodemailerSendGrid(clientOf(relay)))
  const headers = await transport.sendMail({
    ...hello,
    to: 'Ann <ann@inbox.example>',
    html: undefined,
    headers: { 'X-Campaign': 'spring' },
  })
  expect((headers as unknown as Record<string, string>)['dropped-headers']).toBe('message-id')
  const mail = await relay.received('ann@inbox.example')
  expect([mail.messageId, mail.headers.get('x-campaign')]).toEqual([expect.stringMatching(/@sender\.example>$/), 'spring'])
})
