import { simpleParser, type Attachment } from 'mailparser'
import { request as httpRequest } from 'node:http'
import { describe, expect, test } from 'vitest'
import type { Outcome } from '../../../src/mail-out/delivery/attempt.ts'
import type { ApiAnswer } from '../../support/api-server.ts'
import { senderDomainId, startEmailApi, type EmailApi } from '../../support/email-api.ts'

const plain = { from: 'App <app@sender.example>', to: 'user@recipient.example', subject: 'Hello', html: '<p>Hi</p>' }
const busy: Outcome = {
  type: 'deferred',
  reply: { code: 451, enhancedStatus: '4.7.1', text: 'Greylisted' },
  category: 'other',
  reason: '451 4.7.1 Greylisted',
}
const unknown: Outcome = {
  type: 'bounced',
  reply: { code: 550, enhancedStatus: '5.1.1', text: 'No such user' },
  hard: true,
  category: 'invalid_recipient',
  reason: '550 5.1.1 No such user',
}

/** The stored message of an answer, as another parser reads it. */
async function storedMessage(api: EmailApi, { body }: ApiAnswer) {
  const rows = await api.db.read<{ bytes: Uint8Array }>('select bytes from content where message_id = :id order by chunk', {
    id: String(body.id),
  })
  const bytes = Buffer.concat(rows.map((row) => row.bytes))
  const header = bytes.toString('latin1').split('\r\n\r\n', 1)[0] ?? ''
  return {
    bytes,
    fieldNames: header
      .split('\r\n')
      .filter((line) => /^\S/.test(line))
      .map((line) => line.split(':', 1)[0]),
    parsed: await simpleParser(bytes),
  }
}

/** How many rows a refused request has left behind. */
async function rowCount(api: EmailApi): Promise<number> {
  const tables = ['message', 'message_tag', 'content', 'recipient', 'event', 'idempotency']
  const counts = await Promise.all(tables.map((table) => api.db.read<{ n: number }>(`select count(*) as n from ${table}`)))
  return counts.reduce((sum, [row]) => sum + (row?.n ?? 0), 0)
}

describe('sending', () => {
  test('the four fields of the simplest request make an email that is delivered', async () => {
    const api = await startEmailApi()
    const answer = await api.send(plain)
    expect(answer).toMatchObject({
      status: 200,
      body: {
        object: 'email',
        id: expect.stringMatching(/^em_[0-9a-z]{26}$/),
        status: 'queued',
        created_at: '2026-11-21T06:00:00.000Z',
        to: ['user@recipient.example'],
        recipients: [{ email: 'user@recipient.example', type: 'to', status: 'queued' }],
      },
    })
    await api.idle()
    expect((await api.get(`/api/emails/${answer.body.id}`)).body).toMatchObject({ status: 'delivered', last_event: 'delivered' })
    const { parsed } = await storedMessage(api, answer)
    expect([parsed.from?.text, parsed.subject, String(parsed.html).trimEnd()]).toEqual(['"App" <app@sender.example>', 'Hello', '<p>Hi</p>'])
  })

  test('both paths are the same, and so are the forms of an address', async () => {
    const api = await startEmailApi()
    const email = {
      from: { email: 'app@sender.example', name: 'Grüße, "App"' },
      to: ['a@recipient.example', { email: 'b@recipient.example' }, 'Bé <B@RECIPIENT.example>'],
      cc: { email: 'c@recipient.example', name: 'C' },
      bcc: ['d@recipient.example', 'a@recipient.example'],
      reply_to: 'help@sender.example',
      subject: 'Grüße 🚀',
      text: 'Hallo\n',
      headers: { 'X-Ref': '42', 'In-Reply-To': '<1@x.example>' },
      tags: { kind: 'welcome' },
      metadata: { order: '7', constructor: 'x' },
      topic_id: 'ignored',
      nonsense: true,
    }
    const answer = await api.request('POST', '/api/emails', { token: api.key, body: email })
    expect(answer.status).toBe(200)
    expect(answer.body.recipients).toEqual([
      { email: 'a@recipient.example', type: 'to', status: 'queued' },
      { email: 'b@recipient.example', type: 'to', status: 'queued' },
      { email: 'c@recipient.example', type: 'cc', status: 'queued' },
      { email: 'd@recipient.example', type: 'bcc', status: 'queued' },
    ])
    await api.idle()
    const { parsed, bytes } = await storedMessage(api, answer)
    expect(parsed.from?.value).toEqual([{ address: 'app@sender.example', name: 'Grüße, "App"' }])
    expect(parsed.subject).toBe('Grüße 🚀')
    expect(parsed.headers.get('x-ref')).toBe('42')
    expect(bytes.includes('d@recipient.example')).toBe(false)
    expect((await api.get(`/api/emails/${answer.body.id}`)).body).toMatchObject({
      from: 'Grüße, "App" <app@sender.example>',
      cc: ['C <c@recipient.example>'],
      bcc: ['d@recipient.example'],
      reply_to: ['help@sender.example'],
      subject: 'Grüße 🚀',
      text: 'Hallo\n',
      tags: [{ name: 'kind', value: 'welcome' }],
      metadata: { order: '7', constructor: 'x' },
    })
  })

  test('an attachment comes in every form in which clients write bytes', async () => {
    const api = await startEmailApi()
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, place) => (place * 7) % 256))
    const base64 = bytes.toString('base64')
    const contents = [base64, base64.replaceAll(/.{60}/g, '$&\n'), base64.replaceAll(/.{76}/g, '$&\r\n'), [...bytes], bytes.toJSON()]
    const attachments = contents.map((content, place) => ({ filename: `${place}.bin`, content }))
    const answer = await api.send({ ...plain, attachments })
    expect(answer.status).toBe(200)
    const { parsed } = await storedMessage(api, answer)
    expect(parsed.attachments.map(({ content }) => content.equals(bytes))).toEqual([true, true, true, true, true])
  })

  test('attachments arrive byte for byte, those with an id inline', async () => {
    const api = await startEmailApi()
    const file = Buffer.from(Array.from({ length: 1000 }, (_, i) => i % 256))
    const attachments = [
      { filename: 'Rechnung äöü.pdf', content: file.toString('base64'), content_type: 'application/pdf' },
      { filename: 'logo.png', content: file.toString('base64'), contentId: 'logo' },
      { filename: 'empty.txt', content: '' },
    ]
    const answer = await api.send({ ...plain, attachments })
    expect(answer.status).toBe(200)
    const { parsed } = await storedMessage(api, answer)
    const shown = ({ filename, contentType, cid, content }: Attachment) => [filename, contentType, cid, content.equals(file)]
    expect(parsed.attachments.map(shown)).toEqual([
      ['logo.png', 'image/png', 'logo', true],
      ['Rechnung äöü.pdf', 'application/pdf', undefined, true],
      ['empty.txt', 'text/plain', undefined, false],
    ])
  })

  test('a message larger than one chunk is stored whole', async () => {
    const api = await startEmailApi()
    const content = Buffer.alloc(900_000, 'x').toString('base64')
    const { body } = await api.send({ ...plain, attachments: [{ filename: 'big.bin', content }] })
    const chunks = await api.db.read<{ n: number }>('select length(bytes) as n from content where message_id = :id order by chunk', {
      id: String(body.id),
    })
    expect(chunks.length).toBe(5)
    expect(chunks.slice(0, -1).every(({ n }) => n === 256 * 1024)).toBe(true)
    expect((await api.get(`/api/emails/${body.id}`)).body).toMatchObject({ html: expect.stringMatching(/^<p>Hi<\/p>\s*$/) })
  })

  test('a time to come schedules, a time gone by sends at once', async () => {
    const api = await startEmailApi()
    const at = new Date(api.clock.now() + 3_600_000).toISOString()
    const later = await api.send({ ...plain, scheduled_at: at })
    expect(later.body).toMatchObject({ status: 'scheduled', recipients: [{ status: 'scheduled' }] })
    expect((await api.get(`/api/emails/${later.body.id}`)).body).toMatchObject({
      status: 'scheduled',
      last_event: 'scheduled',
      scheduled_at: at,
    })
    expect((await api.send({ ...plain, scheduled_at: '2026-11-21T06:00:00Z' })).body.status).toBe('queued')
    expect((await api.send({ ...plain, scheduled_at: '2026-11-21T07:30:00+02:00' })).body.status).toBe('queued')
    api.clock.advance(3_600_000)
    await expect.poll(async () => (await api.get(`/api/emails/${later.body.id}`)).body.status).toBe('delivered')
  })

  test('an idempotency key makes one email of many requests', async () => {
    const api = await startEmailApi()
    const headers = { 'idempotency-key': 'order-7' }
    const first = await api.send(plain, { headers })
    const again = await api.request('POST', '/api/emails', { token: api.key, body: plain, headers })
    expect(again).toMatchObject({ status: 200, body: first.body })
    expect([first.headers.get('idempotency-replayed'), again.headers.get('idempotency-replayed')]).toEqual([null, 'true'])
    const other = await api.send({ ...plain, subject: 'Other' }, { headers })
    expect(other).toMatchObject({ status: 409, body: { name: 'invalid_idempotent_request' } })
    expect((await api.get('/api/emails')).body.data).toHaveLength(1)
    // Neither another account nor a rehearsal in the sandbox meets this key.
    for (const token of [await api.token({ account: 'other' }), await api.token({ sandbox: true })]) {
      const foreign = await api.send(plain, { headers, token })
      expect(foreign.body.id).not.toBe(first.body.id)
    }
    api.clock.advance(24 * 3_600_000)
    expect((await api.send(plain, { headers })).body.id).not.toBe(first.body.id)
  })

  test('a refused request does not use its idempotency key up', async () => {
    const api = await startEmailApi()
    const headers = { 'idempotency-key': 'k' }
    expect((await api.send({ ...plain, from: 'app@other.example' }, { headers })).status).toBe(403)
    expect((await api.send(plain, { headers })).status).toBe(200)
  })

  test('of two requests with one key at the same moment one is told to wait', async () => {
    const api = await startEmailApi()
    const headers = { 'idempotency-key': 'twice' }
    const answers = await Promise.all([api.send(plain, { headers }), api.send(plain, { headers })])
    const refused = answers.filter(({ status }) => status === 409)
    for (const { body, headers: answered } of refused)
      expect([body.name, answered.get('retry-after')]).toEqual(['concurrent_idempotent_requests', '1'])
    expect((await api.get('/api/emails')).body.data).toHaveLength(1)
  })
})

describe('what is refused leaves nothing behind', () => {
  const long = (length: number): string => 'x'.repeat(length)
  const file = { filename: 'a.txt', content: 'aGk=' }
  const cases: [string, object | string, number, string, string?][] = [
    ['nothing at all', {}, 422, 'missing_required_field', 'from'],
    ['an array', [plain], 400, 'invalid_json'],
    ['a string', '"hello"', 400, 'invalid_json'],
    ['no recipient', { ...plain, to: [] }, 422, 'missing_required_field', 'to'],
    ['no body', { ...plain, html: undefined }, 422, 'missing_required_field', 'html'],
    ['empty bodies', { ...plain, html: '', text: '' }, 422, 'missing_required_field', 'html'],
    ['an empty subject', { ...plain, subject: '' }, 422, 'validation_error', 'subject'],
    ['a subject of 999 characters', { ...plain, subject: long(999) }, 422, 'validation_error', 'subject'],
    ['a number for a string', { ...plain, subject: 5 }, 422, 'validation_error', 'subject'],
    ['an object for the body', { ...plain, html: { path: '/etc/passwd' } }, 422, 'validation_error', 'html'],
    ['a body over 5 MiB', { ...plain, html: long(5 * 1024 * 1024 + 1) }, 422, 'validation_error', 'html'],
    ['a body over 5 MiB in UTF-8', { ...plain, html: 'ä'.repeat(2.6 * 1024 * 1024) }, 422, 'validation_error', 'html'],
    ['51 recipients', { ...plain, to: Array.from({ length: 51 }, (_, i) => `u${i}@recipient.example`) }, 422, 'too_many_recipients'],
    [
      '51 in three fields',
      {
        ...plain,
        cc: Array.from({ length: 25 }, (_, i) => `c${i}@x.example`),
        bcc: Array.from({ length: 25 }, (_, i) => `b${i}@x.example`),
      },
      422,
      'too_many_recipients',
    ],
    [
      '40 000 recipients',
      `{"from":"a@sender.example","subject":"s","html":"h","to":[${'"a",'.repeat(40_000)}"a"]}`,
      422,
      'too_many_recipients',
    ],
    [
      'a million recipients',
      `{"from":"a@sender.example","subject":"s","html":"h","to":[${'"a",'.repeat(1_000_000)}"a"]}`,
      400,
      'invalid_json',
    ],
    ['two addresses in one string', { ...plain, to: 'a@x.example, b@x.example' }, 422, 'validation_error', 'to'],
    ['a group', { ...plain, to: 'g: a@x.example;' }, 422, 'validation_error', 'to'],
    ['two senders', { ...plain, from: ['a@sender.example', 'b@sender.example'] }, 422, 'validation_error', 'from'],
    ['a faulty sender', { ...plain, from: 'app' }, 422, 'invalid_from_address', 'from'],
    ['a wrong one among the recipients', { ...plain, to: ['a@x.example', 'b@'] }, 422, 'validation_error', 'to.1'],
    ['a comment', { ...plain, to: 'user@good.example(x)evil.example' }, 422, 'validation_error', 'to'],
    ['a quoted @', { ...plain, to: '"a@evil.example"@recipient.example' }, 422, 'validation_error', 'to'],
    ['a route', { ...plain, to: '<@evil.example:user@recipient.example>' }, 422, 'validation_error', 'to'],
    ['two @', { ...plain, to: 'user@evil.example@recipient.example' }, 422, 'validation_error', 'to'],
    ['an address literal', { ...plain, to: 'user@[127.0.0.1]' }, 422, 'validation_error', 'to'],
    ['a NUL', { ...plain, to: 'user\0@recipient.example' }, 422, 'validation_error', 'to'],
    ['parameters behind the address', { ...plain, to: 'user@recipient.example> SIZE=1' }, 422, 'validation_error', 'to'],
    ['a local part of 65', { ...plain, to: `${long(65)}@recipient.example` }, 422, 'validation_error', 'to'],
    ['an address in an object with a name in it', { ...plain, to: { email: 'N <a@x.example>' } }, 422, 'validation_error', 'to'],
    ['an address as a name', { ...plain, from: 'app@sender.example <app@evil.example>' }, 422, 'invalid_from_address', 'from'],
    ['a sender that hides another', { ...plain, from: '"app@sender.example" <app@evil.example>' }, 403, 'domain_not_verified'],
    ['a domain that is not ours', { ...plain, from: 'ceo@other.example' }, 403, 'domain_not_verified'],
    ['a domain that ends alike', { ...plain, from: 'ceo@notsender.example' }, 403, 'domain_not_verified'],
    ['a forbidden header', { ...plain, headers: { Bcc: 'x@evil.example' } }, 422, 'validation_error', 'headers.Bcc'],
    [
      'a forbidden header in other letters',
      { ...plain, headers: { 'dKiM-sIgNaTuRe': 'v=1' } },
      422,
      'validation_error',
      'headers.dKiM-sIgNaTuRe',
    ],
    [
      '51 headers',
      { ...plain, headers: Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`X-${i}`, 'x'])) },
      422,
      'validation_error',
      'headers',
    ],
    ['a header value of 999', { ...plain, headers: { 'X-A': long(999) } }, 422, 'validation_error', 'headers.X-A'],
    ['a header value that is no text', { ...plain, headers: { 'X-A': 1 } }, 422, 'validation_error', 'headers.X-A'],
    [
      'an attachment from a path',
      { ...plain, attachments: [{ filename: 'p', path: '/etc/passwd' }] },
      422,
      'unsupported_field',
      'attachments.0.path',
    ],
    [
      'an attachment from a URL',
      { ...plain, attachments: [{ ...file, href: 'http://169.254.169.254/' }] },
      422,
      'unsupported_field',
      'attachments.0.href',
    ],
    [
      'an attachment that points elsewhere',
      { ...plain, attachments: [{ filename: 'p', content: { path: '/etc/passwd' } }] },
      422,
      'validation_error',
      'attachments.0.content',
    ],
    [
      'an attachment that is no base64',
      { ...plain, attachments: [{ filename: 'p', content: 'hello world!' }] },
      422,
      'invalid_attachment',
      'attachments.0.content',
    ],
    [
      'base64 with a space',
      { ...plain, attachments: [{ filename: 'p', content: 'aG k=' }] },
      422,
      'invalid_attachment',
      'attachments.0.content',
    ],
    [
      'a list of what are no bytes',
      { ...plain, attachments: [{ filename: 'p', content: [104, 256] }] },
      422,
      'invalid_attachment',
      'attachments.0.content',
    ],
    [
      'a Buffer of what are no bytes',
      { ...plain, attachments: [{ filename: 'p', content: { type: 'Buffer', data: [104, '105'] } }] },
      422,
      'invalid_attachment',
      'attachments.0.content',
    ],
    [
      'base64 of the URL kind',
      { ...plain, attachments: [{ filename: 'p', content: '-_-_' }] },
      422,
      'invalid_attachment',
      'attachments.0.content',
    ],
    [
      'a media type with more in it',
      { ...plain, attachments: [{ ...file, content_type: 'text/plain\r\nBcc: x@evil.example' }] },
      422,
      'invalid_attachment',
      'attachments.0',
    ],
    ['101 attachments', { ...plain, attachments: Array.from({ length: 101 }, () => file) }, 422, 'validation_error', 'attachments'],
    ['21 tags', { ...plain, tags: Array.from({ length: 21 }, (_, i) => ({ name: `t${i}`, value: 'x' })) }, 422, 'validation_error', 'tags'],
    ['a field that is nearly a known one', { ...plain, schedule_at: '2026-12-01T00:00:00Z' }, 422, 'validation_error', 'schedule_at'],
    ['a recipient in a field of another name', { ...plain, to: undefined, recipient: plain.to }, 422, 'validation_error', 'recipient'],
    ['a tag with a space', { ...plain, tags: [{ name: 'a b', value: 'x' }] }, 422, 'validation_error', 'tags.0.name'],
    ['a tag with a blank value', { ...plain, tags: { a: ' ' } }, 422, 'validation_error', 'tags.a'],
    ['a tag with a line break', { ...plain, tags: { a: 'x\ny' } }, 422, 'validation_error', 'tags.a'],
    ['a tag of 257 characters', { ...plain, tags: { a: 'x'.repeat(257) } }, 422, 'validation_error', 'tags.a'],
    ['a tag without a value', { ...plain, tags: [{ name: 'a' }] }, 422, 'missing_required_field', 'tags.0.value'],
    [
      '21 metadata',
      { ...plain, metadata: Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`k${i}`, 'x'])) },
      422,
      'validation_error',
      'metadata',
    ],
    ['metadata of 501', { ...plain, metadata: { k: long(501) } }, 422, 'validation_error', 'metadata.k'],
    ['metadata within metadata', { ...plain, metadata: { k: { a: 1 } } }, 422, 'validation_error', 'metadata.k'],
    ['a time in words', { ...plain, scheduled_at: 'tomorrow at 9' }, 422, 'validation_error', 'scheduled_at'],
    ['a time without an offset', { ...plain, scheduled_at: '2026-11-22T06:00:00' }, 422, 'validation_error', 'scheduled_at'],
    ['a 30 February', { ...plain, scheduled_at: '2027-02-30T06:00:00Z' }, 422, 'validation_error', 'scheduled_at'],
    ['a time in 31 days', { ...plain, scheduled_at: '2026-12-22T06:00:00Z' }, 422, 'validation_error', 'scheduled_at'],
    ['a life of 59 s', { ...plain, expires_in: 59 }, 422, 'validation_error', 'expires_in'],
    ['a life of six days', { ...plain, expires_in: 518_400 }, 422, 'validation_error', 'expires_in'],
    ['a template with html', { ...plain, template: { id: 'welcome' } }, 422, 'validation_error', 'html'],
    ['no topic to unsubscribe from', { ...plain, unsubscribe: { topic: 'two words' } }, 422, 'validation_error', 'unsubscribe.topic'],
    ['a topic without its object', { ...plain, unsubscribe: 'news' }, 422, 'validation_error', 'unsubscribe'],
    ['tracking that is no yes or no', { ...plain, tracking: { opens: 'yes' } }, 422, 'validation_error', 'tracking.opens'],
  ]

  test('each of them', async () => {
    const api = await startEmailApi()
    for (const [what, email, status, name, field] of cases) {
      const answer = await api.send(email)
      expect(
        { status: answer.status, name: answer.body.name, fields: answer.body.errors?.map((fault) => fault.field) ?? [] },
        what,
      ).toEqual({
        status,
        name,
        fields: field === undefined ? expect.anything() : expect.arrayContaining([field]),
      })
      expect(answer.body.request_id, what).toBe(answer.headers.get('x-request-id'))
    }
    expect(await rowCount(api)).toBe(0)
  })

  test('a message that is too large once it is built', async () => {
    const api = await startEmailApi({ messageSizeLimit: 100_000 })
    const content = Buffer.alloc(80_000).toString('base64')
    expect(await api.send({ ...plain, attachments: [{ filename: 'a', content }] })).toMatchObject({
      status: 413,
      body: { name: 'payload_too_large' },
    })
    expect(await rowCount(api)).toBe(0)
  })

  test('an unknown field, for those who ask for strictness', async () => {
    const api = await startEmailApi()
    const typo = { ...plain, importance: 'high' }
    for (const [path, headers] of [
      ['/api/send?strict=true', {}],
      ['/api/send', { prefer: 'respond-async, handling=strict' }],
    ] as const) {
      const answer = await api.request('POST', path, { token: api.key, body: typo, headers })
      expect(answer).toMatchObject({
        status: 422,
        body: { name: 'validation_error', errors: [{ field: 'importance', code: 'unknown_field' }] },
      })
    }
    expect((await api.request('POST', '/api/send?strict=maybe', { token: api.key, body: plain })).body.name).toBe('invalid_parameter')
    expect(await rowCount(api)).toBe(0)
    expect((await api.send(typo)).status).toBe(200)
  })

  test('an idempotency key that is none', async () => {
    const api = await startEmailApi()
    for (const key of ['', 'x'.repeat(257)]) {
      const answer = await api.send(plain, { headers: { 'idempotency-key': key } })
      expect(answer).toMatchObject({ status: 400, body: { name: 'invalid_idempotency_key' } })
    }
    expect((await api.send(plain, { headers: { 'idempotency-key': 'x'.repeat(256) } })).status).toBe(200)
  })

  test('keys that may not: to read only, of another domain, of a suspended account', async () => {
    const api = await startEmailApi()
    expect(await api.send(plain, { token: await api.token({ permission: 'read_access' }) })).toMatchObject({
      status: 403,
      body: { name: 'restricted_api_key' },
    })
    const elsewhere = await api.token({ permission: 'sending_access', domainId: 'dom_2' })
    expect(await api.send(plain, { token: elsewhere })).toMatchObject({ status: 403, body: { name: 'restricted_api_key' } })
    expect(await rowCount(api)).toBe(0)
    expect((await api.send(plain, { token: await api.token({ permission: 'sending_access', domainId: senderDomainId }) })).status).toBe(200)
    const account = api.accounts.findAccount('acme')
    if (account) account.status = 'suspended'
    expect(await api.send(plain)).toMatchObject({ status: 403, body: { name: 'account_suspended' } })
  })
})

describe('text that would break out of its header field', () => {
  const evil = 'Bcc: victim@evil.example'
  const breaks = [
    `\r\n${evil}`,
    `\n${evil}`,
    `\r${evil}`,
    `\u0085${evil}`,
    `\u2028${evil}`,
    `\u2029${evil}`,
    `\0${evil}`,
    `\v${evil}`,
    `\f${evil}`,
    '\ud800',
  ]
  const harmless = [
    `%0d%0a${evil}`,
    `=?utf-8?Q?=0D=0A${evil.replace(': ', ':_')}?=`,
    `=?utf-8?B?${Buffer.from(`\r\n${evil}`).toString('base64')}?=`,
    `\\r\\n${evil}`,
    '"; x="',
    '<>,;:@()[]\\',
  ]
  const places: [string, (text: string) => object][] = [
    ['from', (text) => ({ from: `A${text} <app@sender.example>` })],
    ['from.name', (text) => ({ from: { email: 'app@sender.example', name: `A${text}` } })],
    ['from.email', (text) => ({ from: { email: `app@sender.example${text}` } })],
    ['to', (text) => ({ to: `user@recipient.example${text}` })],
    ['to.0.name', (text) => ({ to: [{ email: 'user@recipient.example', name: `A${text}` }] })],
    ['cc', (text) => ({ cc: `user${text}@recipient.example` })],
    ['bcc', (text) => ({ bcc: [`user@recipient.example${text}`] })],
    ['reply_to', (text) => ({ reply_to: `A${text} <help@sender.example>` })],
    ['subject', (text) => ({ subject: `Hi${text}` })],
    ['a header value', (text) => ({ headers: { 'X-Ref': `1${text}` } })],
    ['a header name', (text) => ({ headers: { [`X-Ref${text}`]: '1' } })],
    ['List-Unsubscribe', (text) => ({ headers: { 'List-Unsubscribe': `<https://sender.example/u${text}>` } })],
    ['a file name', (text) => ({ attachments: [{ filename: `a${text}.txt`, content: 'aGk=' }] })],
    ['a content id', (text) => ({ attachments: [{ filename: 'a.txt', content: 'aGk=', content_id: `a${text}` }] })],
    ['a media type', (text) => ({ attachments: [{ filename: 'a.txt', content: 'aGk=', content_type: `text/plain${text}` }] })],
    ['a tag', (text) => ({ tags: [{ name: `a${text}`, value: 'b' }] })],
  ]

  test('is refused wherever it stands', async () => {
    const api = await startEmailApi()
    for (const [place, email] of places) {
      for (const text of breaks) {
        const answer = await api.send({ ...plain, ...email(text) })
        expect(answer.status, `${place} ${JSON.stringify(text)}`).toBe(422)
      }
    }
    expect(await rowCount(api)).toBe(0)
  })

  test('is text and nothing else where it only looks so', async () => {
    const api = await startEmailApi()
    for (const [place, email] of places) {
      for (const text of harmless) {
        const what = `${place} ${JSON.stringify(text)}`
        const answer = await api.send({ ...plain, ...email(text) })
        if (answer.status === 422) continue
        expect(answer.status, what).toBe(200)
        const { fieldNames, parsed } = await storedMessage(api, answer)
        expect(
          fieldNames.filter((name) => /^bcc$/i.test(name ?? '')),
          what,
        ).toEqual([])
        expect(parsed.bcc, what).toBe(undefined)
        expect(new Set(fieldNames).size, what).toBe(fieldNames.length)
        if (place === 'subject') expect(parsed.subject, what).toBe(`Hi${text}`)
      }
    }
  })
})

describe('JSON with surprises', () => {
  test.each([
    ['a prototype', '{"__proto__":{"from":"a@evil.example"},"constructor":{"prototype":{"x":1}},'],
    ['a huge number', '{"importance":1e309,"id":99999999999999999999999,'],
    ['a deep field that nobody reads', `{"x":${'['.repeat(50)}${']'.repeat(50)},`],
    ['a doubled key, of which the last counts', '{"from":"a@evil.example",'],
  ])('%s changes nothing', async (_what, start) => {
    const api = await startEmailApi()
    const answer = await api.send(start + JSON.stringify(plain).slice(1))
    expect(answer.status).toBe(200)
    expect((await api.get(`/api/emails/${answer.body.id}`)).body.from).toBe('App <app@sender.example>')
    expect(Object.hasOwn(Object.prototype, 'x')).toBe(false)
  })

  test('prototype names in maps are names like others, or dropped', async () => {
    const api = await startEmailApi()
    const email = `{"metadata":{"__proto__":"a","toString":"b","hasOwnProperty":"c"},"tags":{"constructor":"d"},${JSON.stringify(plain).slice(1)}`
    const { body } = await api.send(email)
    expect((await api.get(`/api/emails/${body.id}`)).body).toMatchObject({
      metadata: { toString: 'b', hasOwnProperty: 'c' },
      tags: [{ name: 'constructor', value: 'd' }],
    })
  })
})

describe('reading', () => {
  test('an email shows what became of each recipient', async () => {
    const api = await startEmailApi()
    api.outcomes.set('gone@recipient.example', [unknown])
    api.outcomes.set('slow@recipient.example', [busy])
    const email = { ...plain, to: ['user@recipient.example', 'gone@recipient.example', 'slow@recipient.example'], text: 'Hi' }
    const { body } = await api.send(email)
    await api.idle()
    const { body: shown } = await api.get(`/api/emails/${body.id}`)
    expect(shown).toMatchObject({
      object: 'email',
      id: body.id,
      message_id: expect.stringMatching(/^<.+@.+>$/),
      to: email.to,
      cc: null,
      bcc: null,
      reply_to: null,
      html: expect.stringMatching(/^<p>Hi<\/p>\s*$/),
      text: expect.stringContaining('Hi'),
      tags: [],
      metadata: {},
      template_id: null,
      domain_id: senderDomainId,
      source: 'api',
      status: 'processing',
      scheduled_at: null,
      created_at: '2026-11-21T06:00:00.000Z',
    })
    const recipients = shown.recipients as { email: string }[]
    expect(recipients.toSorted((a, b) => a.email.localeCompare(b.email))).toMatchObject([
      {
        email: 'gone@recipient.example',
        status: 'bounced',
        attempts: 1,
        smtp_code: 550,
        enhanced_status: '5.1.1',
        bounced_at: '2026-11-21T06:00:00.000Z',
        next_attempt_at: null,
      },
      {
        email: 'slow@recipient.example',
        status: 'deferred',
        attempts: 1,
        next_attempt_at: '2026-11-21T06:01:00.000Z',
        last_response: '451 4.7.1 Greylisted',
      },
      {
        email: 'user@recipient.example',
        status: 'delivered',
        delivered_at: '2026-11-21T06:00:00.000Z',
        opened_at: null,
        open_count: 0,
        click_count: 0,
      },
    ])
    api.clock.advance(60_000)
    await expect.poll(async () => (await api.get(`/api/emails/${body.id}`)).body.status).toBe('partially_delivered')
  })

  test('the attempts of an email say in plain words what happened', async () => {
    const api = await startEmailApi()
    api.outcomes.set('user@recipient.example', [busy])
    const { body } = await api.send(plain)
    await api.idle()
    api.clock.advance(60_000)
    await expect.poll(async () => (await api.get(`/api/emails/${body.id}`)).body.status).toBe('delivered')
    const list = (await api.get(`/api/emails/${body.id}/attempts`)).body
    expect(list).toMatchObject({ object: 'list', has_more: false })
    expect(list.data).toMatchObject([
      { outcome: 'delivered', recipient: 'user@recipient.example', reply: 'Ok' },
      {
        object: 'attempt',
        id: expect.stringMatching(/^att_/),
        email_id: body.id,
        outcome: 'deferred',
        mx_host: 'mx.example',
        address: '192.0.2.1',
        tls: { version: 'TLSv1.3', cipher: 'TLS_AES_256_GCM_SHA384', verified: true },
        dkim_selectors: ['s1', 's2'],
        duration_ms: 5,
        smtp_code: 451,
        enhanced_status: '4.7.1',
        transcript: [
          { ms: 0, side: 'server', line: '220 mx.example' },
          { ms: 1, side: 'client', line: 'EHLO mail.example.com' },
        ],
        explanation: { owner: 'network', cause: expect.stringContaining('greylisting'), advice: expect.any(String) },
      },
    ])
  })

  test('an email says how many recipients are in which state, why some got nothing, and how long its content is kept', async () => {
    const api = await startEmailApi()
    api.outcomes.set('gone@recipient.example', [unknown])
    api.outcomes.set('busy@recipient.example', [busy])
    const { body } = await api.send({ ...plain, to: ['user@recipient.example', 'gone@recipient.example', 'busy@recipient.example'] })
    await api.idle()
    const read = async () => (await api.get(`/api/emails/${body.id}`)).body
    const next = new Date(api.clock.now() + 60_000).toISOString()
    expect(await read()).toMatchObject({
      recipient_count: 3,
      recipient_states: { delivered: 1, bounced: 1, deferred: 1 },
      reason: { category: 'invalid_recipient', response: expect.stringContaining('5.1.1') },
      next_attempt_at: next,
      content_expires_at: null,
    })
    const [item] = (await api.get('/api/emails')).body.data as { reason: object; size: number }[]
    const [stored] = await api.db.read<{ bytes: Uint8Array }>('select bytes from content')
    expect(item).toMatchObject({ reason: (await read()).reason, size: stored?.bytes.length })
    api.clock.advance(60_000)
    await expect.poll(async () => (await read()).recipient_states).toEqual({ delivered: 2, bounced: 1 })
    expect(await read()).toMatchObject({
      next_attempt_at: null,
      content_expires_at: new Date(api.clock.now() + 7 * 24 * 3_600_000).toISOString(),
    })
    api.outcomes.set('user@recipient.example', [busy])
    const waiting = await api.send(plain)
    await api.idle()
    expect((await api.get(`/api/emails/${waiting.body.id}`)).body.reason).toEqual({
      category: null,
      response: expect.stringContaining('4.7.1'),
      code: 'greylisting',
      owner: 'network',
    })
    const simple = await api.send({ ...plain, to: 'fine@recipient.example' })
    await api.idle()
    expect((await api.get(`/api/emails/${simple.body.id}`)).body.reason).toBeNull()
  })

  test('the events of an email come newest first, a page at a time', async () => {
    const api = await startEmailApi()
    api.outcomes.set('user@recipient.example', [busy])
    const { body } = await api.send(plain)
    await api.idle()
    api.clock.advance(60_000)
    await expect.poll(async () => (await api.get(`/api/emails/${body.id}`)).body.status).toBe('delivered')
    const events = async (query = '') =>
      (await api.get(`/api/emails/${body.id}/events${query}`)).body as unknown as {
        has_more: boolean
        data: { id: string; type: string }[]
      }
    const all = (await events()).data
    expect(all.map(({ type }) => type)).toEqual(['email.delivered', 'email.deferred', 'email.sent', 'email.queued'])
    expect(all[0]).toEqual({
      id: expect.stringMatching(/^evt_/),
      type: 'email.delivered',
      created_at: '2026-11-21T06:01:00.000Z',
      data: { email_id: body.id, to: 'user@recipient.example', subject: 'Hello', delivered_at: '2026-11-21T06:01:00.000Z' },
    })
    const first = await events('?limit=2')
    expect([first.has_more, first.data]).toEqual([true, all.slice(0, 2)])
    const second = await events(`?limit=2&after=${all[1]?.id}`)
    expect([second.has_more, second.data]).toEqual([false, all.slice(2)])
    expect((await events(`?before=${all[3]?.id}`)).data).toEqual(all.slice(0, 3))
    expect((await api.get(`/api/emails/${body.id}/events?after=evt_01jd0000000000000000000000`)).body.name).toBe('invalid_parameter')
  })

  test('the list pages in both directions and loses nothing', async () => {
    const api = await startEmailApi()
    const ids: string[] = []
    for (let i = 0; i < 5; i++) {
      ids.unshift(String((await api.send({ ...plain, subject: `No. ${i}` })).body.id))
      api.clock.advance(1000)
    }
    await api.idle()
    const page = async (query: string) => {
      const { body } = await api.get(`/api/emails?${query}`)
      return { more: body.has_more, ids: (body.data as { id: string }[]).map(({ id }) => id) }
    }
    expect(await page('limit=2')).toEqual({ more: true, ids: ids.slice(0, 2) })
    expect(await page(`limit=2&after=${ids[1]}`)).toEqual({ more: true, ids: ids.slice(2, 4) })
    expect(await page(`limit=2&after=${ids[3]}`)).toEqual({ more: false, ids: ids.slice(4) })
    expect(await page(`limit=2&before=${ids[4]}`)).toEqual({ more: true, ids: ids.slice(2, 4) })
    expect(await page(`limit=2&before=${ids[1]}`)).toEqual({ more: false, ids: ids.slice(0, 1) })
    const [item] = (await api.get('/api/emails?limit=1')).body.data as object[]
    expect(Object.keys(item ?? {})).toEqual([
      'object',
      'id',
      'message_id',
      'from',
      'to',
      'cc',
      'bcc',
      'reply_to',
      'subject',
      'metadata',
      'template_id',
      'domain_id',
      'sandbox',
      'source',
      'status',
      'last_event',
      'recipient_count',
      'recipient_states',
      'reason',
      'size',
      'scheduled_at',
      'created_at',
    ])
  })

  test('the list can be narrowed down', async () => {
    const api = await startEmailApi()
    api.outcomes.set('gone@recipient.example', [unknown])
    const send = async (email: object) => String((await api.send({ ...plain, ...email })).body.id)
    const first = await send({ from: 'news@sender.example', tags: { kind: 'news', lang: 'de', label: 'Größe = 2, “neu”' } })
    api.clock.advance(60_000)
    const second = await send({ to: 'gone@recipient.example', tags: { kind: 'receipt' } })
    await api.idle()
    const found = async (query: string) => ((await api.get(`/api/emails?${query}`)).body.data as { id: string }[]).map(({ id }) => id)
    expect(await found('')).toEqual([second, first])
    expect(await found('status=delivered')).toEqual([first])
    expect(await found('status=bounced')).toEqual([second])
    expect(await found('status=bounced,delivered')).toEqual([second, first])
    expect(await found('status=queued,%20delivered')).toEqual([first])
    expect(await found('to=GONE@recipient.example')).toEqual([second])
    expect(await found('from=news@sender.example')).toEqual([first])
    expect(await found('from=app@sender.example')).toEqual([second])
    expect(await found('from=NEWS@Sender.Example')).toEqual([first])
    expect(await found('from=other@sender.example')).toEqual([])
    expect(await found('from=App <app@sender.example>')).toEqual([second])
    expect(await found('to=nobody')).toEqual([])
    expect(await found('tag=kind')).toEqual([second, first])
    expect(await found('tag=kind=news')).toEqual([first])
    expect(await found('tag=kind=other')).toEqual([])
    expect(await found(`tag=${encodeURIComponent('label=Größe = 2, “neu”')}`)).toEqual([first])
    expect(await found(`domain_id=${senderDomainId}`)).toEqual([second, first])
    expect(await found(`domain_id=dom_${'1'.repeat(26)}`)).toEqual([])
    expect(await found('since=2026-11-21T06:01:00Z')).toEqual([second])
    expect(await found('until=2026-11-21T06:01:00Z')).toEqual([first])
    expect(await found('since=2026-11-21')).toEqual([second, first])
    expect(await found('status=delivered&tag=lang=de&limit=1')).toEqual([first])
    for (const query of [
      'status=gone',
      'status=bounced,gone',
      'status=,',
      'since=yesterday',
      'until=2026-13-01',
      'status=queued&status=sent',
      'limit=0',
      `to=${'a'.repeat(501)}`,
      `subject=${'%'.repeat(501)}`,
      'domain_id=x',
      'tag=a b',
      'recipient=a@x.example',
      'limits=1',
      'tag=a=',
      'tag=a=%0a',
    ]) {
      expect((await api.get(`/api/emails?${query}`)).body.name, query).toBe('invalid_parameter')
    }
  })

  test("another account's emails, and those of the other mode, do not exist", async () => {
    const api = await startEmailApi()
    const { body } = await api.send(plain)
    const sandboxToken = await api.token({ sandbox: true })
    const rehearsed = await api.send(plain, { token: sandboxToken })
    await api.idle()
    const strangers = [await api.token({ account: 'other' }), sandboxToken]
    const nowhere = await api.get('/api/emails/em_01jd0000000000000000000000')
    expect(nowhere).toMatchObject({ status: 404, body: { name: 'not_found' } })
    for (const token of strangers) {
      for (const rest of ['', '/events', '/attempts']) {
        const answer = await api.get(`/api/emails/${body.id}${rest}`, token)
        expect({ ...answer.body, request_id: '' }).toEqual({ ...nowhere.body, request_id: '' })
      }
      const listed = (await api.get('/api/emails', token)).body.data as { id: string }[]
      expect(listed.map(({ id }) => id)).not.toContain(body.id)
    }
    expect((await api.get(`/api/emails/${rehearsed.body.id}`)).status).toBe(404)
    expect((await api.get(`/api/emails/${rehearsed.body.id}`, sandboxToken)).status).toBe(200)
    for (const id of ["em_' or 1=1 --", 'em_', '..%2f..', encodeURIComponent('em_\0'), 'evt_01jd0000000000000000000000']) {
      expect((await api.get(`/api/emails/${id}`)).status, id).toBe(404)
    }
    const sendOnly = await api.token({ permission: 'sending_access' })
    for (const path of ['/api/emails', `/api/emails/${body.id}`, `/api/emails/${body.id}/events`, `/api/emails/${body.id}/attempts`]) {
      expect((await api.get(path, sendOnly)).body.name, path).toBe('restricted_api_key')
    }
  })

  test('once the content is no longer kept the bodies are null, and the rest is still told', async () => {
    const api = await startEmailApi()
    const { body } = await api.send(plain)
    await api.idle()
    await api.db.write([{ sql: 'delete from content' }])
    expect((await api.get(`/api/emails/${body.id}`)).body).toMatchObject({ html: null, text: null, subject: 'Hello', status: 'delivered' })
  })
})

test('secrets in a request stay out of answers and the log', async () => {
  const api = await startEmailApi()
  const canary = 'canary-7f3a'
  const request = {
    ...plain,
    subject: `${canary}\n`,
    html: canary,
    metadata: { k: canary },
    to: [`${canary}@`],
    attachments: [{ filename: 'a', content: canary }],
  }
  const answer = await api.send(request)
  expect(answer.status).toBe(422)
  expect(answer.text).not.toContain(canary)
  expect((await api.send(`{"a":"${canary}`)).text).not.toContain(canary)
  expect((await api.send({ ...plain, html: canary }, { headers: { 'idempotency-key': canary } })).status).toBe(200)
  await api.get(`/api/emails?to=${canary}@x.example`)
  await api.idle()
  expect(api.logged.join('')).not.toContain(canary)
  expect(api.logged.join('')).not.toContain(api.key)
})

test('the header of a client that sends two idempotency keys is taken as one text', async () => {
  const api = await startEmailApi()
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const headers = [
      'host',
      'localhost',
      'authorization',
      `Bearer ${api.key}`,
      'content-type',
      'application/json',
      'idempotency-key',
      'a',
      'idempotency-key',
      'b',
    ]
    const req = httpRequest(`${api.url}/api/send`, { method: 'POST', headers }, (res) =>
      res.resume().on('end', () => resolve(res.statusCode)),
    )
    req.on('error', reject).end(JSON.stringify(plain))
  })
  expect(status).toBe(200)
  expect(await api.db.read('select key from idempotency')).toEqual([{ key: 'a, b' }])
})
