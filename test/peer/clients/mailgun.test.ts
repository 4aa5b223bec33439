import FormDataPackage from 'form-data'
import Mailgun from 'mailgun.js'
import { expect, test } from 'vitest'
import { picture, startClientRelay, trackedIn, type ClientRelay } from '../../support/client-relay.ts'

const clientOf = (relay: ClientRelay, { key = relay.token, useFetch = true } = {}) =>
  new Mailgun(useFetch ? FormData : (FormDataPackage as unknown as typeof FormData)).client({
    username: 'api',
    key,
    url: `${relay.baseUrl}/compat/mailgun`,
    ...(useFetch ? { useFetch: true } : {}),
  })

const domain = 'sender.example'
const hello = { from: 'App <app@sender.example>', to: 'ann@inbox.example', subject: 'Hello', text: 'Hello there' }

async function refusal(sending: Promise<unknown>): Promise<{ status: number; details: string }> {
  return sending.then(
    () => {
      throw new Error('it was taken')
    },
    (thrown) => thrown,
  )
}

/** The client does not show header fields, so the email is found by what it answers as its id. */
async function recordOf(relay: ClientRelay, messageId: string | undefined) {
  const found = (await relay.emails()).find((email) => email.message_id === messageId)
  return relay.record(found.id)
}

test.each([{ useFetch: true }, { useFetch: false }])('an email with all that it may have arrives as it was meant (%o)', async (how) => {
  const relay = await startClientRelay()
  const answer = await clientOf(relay, how).messages.create(domain, {
    ...hello,
    to: ['Ann <ann@inbox.example>', 'bob@inbox.example'],
    cc: 'cc@inbox.example',
    bcc: 'bcc@inbox.example',
    html: '<p>Hello <img src="cid:dot.png"></p>',
    'o:tag': ['welcome', 'first-week'],
    'v:user': '42',
    'h:X-Campaign': 'spring',
    'h:Reply-To': 'help@sender.example',
    'o:tracking': false,
    attachment: [
      { data: Buffer.from('the report'), filename: 'Übersicht.txt', contentType: 'text/plain' },
      { data: Buffer.from('{}'), filename: 'data.json' },
    ],
    inline: { data: Buffer.from(picture, 'base64'), filename: 'dot.png' },
  })
  expect(answer).toEqual({ status: 200, id: expect.stringMatching(/^<[^@>]+@[^@>]+>$/), message: 'Queued. Thank you.' })
  const mail = await relay.received('ann@inbox.example')
  expect({
    id: mail.messageId,
    from: mail.from?.text,
    replyTo: mail.replyTo?.text,
    subject: mail.subject,
    text: mail.text?.trim(),
  }).toEqual({
    id: answer.id,
    from: '"App" <app@sender.example>',
    replyTo: 'help@sender.example',
    subject: 'Hello',
    text: 'Hello there',
  })
  expect(mail.headers.get('x-campaign')).toBe('spring')
  expect(
    mail.attachments.map(({ filename, contentType, cid, content }) => [filename, contentType, cid, content.toString('base64')]),
  ).toEqual(
    expect.arrayContaining([
      ['Übersicht.txt', 'text/plain', undefined, Buffer.from('the report').toString('base64')],
      ['data.json', 'application/json', undefined, Buffer.from('{}').toString('base64')],
      ['dot.png', 'image/png', 'dot.png', picture],
    ]),
  )
  for (const name of ['bob', 'cc', 'bcc']) await relay.received(`${name}@inbox.example`)
  expect(await recordOf(relay, answer.id)).toMatchObject({
    source: 'compat',
    tags: [
      { name: 'welcome', value: 'true' },
      { name: 'first-week', value: 'true' },
    ],
    metadata: { user: '42' },
  })
})

test('with recipient-variables every recipient gets an email of their own', async () => {
  const relay = await startClientRelay()
  await clientOf(relay).messages.create(domain, {
    ...hello,
    to: ['ann@inbox.example', 'bob@inbox.example'],
    subject: 'Hello %recipient.name%',
    text: 'Your number is %recipient.n%.',
    'recipient-variables': JSON.stringify({ 'ann@inbox.example': { name: 'Ann', n: 1 }, 'bob@inbox.example': { name: 'Bob', n: 2 } }),
  })
  const [ann, bob] = [await relay.received('ann@inbox.example'), await relay.received('bob@inbox.example')]
  expect([ann.subject, ann.text?.trim(), bob.subject, bob.text?.trim()]).toEqual([
    'Hello Ann',
    'Your number is 1.',
    'Hello Bob',
    'Your number is 2.',
  ])
  expect(ann.headerLines.find(({ key }) => key === 'to')?.line).not.toContain('bob')
})

test('a template is sent with its variables', async () => {
  const relay = await startClientRelay()
  await relay.template('welcome', { subject: 'Welcome, {{name}}', html: '<p>{{#items}}{{title}} {{/items}}</p>' })
  await clientOf(relay).messages.create(domain, {
    from: hello.from,
    to: hello.to,
    template: 'welcome',
    't:variables': JSON.stringify({ name: 'Ann', items: [{ title: 'one' }, { title: 'two' }] }),
    't:text': true,
  })
  const mail = await relay.received('ann@inbox.example')
  expect({ subject: mail.subject, html: mail.html }).toEqual({ subject: 'Welcome, Ann', html: expect.stringContaining('one two') })
  const missing = clientOf(relay).messages.create(domain, { from: hello.from, to: hello.to, template: 'welcome' })
  expect(await refusal(missing)).toMatchObject({ status: 400, details: expect.stringContaining('name') })
})

test('o:deliverytime is kept as the time to send', async () => {
  const relay = await startClientRelay()
  const at = new Date(relay.clock.now() + 3_600_000)
  const { id } = await clientOf(relay).messages.create(domain, { ...hello, 'o:deliverytime': at.toUTCString() })
  expect(await recordOf(relay, id)).toMatchObject({ status: 'scheduled', scheduled_at: `${at.toISOString().slice(0, 19)}.000Z` })
})

test('with o:testmode nothing leaves', async () => {
  const relay = await startClientRelay()
  const answer = await clientOf(relay).messages.create(domain, { ...hello, 'o:testmode': true })
  expect(answer.message).toBe('Queued. Thank you.')
  await clientOf(relay).messages.create(domain, { ...hello, to: 'bob@inbox.example' })
  await relay.received('bob@inbox.example')
  expect(relay.mx.messages).toHaveLength(1)
  expect(await relay.emails()).toHaveLength(1)
})

test('a raw message is completed and sent to its envelope', async () => {
  const relay = await startClientRelay()
  const message = [
    'From: App <app@sender.example>',
    'To: Ann <ann@inbox.example>',
    'Bcc: hidden@inbox.example',
    'Subject: Raw',
    'X-Tags: kind=raw',
    '',
    'A line,',
    '.and a dot',
  ].join('\n')
  const answer = await clientOf(relay).messages.create(domain, {
    from: hello.from,
    subject: 'Raw',
    to: ['ann@inbox.example', 'bob@inbox.example'],
    message,
    'o:tag': 'mime',
    'v:user': '42',
  })
  const mail = await relay.received('ann@inbox.example')
  expect({ id: mail.messageId, subject: mail.subject, text: mail.text?.trim() }).toEqual({
    id: answer.id,
    subject: 'Raw',
    text: 'A line,\n.and a dot',
  })
  expect(['received', 'date', 'dkim-signature', 'bcc', 'x-tags'].map((name) => mail.headers.has(name))).toEqual([
    true,
    true,
    true,
    false,
    false,
  ])
  await relay.received('bob@inbox.example')
  expect(await recordOf(relay, answer.id)).toMatchObject({
    source: 'compat',
    subject: 'Raw',
    tags: [
      { name: 'kind', value: 'raw' },
      { name: 'mime', value: 'true' },
    ],
    metadata: { user: '42' },
    bcc: ['bob@inbox.example'],
  })
})

test('what a raw message asks for in header fields of Mailgun is done, and the fields are removed', async () => {
  const relay = await startClientRelay()
  const message = [
    'From: App <app@sender.example>',
    'To: Ann <ann@inbox.example>',
    'X-Mailgun-Tag: welcome',
    'X-Mailgun-Tag: =?utf-8?Q?first?=',
    'X-Mailgun-Variables: {"user":"42",',
    ' "plan":{"id":7}}',
    'X-Mailgun-Track-Clicks: no',
    'X-Mailgun-Sid: of another message',
    'Subject: Raw',
    '',
    'A line',
  ].join('\n')
  const { id } = await clientOf(relay).messages.create(domain, { to: 'ann@inbox.example', message, 'o:tag': 'mime', 'v:user': '43' })
  const mail = await relay.received('ann@inbox.example')
  expect(mail.headerLines.map(({ key }) => key).filter((key) => key.startsWith('x-mailgun'))).toEqual(['x-mailgun-sid'])
  expect(mail.text?.trim()).toBe('A line')
  expect(await recordOf(relay, id)).toMatchObject({
    tags: [{ name: 'mime' }, { name: 'welcome' }, { name: 'first' }],
    metadata: { user: '43', plan: '{"id":7}' },
    tracking: { clicks: false },
  })
  const later = message.replace('X-Mailgun-Sid', 'X-Mailgun-Recipient-Variables')
  expect(await refusal(clientOf(relay).messages.create(domain, { to: 'ann@inbox.example', message: later }))).toMatchObject({
    status: 400,
    details: expect.stringContaining('X-Mailgun-Recipient-Variables'),
  })
})

test('a raw message of megabytes', async () => {
  const relay = await startClientRelay()
  const line = `${'0123456789'.repeat(7)}\n`
  const message = `From: app@sender.example\nTo: ann@inbox.example\nSubject: Large\n\n${line.repeat(60_000)}`
  await clientOf(relay).messages.create(domain, { to: 'ann@inbox.example', message })
  expect((await relay.received('ann@inbox.example')).text?.trim()).toBe(line.repeat(60_000).trim())
})

test('of a raw message that is refused nothing is left', async () => {
  const relay = await startClientRelay({ message_size_limit: '4MB' })
  const { messages } = clientOf(relay)
  const large = (from: string, lines: number): string => `From: ${from}\n\n${`${'x'.repeat(79)}\n`.repeat(lines)}`
  expect(await refusal(messages.create(domain, { to: hello.to, message: large('app@elsewhere.example', 40_000) }))).toMatchObject({
    status: 400,
  })
  expect(await refusal(messages.create(domain, { to: hello.to, message: large('app@sender.example', 60_000) }))).toMatchObject({
    status: 413,
  })
  expect(await relay.relay.services.db.read('select message_id from content')).toEqual([])
})

test('refusals come as the details that the client shows', async () => {
  const relay = await startClientRelay()
  const { messages } = clientOf(relay)
  expect(await refusal(messages.create(domain, { ...hello, to: 'nobody' }))).toMatchObject({
    status: 400,
    details: expect.stringContaining('`to`'),
  })
  expect(await refusal(messages.create(domain, { ...hello, 'o:require-tls': true }))).toMatchObject({
    status: 400,
    details: expect.stringContaining('o:require-tls'),
  })
  expect(await refusal(messages.create(domain, { ...hello, from: 'app@elsewhere.example' }))).toMatchObject({
    status: 400,
    details: expect.stringContaining('from'),
  })
  expect(await refusal(messages.create('elsewhere.example', { ...hello, from: 'app@elsewhere.example' }))).toMatchObject({ status: 403 })
  expect(
    await refusal(messages.create(domain, { to: 'ann@inbox.example', message: 'From: app@elsewhere.example\n\nHello' })),
  ).toMatchObject({ status: 400 })
  expect(await refusal(messages.create(domain, { to: 'ann@inbox.example', message: 'Subject: nobody wrote this\n\nHello' }))).toMatchObject(
    { status: 400 },
  )
  expect(await refusal(clientOf(relay, { key: 'wrong' }).messages.create(domain, hello))).toMatchObject({ status: 401 })
  expect(await relay.emails()).toEqual([])
})

test('o:tracking, o:tracking-opens and o:tracking-clicks are done', async () => {
  const relay = await startClientRelay()
  const html = { ...hello, html: '<a href="https://shop.example/">Shop</a>' }
  const { messages } = clientOf(relay)
  await messages.create(domain, { ...html, 'o:tracking': 'yes' })
  expect(trackedIn(await relay.received('ann@inbox.example'))).toEqual({ opens: true, clicks: true })
  await messages.create(domain, { ...html, to: 'bob@inbox.example', 'o:tracking-opens': 'no', 'o:tracking-clicks': 'htmlonly' })
  expect(trackedIn(await relay.received('bob@inbox.example'))).toEqual({ opens: false, clicks: true })
})
