import { Errors, Models, ServerClient } from 'postmark'
import { expect, test } from 'vitest'
import { picture, startClientRelay, trackedIn, type ClientRelay } from '../../support/client-relay.ts'

const clientOf = (relay: ClientRelay, key = relay.token): ServerClient =>
  new ServerClient(key, { requestHost: `${relay.baseUrl.replace('http://', '')}/compat/postmark`, useHttps: false })

const hello = { From: 'App <app@sender.example>', To: 'ann@inbox.example', Subject: 'Hello', TextBody: 'Hello there' }

async function refusal(sending: Promise<unknown>): Promise<Errors.PostmarkError> {
  return sending.then(
    () => {
      throw new Error('it was taken')
    },
    (thrown) => thrown,
  )
}

test('an email with all that it may have arrives as it was meant, and is on record', async () => {
  const relay = await startClientRelay()
  const answer = await clientOf(relay).sendEmail({
    ...hello,
    To: 'Ann <ann@inbox.example>, bob@inbox.example',
    Cc: 'cc@inbox.example',
    Bcc: 'bcc@inbox.example',
    ReplyTo: 'help@sender.example, "Doe, Jo" <jo@sender.example>',
    HtmlBody: '<p>Hello <img src="cid:dot"></p>',
    Tag: 'welcome',
    Metadata: { user: '42' },
    Headers: [new Models.Header('X-Campaign', 'spring')],
    TrackOpens: false,
    TrackLinks: Models.LinkTrackingOptions.None,
    MessageStream: 'outbound',
    Attachments: [
      new Models.Attachment('report.txt', Buffer.from('the report').toString('base64'), 'text/plain'),
      new Models.Attachment('dot.png', picture, 'image/png', 'cid:dot'),
    ],
  })
  expect(answer).toMatchObject({
    ErrorCode: 0,
    Message: 'OK',
    To: '"Ann" <ann@inbox.example>, bob@inbox.example',
    SubmittedAt: expect.stringMatching(/Z$/),
  })
  const mail = await relay.received('ann@inbox.example')
  expect({ from: mail.from?.text, replyTo: mail.replyTo?.text, subject: mail.subject, text: mail.text?.trim() }).toEqual({
    from: '"App" <app@sender.example>',
    replyTo: 'help@sender.example, "Doe, Jo" <jo@sender.example>',
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
  expect(await relay.record(answer.MessageID)).toMatchObject({
    source: 'compat',
    tags: [{ name: 'welcome', value: 'true' }],
    metadata: { user: '42' },
    bcc: ['bcc@inbox.example'],
  })
})

test('of a batch each email has its own answer, in its order', async () => {
  const relay = await startClientRelay()
  const answers = await clientOf(relay).sendEmailBatch([
    { ...hello, To: 'nobody' },
    hello,
    { ...hello, From: 'app@elsewhere.example' },
    { ...hello, To: 'suppressed@simulator.test' },
    { ...hello, To: 'bob@inbox.example', MessageStream: 'broadcast' },
    { ...hello, To: 'bob@inbox.example' },
  ])
  expect(answers.map(({ ErrorCode }) => ErrorCode)).toEqual([300, 0, 400, 406, 300, 0])
  expect(answers[0]?.Message).toContain('`To`')
  await relay.received('ann@inbox.example')
  await relay.received('bob@inbox.example')
  expect((await relay.record(answers[5]?.MessageID as string)).to).toEqual(['bob@inbox.example'])
})

test('more than a hundred emails in a batch', async () => {
  const relay = await startClientRelay({ mode: 'sandbox' })
  const answers = await clientOf(relay).sendEmailBatch(Array.from({ length: 230 }, (_, n) => ({ ...hello, To: `r${n}@inbox.example` })))
  expect(answers.map(({ ErrorCode, To }) => [ErrorCode, To])).toEqual(Array.from({ length: 230 }, (_, n) => [0, `r${n}@inbox.example`]))
  expect(new Set(answers.map(({ MessageID }) => MessageID)).size).toBe(230)
})

test('a template is sent with its model, alone and in a batch', async () => {
  const relay = await startClientRelay()
  const id = await relay.template('welcome', {
    subject: 'Welcome, {{name}}',
    html: '<p>{{#items}}{{title}} {{/items}}{{account.plan}}</p>',
  })
  const client = clientOf(relay)
  const model = { name: 'Ann', items: [{ title: 'one' }, { title: 'two' }], account: { plan: 'free' } }
  const { From, To } = hello
  await client.sendEmailWithTemplate(new Models.TemplatedMessage(From, 'welcome', model, To))
  const mail = await relay.received('ann@inbox.example')
  expect({ subject: mail.subject, html: mail.html }).toEqual({ subject: 'Welcome, Ann', html: expect.stringContaining('one two free') })
  const answers = await client.sendEmailBatchWithTemplates([
    { From, To: 'bob@inbox.example', TemplateAlias: id, TemplateModel: { ...model, name: 'Bob' } },
    { From, To: 'bob@inbox.example', TemplateAlias: 'unknown', TemplateModel: model },
    { From, To: 'bob@inbox.example', TemplateAlias: 'welcome', TemplateModel: {} },
  ])
  expect(answers.map(({ ErrorCode }) => ErrorCode)).toEqual([0, 1101, 300])
  expect(answers[2]?.Message).toContain('name')
  expect((await relay.received('bob@inbox.example')).subject).toBe('Welcome, Bob')
  expect(await refusal(client.sendEmailWithTemplate(new Models.TemplatedMessage(From, 'unknown', model, To)))).toMatchObject({
    statusCode: 422,
    code: 1101,
  })
})

test('suppressed addresses are told as inactive', async () => {
  const relay = await startClientRelay()
  await relay.call('POST', '/api/suppressions', { emails: ['gone@inbox.example', 'left@inbox.example'] })
  const client = clientOf(relay)
  const all = await refusal(client.sendEmail({ ...hello, To: 'gone@inbox.example, left@inbox.example' }))
  expect(all).toBeInstanceOf(Errors.InactiveRecipientsError)
  expect(all).toMatchObject({ statusCode: 422, code: 406, recipients: ['gone@inbox.example', 'left@inbox.example'] })
  const some = await client.sendEmail({ ...hello, To: 'gone@inbox.example, ann@inbox.example' })
  expect(some).toMatchObject({
    ErrorCode: 0,
    Message: expect.stringMatching(
      /^Message OK, but will not deliver to these inactive addresses: gone@inbox\.example\. Inactive recipients are /,
    ),
  })
  await relay.received('ann@inbox.example')
})

test('refusals are the errors that the client knows', async () => {
  const relay = await startClientRelay()
  const client = clientOf(relay)
  const invalid = await refusal(client.sendEmail({ ...hello, To: 'ann@inbox.example; bob@inbox.example' }))
  expect(invalid).toBeInstanceOf(Errors.InvalidEmailRequestError)
  expect(invalid).toMatchObject({ statusCode: 422, code: 300, message: expect.stringContaining('`To`') })
  expect(await refusal(client.sendEmail({ ...hello, From: 'app@elsewhere.example' }))).toMatchObject({ statusCode: 422, code: 400 })
  expect(await refusal(client.sendEmail({ ...hello, Attachments: [new Models.Attachment('a', 'no base64', 'text/plain')] }))).toMatchObject(
    {
      code: 300,
      message: expect.stringContaining('`Attachments.0.Content`'),
    },
  )
  const badKey = await refusal(clientOf(relay, 'wrong').sendEmail(hello))
  expect(badKey).toBeInstanceOf(Errors.InvalidAPIKeyError)
  expect(badKey).toMatchObject({ statusCode: 401, code: 10 })
  expect(await refusal(client.getServer())).toMatchObject({ statusCode: 404 })
  expect(await relay.emails()).toEqual([])
})

test('TrackOpens and TrackLinks are done', async () => {
  const relay = await startClientRelay()
  const html = { ...hello, HtmlBody: '<a href="https://shop.example/">Shop</a>' }
  await clientOf(relay).sendEmail({ ...html, TrackOpens: true, TrackLinks: Models.LinkTrackingOptions.HtmlOnly })
  expect(trackedIn(await relay.received('ann@inbox.example'))).toEqual({ opens: true, clicks: true })
  await clientOf(relay).sendEmail({ ...html, To: 'bob@inbox.example', TrackOpens: true, TrackLinks: Models.LinkTrackingOptions.None })
  expect(trackedIn(await relay.received('bob@inbox.example'))).toEqual({ opens: true, clicks: false })
})
