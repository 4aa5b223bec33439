import { describe, expect, test } from 'vitest'
import { startEmailApi, type EmailApi } from '../../support/email-api.ts'
import type { ApiAnswer } from '../../support/api-server.ts'

const plain = { from: 'App <app@sender.example>', to: 'user@recipient.example', subject: 'Hello', html: '<p>Hi</p>' }
const to = (address: string, fields: object = {}) => ({ ...plain, to: address, ...fields })

const post = (api: EmailApi, body: unknown, headers: Record<string, string> = {}, token = api.key): Promise<ApiAnswer> =>
  api.request('POST', '/api/emails/batch', { token, body, headers })
const permissive = { 'x-batch-validation': 'permissive' }

/** What a batch has left behind, chunks of messages that were not completed included. */
async function rowCount(api: EmailApi): Promise<number> {
  const tables = ['message', 'message_tag', 'content', 'upload', 'recipient', 'event', 'idempotency']
  const counts = await Promise.all(tables.map((table) => api.db.read<{ n: number }>(`select count(*) as n from ${table}`)))
  return counts.reduce((sum, [row]) => sum + (row?.n ?? 0), 0)
}

const idsOf = ({ body }: ApiAnswer): string[] => (body.data as { id: string }[]).map(({ id }) => id)
const recipientOf = async (api: EmailApi, id: string) => ((await api.get(`/api/emails/${id}`)).body.to as string[])[0]

describe('a batch that is right', () => {
  test.each([
    ['an array', (emails: object[]) => emails],
    ['an object with emails', (emails: object[]) => ({ emails })],
  ])('is sent in its order, given as %s', async (_, form) => {
    const api = await startEmailApi()
    const answer = await post(
      api,
      form([to('a@r.example'), to('b@r.example', { scheduled_at: '2026-11-22T00:00:00Z' }), to('c@s.example')]),
    )
    expect(answer).toMatchObject({ status: 200, body: { data: [{}, {}, {}] } })
    expect(answer.body).not.toHaveProperty('errors')
    expect(await Promise.all(idsOf(answer).map((id) => recipientOf(api, id)))).toEqual(['a@r.example', 'b@r.example', 'c@s.example'])
    const statuses = () => Promise.all(idsOf(answer).map(async (id) => (await api.get(`/api/emails/${id}`)).body.status))
    await expect.poll(statuses).toEqual(['delivered', 'scheduled', 'delivered'])
  })

  test('may be as large as a request: what does not fit into one commit is stored ahead', async () => {
    const api = await startEmailApi()
    const html = `<p>${'x'.repeat(250_000)}</p>`
    const answer = await post(
      api,
      Array.from({ length: 100 }, (_, i) => to(`u${i}@r.example`, { html, text: '' })),
    )
    expect(answer.status).toBe(200)
    expect(new Set(idsOf(answer)).size).toBe(100)
    await expect.poll(() => api.db.read("select count(*) as n from recipient where state = 'delivered'")).toEqual([{ n: 100 }])
    expect(await api.db.read('select * from upload')).toEqual([])
    expect((await api.get(`/api/emails/${idsOf(answer)[99]}`)).body.html).toContain(html)
  }, 180_000)

  test('has suppressed recipients told apart', async () => {
    const api = await startEmailApi()
    await api.send(to('gone@r.example'))
    await api.idle()
    const [{ account_id: accountId } = { account_id: '' }] = await api.db.read<{ account_id: string }>('select account_id from message')
    await api.db.write([
      {
        sql: `insert into suppression (id, account_id, address, origin, topic, sandbox, created_at) values ('sup_1', :accountId, 'gone@r.example', 'bounce', '', 0, 0)`,
        params: { accountId },
      },
    ])
    const [first = '', second = ''] = idsOf(await post(api, [to('gone@r.example'), to('here@r.example')]))
    expect((await api.get(`/api/emails/${first}`)).body.status).toBe('suppressed')
    await expect.poll(async () => (await api.get(`/api/emails/${second}`)).body.status).toBe('delivered')
  })
})

const faulty: [name: string, email: unknown, expected: { status: number; name: string; field: string }][] = [
  ['no object', 'x', { status: 400, name: 'invalid_json', field: '1' }],
  ['nobody to send to', { ...plain, to: undefined }, { status: 422, name: 'missing_required_field', field: '1.to' }],
  ['a wrong address', to('nobody'), { status: 422, name: 'validation_error', field: '1.to' }],
  ['a wrong address in a list', { ...plain, to: ['a@r.example', 'nobody'] }, { status: 422, name: 'validation_error', field: '1.to.1' }],
  ['a wrong author', to('a@r.example', { from: 'x' }), { status: 422, name: 'invalid_from_address', field: '1.from' }],
  [
    'a domain of somebody else',
    to('a@r.example', { from: 'a@other.example' }),
    { status: 403, name: 'domain_not_verified', field: '1.from' },
  ],
  [
    'too many recipients',
    { ...plain, to: Array.from({ length: 51 }, (_, i) => `u${i}@r.example`) },
    { status: 422, name: 'too_many_recipients', field: '1.to' },
  ],
  [
    'a wrong attachment',
    to('a@r.example', { attachments: [{ filename: 'a', content: '%' }] }),
    { status: 422, name: 'invalid_attachment', field: '1.attachments.0.content' },
  ],
  [
    'a field that is not supported',
    to('a@r.example', { attachments: [{ filename: 'a', content: '', path: 'https://a.example' }] }),
    { status: 422, name: 'unsupported_field', field: '1.attachments.0.path' },
  ],
  [
    'a time too far ahead',
    to('a@r.example', { scheduled_at: '2027-11-21T00:00:00Z' }),
    { status: 422, name: 'validation_error', field: '1.scheduled_at' },
  ],
  ['a message too large', to('a@r.example', { html: 'x'.repeat(90_000) }), { status: 413, name: 'payload_too_large', field: '1' }],
]

describe('a batch with a fault', () => {
  test('is refused whole, and the email is named by its place', async () => {
    const api = await startEmailApi({ messageSizeLimit: 60_000 })
    for (const [what, email, { status, name, field }] of faulty) {
      const answer = await post(api, [plain, email, plain])
      expect(answer, what).toMatchObject({
        status,
        body: { name, message: expect.stringMatching(/^Email 1 of the batch: /), errors: [{ field }] },
      })
    }
    const first = await post(api, [to('nobody'), plain])
    expect(first.body.errors).toMatchObject([{ field: '0.to' }])
    expect(await rowCount(api)).toBe(0)
  })

  test('tells of all faults, those of a kind first named by it', async () => {
    const api = await startEmailApi()
    const answer = await post(api, [plain, { to: 'x@r.example' }, to('nobody'), plain, to('a@r.example', { from: 'a@other.example' })])
    expect(answer).toMatchObject({ status: 422, body: { name: 'validation_error' } })
    expect(answer.body.errors?.map(({ field, code }) => [field, code])).toEqual([
      ['1.from', 'missing'],
      ['1.subject', 'missing'],
      ['2.to', 'invalid_email'],
      ['4.from', 'domain_not_verified'],
    ])
  })

  test('is taken without the faulty ones where that is wished', async () => {
    const api = await startEmailApi({ messageSizeLimit: 60_000 })
    const answer = await post(api, [plain, ...faulty.map(([, email]) => email), to('last@r.example')], permissive)
    expect(answer.status).toBe(200)
    expect(answer.body.errors).toMatchObject(
      faulty.map(([, , { name }], place) => ({ index: place + 1, name, message: expect.stringMatching(/\w/) })),
    )
    expect(await Promise.all(idsOf(answer).map((id) => recipientOf(api, id)))).toEqual(['user@recipient.example', 'last@r.example'])
  })

  test('sends nothing where no email is right', async () => {
    const api = await startEmailApi()
    const answer = await post(api, [to('nobody')], permissive)
    expect(answer).toMatchObject({ status: 200, body: { data: [], errors: [{ index: 0, name: 'validation_error' }] } })
    expect(await rowCount(api)).toBe(0)
  })

  test.each([
    ['{}', 400, 'invalid_json'],
    ['{"0":{},"2":{}}', 400, 'invalid_json'],
    ['"x"', 400, 'invalid_json'],
    ['[', 400, 'invalid_json'],
    ['[]', 422, 'validation_error'],
    ['{"emails":[]}', 422, 'validation_error'],
    ['{"emails":{}}', 400, 'invalid_json'],
    [JSON.stringify(Array(101).fill(plain)), 422, 'validation_error'],
  ])('as a whole: %.20s', async (body, status, name) => {
    const api = await startEmailApi()
    for (const headers of [{}, permissive]) {
      expect(await post(api, body, headers)).toMatchObject({ status, body: { name } })
    }
    expect(await rowCount(api)).toBe(0)
  })

  test('an unknown field, for those who ask for strictness', async () => {
    const api = await startEmailApi()
    const answer = await post(api, [plain, { ...plain, colour: 'red' }], { prefer: 'handling=strict' })
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ field: '1.colour', code: 'unknown_field' }] } })
    expect((await post(api, [plain, { ...plain, colour: 'red' }])).status).toBe(200)
  })

  test('a way of checking that there is none of', async () => {
    const api = await startEmailApi()
    expect(await post(api, [plain], { 'x-batch-validation': 'lenient' })).toMatchObject({
      status: 422,
      body: { name: 'invalid_parameter' },
    })
  })

  test('an account that is suspended, and keys that may not', async () => {
    const api = await startEmailApi()
    expect(await post(api, [plain], {}, await api.token({ permission: 'read_access' }))).toMatchObject({
      status: 403,
      body: { name: 'restricted_api_key' },
    })
    const other = await api.token({ permission: 'sending_access', domainId: `dom_${'9'.repeat(26)}` })
    expect(await post(api, [plain], {}, other)).toMatchObject({
      status: 403,
      body: { name: 'restricted_api_key', errors: [{ field: '0.from' }] },
    })
    expect(await rowCount(api)).toBe(0)
  })
})

describe('an idempotency key', () => {
  const key = { 'idempotency-key': 'batch-1' }

  test.each(['strict', 'permissive'])('covers a %s batch whole', async (mode) => {
    const api = await startEmailApi()
    const headers = { ...key, 'x-batch-validation': mode }
    const emails = mode === 'strict' ? [plain, to('b@r.example')] : [plain, to('nobody'), to('b@r.example')]
    const [first, ...others] = [await post(api, emails, headers), await post(api, emails, headers), await post(api, emails, headers)]
    expect(first?.status).toBe(200)
    expect(first?.headers.get('idempotency-replayed')).toBe(null)
    for (const answer of others) {
      expect(answer.text).toBe(first?.text)
      expect(answer.headers.get('idempotency-replayed')).toBe('true')
    }
    expect(await api.db.read('select count(*) as n from message')).toEqual([{ n: 2 }])
    expect(await post(api, [...emails, plain], headers)).toMatchObject({ status: 409, body: { name: 'invalid_idempotent_request' } })
  })

  test('is another one for a single email, and is not used up by a refusal', async () => {
    const api = await startEmailApi()
    expect((await post(api, [to('nobody')], key)).status).toBe(422)
    expect((await api.send(plain, { headers: key })).status).toBe(200)
    expect((await post(api, [plain], key)).status).toBe(200)
    expect(await api.db.read('select count(*) as n from message')).toEqual([{ n: 2 }])
  })

  test('lets one of two requests at the same moment through', async () => {
    const api = await startEmailApi()
    const answers = await Promise.all([post(api, [plain, plain], key), post(api, [plain, plain], key)])
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409])
    expect(await api.db.read('select count(*) as n from message')).toEqual([{ n: 2 }])
  })
})
