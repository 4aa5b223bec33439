import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

let relay: TestRelay

beforeAll(async () => {
  relay = await startTestRelay({ mode: 'sandbox', plans: 'enterprise=100000,tiny=2' })
})

afterAll(() => relay.stop())

interface Door {
  path: string
  headers(key: string): Record<string, string>
  /** A request that is taken. */
  body: string
  /** What every refusal has. */
  refusal: object
}

const basic = (key: string): string => `Basic ${Buffer.from(`api:${key}`).toString('base64')}`

const sendGrid: Door = {
  path: '/compat/sendgrid/v3/mail/send',
  headers: (key) => ({ authorization: `Bearer ${key}`, 'content-type': 'application/json' }),
  body: JSON.stringify({
    from: { email: 'app@sender.example' },
    subject: 'Hello',
    content: [{ type: 'text/plain', value: 'Hello' }],
    personalizations: [{ to: [{ email: 'ann@example.com' }] }],
  }),
  refusal: { errors: [{ message: expect.stringMatching(/./), field: null, help: null }], id: expect.stringMatching(/^req_/) },
}
const postmark: Door = {
  path: '/compat/postmark/email',
  headers: (key) => ({ 'x-postmark-server-token': key, 'content-type': 'application/json' }),
  body: JSON.stringify({ From: 'app@sender.example', To: 'ann@example.com', Subject: 'Hello', TextBody: 'Hello' }),
  refusal: { ErrorCode: expect.any(Number), Message: expect.stringMatching(/./) },
}
const mailgun: Door = {
  path: '/compat/mailgun/v3/sender.example/messages',
  headers: (key) => ({ authorization: basic(key), 'content-type': 'application/x-www-form-urlencoded' }),
  body: new URLSearchParams({ from: 'app@sender.example', to: 'ann@example.com', subject: 'Hello', text: 'Hello' }).toString(),
  refusal: { message: expect.stringMatching(/./) },
}
const postal: Door = {
  path: '/compat/postal/api/v1/send/message',
  headers: (key) => ({ 'x-server-api-key': key, 'content-type': 'application/json' }),
  body: JSON.stringify({ from: 'app@sender.example', to: ['ann@example.com'], subject: 'Hello', plain_body: 'Hello' }),
  refusal: {
    status: expect.stringMatching(/error$/),
    time: 0,
    flags: {},
    data: expect.objectContaining({ message: expect.stringMatching(/./) }),
  },
}
const doors = [
  ['SendGrid', sendGrid],
  ['Postmark', postmark],
  ['Mailgun', mailgun],
  ['Postal', postal],
] as [string, Door][]

interface Asked {
  key?: string
  method?: string
  path?: string
  headers?: Record<string, string>
  body?: string
}

async function ask(door: Door, { key = relay.token, method = 'POST', path = door.path, headers = {}, body = door.body }: Asked = {}) {
  const response = await fetch(relay.baseUrl + path, {
    method,
    headers: { ...door.headers(key), ...headers },
    ...(method === 'GET' ? {} : { body }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, body: text === '' ? null : JSON.parse(text) }
}

/** A key of an account of its own. */
let accounts = 0
async function keyOf(wanted: { plan?: string; permission?: 'full_access' | 'sending_access' | 'read_access'; expiresAt?: number } = {}) {
  const { plan = 'enterprise', permission = 'full_access', expiresAt } = wanted
  const { apiKeys, accounts: list } = relay.relay.services
  const account = await list.create(`account ${++accounts}`, plan)
  const { token } = await apiKeys.create({ accountId: account.id, name: 'test', permission, ...(expiresAt ? { expiresAt } : {}) })
  return { token, accountId: account.id }
}

test.each(doors)('%s: an answer has our id, the request and the limits in its header', async (_, door) => {
  const { status, headers } = await ask(door)
  expect(status).toBe(door === sendGrid ? 202 : 200)
  expect(headers.get('x-message-id')).toMatch(/^em_[0-9a-z]{26}$/)
  expect(headers.get('x-request-id')).toMatch(/^req_/)
  expect(headers.get('ratelimit-limit')).toBe('100000')
  expect(Number(headers.get('ratelimit-remaining'))).toBeLessThan(100_000)
})

/** What a client that builds whole messages, such as nodemailer, gives along. */
const ofClientsMessage = {
  'message-id': '<1@client.example>',
  Date: 'Mon, 1 Jan 2024 00:00:00 +0000',
  'MIME-Version': '1.0',
  'Content-Type': 'text/plain',
  'content-transfer-encoding': '7bit',
  'X-Kept': 'yes',
}
const ownApi: Door = {
  path: '/api/emails',
  headers: sendGrid.headers,
  body: JSON.stringify({ from: 'app@sender.example', to: 'ann@example.com', subject: 'Hello', text: 'Hello' }),
  refusal: {},
}
const withMembers = ({ body }: Door, members: object): string => JSON.stringify({ ...JSON.parse(body), ...members })
const named = Object.entries(ofClientsMessage).map(([Name, Value]) => ({ Name, Value }))

test.each<[name: string, door: Door, body: string]>([
  ['SendGrid', sendGrid, withMembers(sendGrid, { headers: ofClientsMessage })],
  ['Postmark', postmark, withMembers(postmark, { Headers: named })],
  ['Mailgun', mailgun, `${mailgun.body}&${new URLSearchParams(named.map(({ Name, Value }) => [`h:${Name}`, Value]))}`],
  ['Postal', postal, withMembers(postal, { headers: ofClientsMessage })],
  ['our own', ownApi, withMembers(ownApi, { headers: ofClientsMessage })],
])('%s: the fields of a message that the client has built give way to those of ours, and the answer names them', async (_, door, body) => {
  const answer = await ask(door, { body })
  expect([answer.status, answer.text]).toEqual([door === sendGrid ? 202 : 200, expect.not.stringContaining('error')])
  expect(answer.headers.get('dropped-headers')).toBe('message-id, Date, MIME-Version, Content-Type, content-transfer-encoding')
  const id = answer.headers.get('x-message-id') ?? answer.body.id
  const source = await fetch(`${relay.baseUrl}/api/emails/${id}/source`, { headers: { authorization: `Bearer ${relay.token}` } })
  const text = await source.text()
  expect(text).toMatch(/^X-Kept: yes\r$/m)
  expect(text.match(/^message-id:/gim)).toHaveLength(1)
  expect(text.match(/^(?:date|mime-version):/gim)).toHaveLength(2)
  expect(text).not.toMatch(/client\.example|2024/)
})

const several = ['Ann@Example.com', ' ann@example.com ', 'Ann Lee <ANN@example.com>', 'bob@example.com']

test.each<[name: string, door: Door, body: string]>([
  [
    'SendGrid',
    sendGrid,
    withMembers(sendGrid, {
      personalizations: [
        { to: several.filter((one) => !one.includes('<')).map((email) => ({ email })), cc: [{ email: 'BOB@example.com' }] },
      ],
    }),
  ],
  ['Postmark', postmark, withMembers(postmark, { To: several.join(','), Cc: 'BOB@example.com' })],
  [
    'Mailgun',
    mailgun,
    `${mailgun.body}&${new URLSearchParams(several.map((one) => ['to', one]))}&cc=BOB@example.com`.replace('to=ann%40example.com&', ''),
  ],
  ['Postal', postal, withMembers(postal, { to: several, cc: ['BOB@example.com'] })],
  ['our own', ownApi, withMembers(ownApi, { to: several, cc: 'BOB@example.com' })],
  ['our own, as objects', ownApi, withMembers(ownApi, { to: several.filter((one) => !one.includes('<')).map((email) => ({ email })) })],
])('%s: spellings of one address are one recipient, and the first is sent to', async (_, door, body) => {
  const answer = await ask(door, { body })
  expect([answer.status, answer.text]).toEqual([door === sendGrid ? 202 : 200, expect.not.stringContaining('error')])
  const id = answer.headers.get('x-message-id') ?? answer.body.id
  const response = await fetch(`${relay.baseUrl}/api/emails/${id}`, { headers: { authorization: `Bearer ${relay.token}` } })
  const { recipients } = (await response.json()) as { recipients: { email: string }[] }
  expect(recipients.map(({ email }) => email)).toEqual(['Ann@example.com', 'bob@example.com'])
})

test('who wants to notice has such fields refused', async () => {
  const { status, headers, body } = await ask(ownApi, {
    path: '/api/emails?strict=true',
    body: withMembers(ownApi, { headers: ofClientsMessage }),
  })
  expect([status, headers.get('dropped-headers')]).toEqual([422, null])
  expect(body.message).toContain('The header message-id cannot be set here.')
})

test.each<[name: string, door: Door, body: string]>([
  ['SendGrid', sendGrid, withMembers(sendGrid, { headers: { Sender: 'app@sender.example' } })],
  ['Postmark', postmark, withMembers(postmark, { Headers: [{ Name: 'Sender', Value: 'app@sender.example' }] })],
  ['Mailgun', mailgun, `${mailgun.body}&h:Sender=app@sender.example`],
  ['Postal', postal, withMembers(postal, { headers: { Sender: 'app@sender.example' } })],
])('%s: a Sender that is the author is left out', async (_, door, body) => {
  expect((await ask(door, { body })).status).toBe(door === sendGrid ? 202 : 200)
})

test('a batch of Postmark names them too', async () => {
  const one = { ...JSON.parse(postmark.body), Headers: [{ Name: 'Date', Value: 'x' }] }
  const { headers, body } = await ask(postmark, {
    path: '/compat/postmark/email/batch',
    body: JSON.stringify([JSON.parse(postmark.body), one]),
  })
  expect([headers.get('dropped-headers'), body.length]).toEqual(['Date', 2])
})

describe('refusals are in the form of the service:', () => {
  const json = (door: Door): boolean => door !== mailgun
  test.each<
    [
      name: string,
      asked: (door: Door) => Asked | Promise<Asked>,
      statuses: [sendGrid: number, postmark: number, mailgun: number, postal: number],
    ]
  >([
    ['a wrong key', () => ({ key: 'wrong' }), [401, 401, 401, 200]],
    ['no key', () => ({ headers: { authorization: '', 'x-postmark-server-token': '', 'x-server-api-key': '' } }), [401, 401, 401, 200]],
    ['a key that may only read', async () => ({ key: (await keyOf({ permission: 'read_access' })).token }), [403, 401, 403, 200]],
    [
      'a body that is cut off',
      (door) => ({ body: json(door) ? '{' : '', headers: json(door) ? {} : { 'content-type': 'multipart/form-data; boundary=b' } }),
      [400, 422, 400, 200],
    ],
    ['another type of body', () => ({ headers: { 'content-type': 'text/plain' } }), [415, 422, 415, 200]],
    ['no body', () => ({ body: '' }), [400, 422, 400, 200]],
    ['a body that is too large', () => ({ body: 'x'.repeat(35 * 1024 * 1024 + 1) }), [413, 413, 413, 413]],
    ['another path', (door) => ({ path: `${door.path}/elsewhere` }), [404, 404, 404, 404]],
    ['another method', () => ({ method: 'GET' }), [405, 405, 405, 405]],
    [
      'a suspended account',
      async () => {
        const { token, accountId } = await keyOf()
        await relay.relay.services.accounts.change(accountId, { status: 'suspended' })
        return { key: token }
      },
      [403, 422, 403, 200],
    ],
  ])('%s', async (_name, asked, statuses) => {
    for (const [place, [, door]] of doors.entries()) {
      const { status, body, headers } = await ask(door, await asked(door))
      expect({ status, body }).toEqual({ status: statuses[place], body: door.refusal })
      expect(headers.get('content-type')).toMatch(/^application\/json/)
    }
  })
})

test('Postmark has a code for what was wrong', async () => {
  const codeOf = async (asked: Asked): Promise<number> => (await ask(postmark, asked)).body.ErrorCode
  expect(await codeOf({ key: 'wrong' })).toBe(10)
  expect(await codeOf({ body: '{' })).toBe(402)
  expect(await codeOf({ headers: { 'content-type': 'text/plain' } })).toBe(409)
  expect(await codeOf({ body: '{}' })).toBe(300)
})

test('what Mailgun would hide is named in its message', async () => {
  const { body } = await ask(mailgun, {
    body: 'from=app%40sender.example&to=ann%40example.com&subject=a&text=b&h%3AFrom=eve%40sender.example',
  })
  expect(body.message).toContain('From')
})

test.each([
  'ann@example.com@evil.example',
  '"ann@evil.example"@example.com',
  'ann@example.com(x)evil.example',
  'ann(x)@example.com',
  '<@evil.example:ann@example.com>',
  'ann@evil.example <bob@example.com>',
  'Group: ann@example.com, bob@evil.example;',
  'ann@example.com.',
  'ann@example..com',
  'ann @example.com',
  'ann@[127.0.0.1]',
  'ann@-example.com',
  'ann@example.com\0',
  'ann@example.com\r\nBcc: eve@evil.example',
  '=?utf-8?q?ann=40evil.example?=@example.com',
  'ann＠evil.example@example.com',
  'ann@ｅxample.com',
  '<ann@example.com',
  'ann@example.com; eve@evil.example',
  `${'a'.repeat(65)}@example.com`,
])('no door takes the address %j', async (address) => {
  const before = await relay.call('GET', '/api/emails?limit=1')
  const form = new URLSearchParams({ from: 'app@sender.example', to: address, subject: 'Hello', text: 'Hello' }).toString()
  const raw = new URLSearchParams({ to: address, message: 'From: app@sender.example\n\nHello' }).toString()
  const answers = [
    await ask(sendGrid, { body: sendGrid.body.replace('"ann@example.com"', JSON.stringify(address)) }),
    await ask(postmark, { body: postmark.body.replace('"ann@example.com"', JSON.stringify(address)) }),
    await ask(mailgun, { body: form }),
    await ask(mailgun, { path: `${mailgun.path}.mime`, body: raw }),
    await ask(postal, { body: postal.body.replace('"ann@example.com"', JSON.stringify(address)) }),
  ]
  expect(answers.map(({ status }) => status)).toEqual([400, 422, 400, 400, 200])
  expect(answers[4]?.body.status).toBe('parameter-error')
  expect((await relay.call('GET', '/api/emails?limit=1')).body).toEqual(before.body)
})

test('requests at every door count against the one limit of the account', async () => {
  const { token: key } = await keyOf({ plan: 'tiny' })
  expect((await ask(sendGrid, { key })).headers.get('ratelimit-remaining')).toBe('1')
  expect((await ask(postmark, { key })).headers.get('ratelimit-remaining')).toBe('0')
  for (const [, door] of doors) {
    const { status, headers, body } = await ask(door, { key })
    expect({ status, body }).toEqual({ status: 429, body: door.refusal })
    expect(headers.get('retry-after')).toMatch(/^[1-9][0-9]*$/)
  }
})

test.each([
  ['Postmark', postmark],
  ['Mailgun', mailgun],
  ['Postal', postal],
])('%s: an Idempotency-Key sends once', async (name, door) => {
  const headers = { 'idempotency-key': `order of ${name}` }
  const first = await ask(door, { headers })
  const again = await ask(door, { headers })
  expect([again.headers.get('x-message-id'), again.headers.get('idempotency-replayed'), again.text]).toEqual([
    first.headers.get('x-message-id'),
    'true',
    first.text,
  ])
  const other = await ask(door, { headers, body: door.body.replace('Hello', 'Other') })
  expect({ status: other.status, body: other.body }).toEqual({
    status: door === postmark ? 422 : door === postal ? 200 : 409,
    body: door.refusal,
  })
})

test('an Idempotency-Key for a raw message, and for a batch of Postmark', async () => {
  const headers = { 'idempotency-key': 'raw' }
  const path = `${mailgun.path}.mime`
  const raw = (text: string) => new URLSearchParams({ to: 'ann@example.com', message: `From: app@sender.example\n\n${text}` }).toString()
  const [first, again] = [await ask(mailgun, { path, headers, body: raw('one') }), await ask(mailgun, { path, headers, body: raw('one') })]
  expect(again.text).toBe(first.text)
  expect((await ask(mailgun, { path, headers, body: raw('two') })).status).toBe(409)
  const batch = { path: `${postmark.path}/batch`, headers: { 'idempotency-key': 'batch' } }
  const twice = [
    await ask(postmark, { ...batch, body: `[${postmark.body}]` }),
    await ask(postmark, { ...batch, body: `[${postmark.body}]` }),
  ]
  expect(twice[1]?.text).toBe(twice[0]?.text)
  const many = `[${Array.from({ length: 101 }, () => postmark.body).join(',')}]`
  expect((await ask(postmark, { ...batch, body: many })).status).toBe(422)
})

test("the email's header fields, which SendGrid's client also sends as those of the request, are not taken for ours", async () => {
  const headers = { 'idempotency-key': 'x'.repeat(300), 'x-batch-validation': 'permissive', prefer: 'handling=strict' }
  const first = await ask(sendGrid, { headers })
  const second = await ask(sendGrid, { headers, body: sendGrid.body.replace('Hello', 'Other') })
  expect([first.status, second.status]).toEqual([202, 202])
  expect(second.headers.get('x-message-id')).not.toBe(first.headers.get('x-message-id'))
})

test('a form in parts without end, or broken off, is refused', async () => {
  const part = (name: string, value = 'x'): string => `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  const headers = { 'content-type': 'multipart/form-data; boundary=b' }
  const many = `${Array.from({ length: 2101 }, () => part('to', 'ann@example.com')).join('')}--b--\r\n`
  expect((await ask(mailgun, { headers, body: many })).status).toBe(400)
  expect((await ask(mailgun, { headers, body: part('from') + part('to').slice(0, -3) })).status).toBe(400)
  expect((await ask(mailgun, { headers: { 'content-type': 'multipart/form-data' }, body: 'x' })).status).toBe(415)
})

test('with compat.enabled turned off there are no doors', async () => {
  const plain = await startTestRelay({ compat_enabled: 'false' })
  onTestFinished(() => plain.stop())
  const response = await fetch(plain.baseUrl + postmark.path, {
    method: 'POST',
    headers: postmark.headers(plain.token),
    body: postmark.body,
  })
  expect({ status: response.status, body: await response.json() }).toMatchObject({ status: 404, body: { name: 'not_found' } })
})

describe('Postal:', () => {
  const at = (path: string, body: object) => ask(postal, { path: `/compat/postal/api/v1/${path}`, body: JSON.stringify(body) })
  const sent = async (body: object) => (await at('send/message', { ...JSON.parse(postal.body), ...body })).body.data

  test('each recipient is a message, whose number leads to what became of it', async () => {
    const { message_id: messageId, messages } = await sent({
      to: ['Ann <delivered@simulator.test>'],
      cc: ['bounced@simulator.test'],
      bcc: ['suppressed@simulator.test'],
      tag: 'welcome',
    })
    expect(messageId).toMatch(/@sender\.example$/)
    const names = ['delivered', 'bounced', 'suppressed'].map((name) => `${name}@simulator.test`)
    expect(Object.keys(messages)).toEqual(names)
    const ids = Object.values(messages as Record<string, { id: number }>).map(({ id }) => id)
    expect(ids.every(Number.isSafeInteger) && new Set(ids).size).toBe(3)
    const statusOf = async (id: number) => (await at('messages/message', { id, _expansions: ['status'] })).body.data.status.status
    await expect.poll(() => Promise.all(ids.map(statusOf))).toEqual(['Sent', 'HardFail', 'Held'])
    const { body } = await at('messages/message', { id: String(ids[0]), _expansions: true })
    expect(body).toMatchObject({
      status: 'success',
      data: {
        id: ids[0],
        token: messages['delivered@simulator.test'].token,
        status: { held: false },
        details: { rcpt_to: 'delivered@simulator.test', message_id: messageId, subject: 'Hello', direction: 'outgoing', tag: 'welcome' },
      },
    })
    expect((await at('messages/message', { id: ids[0] })).body.data).toEqual({
      id: ids[0],
      token: messages['delivered@simulator.test'].token,
    })
    const { body: deliveries } = await at('messages/deliveries', { id: ids[1] })
    expect(deliveries.data).toEqual([expect.objectContaining({ status: 'HardFail', output: expect.stringContaining('5.1.1') })])
    expect((await at('messages/deliveries', { id: ids[2] })).body.data).toEqual([])
  })

  test('a raw message goes to those in the envelope', async () => {
    const data = Buffer.from('From: app@sender.example\nTo: list@example.com\nSubject: Raw\n\nHello').toString('base64')
    const raw = { mail_from: 'app@sender.example', rcpt_to: ['delivered@simulator.test'], data }
    const { body } = await at('send/raw', raw)
    expect(Object.keys(body.data.messages)).toEqual(['delivered@simulator.test'])
    for (const missing of ['mail_from', 'rcpt_to', 'data'])
      expect((await at('send/raw', { ...raw, [missing]: undefined })).body).toMatchObject({ status: 'parameter-error' })
  })

  test("another account's message is not found, nor one that never was", async () => {
    const { messages } = await sent({ to: ['delivered@simulator.test'] })
    const { id } = messages['delivered@simulator.test']
    const { token: key } = await keyOf()
    const path = '/compat/postal/api/v1/messages/message'
    for (const asked of [{ key, body: JSON.stringify({ id }) }, { body: JSON.stringify({ id: 1 }) }]) {
      const { status, body } = await ask(postal, { path, ...asked })
      expect({ status, body }).toMatchObject({ status: 200, body: { status: 'error', data: { code: 'MessageNotFound' } } })
    }
    expect((await at('messages/message', { id: { $gt: 0 } })).body.status).toBe('parameter-error')
    const { token: sender } = await keyOf({ permission: 'sending_access' })
    expect((await ask(postal, { path, key: sender, body: JSON.stringify({ id }) })).body.data.code).toBe('AccessDenied')
  })

  test('it has a code for what was wrong', async () => {
    const codeOf = async (asked: Asked): Promise<string> => (await ask(postal, asked)).body.data.code
    expect(await codeOf({ key: 'wrong' })).toBe('InvalidServerAPIKey')
    expect(await codeOf({ headers: { 'x-server-api-key': '' } })).toBe('AccessDenied')
    expect((await at('send/message', {})).body).toMatchObject({
      status: 'parameter-error',
      data: { message: expect.stringContaining('from') },
    })
  })
})
