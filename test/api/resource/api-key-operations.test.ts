import { expect, test } from 'vitest'
import { startPeopleApi } from '../../support/people-api.ts'

const hour = 3_600_000

async function start() {
  const api = await startPeopleApi()
  const full = await api.token()
  const call = (method: string, path: string, body?: unknown, token = full) =>
    api.request(method, `/api/api-keys${path}`, { token, ...(body === undefined ? {} : { body }) })
  const statusWith = async (token: unknown) => (await api.request('GET', '/api/account', { token: String(token) })).status
  return { ...api, full, call, statusWith }
}

const dataOf = (answer: { body: Record<string, unknown> }) => answer.body['data'] as Record<string, unknown>[]

test('a key is made, listed without its token, renamed and revoked', async () => {
  const { call, clock, statusWith } = await start()
  clock.advance(1)
  const made = await call('POST', '', { name: 'shop', permission: 'read_access', expires_at: '2026-11-22T00:00:00Z' })
  expect(made).toMatchObject({ status: 201, body: { object: 'api_key' } })
  const { id, token } = made.body
  expect(await statusWith(token)).toBe(200)
  expect(await call('PATCH', `/${String(id)}`, { name: 'the shop' })).toMatchObject({ status: 200, body: { id } })
  const list = await call('GET', '')
  expect(dataOf(list)[0]).toEqual({
    object: 'api_key',
    id,
    name: 'the shop',
    permission: 'read_access',
    domain_id: null,
    sandbox: false,
    prefix: String(token).slice(0, 18),
    created_at: new Date(clock.now()).toISOString(),
    last_used_at: new Date(clock.now()).toISOString(),
    expires_at: '2026-11-22T00:00:00.000Z',
  })
  expect(list.text).not.toContain(String(token).slice(18))
  expect(await call('DELETE', `/${String(id)}`)).toMatchObject({ status: 200, body: { object: 'api_key', id, deleted: true } })
  expect(await statusWith(token)).toBe(401)
  expect(await call('DELETE', `/${String(id)}`)).toMatchObject({ status: 404 })
})

test('lists come in pages, the newest first', async () => {
  const { call, clock } = await start()
  for (const name of ['a', 'b', 'c']) {
    clock.advance(1)
    await call('POST', '', { name })
  }
  const names = (answer: { body: Record<string, unknown> }) => [...dataOf(answer).map(({ name }) => name), answer.body['has_more']]
  const first = await call('GET', '?limit=2')
  expect(names(first)).toEqual(['c', 'b', true])
  const [, b] = dataOf(first)
  expect(names(await call('GET', `?limit=2&after=${String(b?.['id'])}`))).toEqual(['a', 'test', false])
  expect(names(await call('GET', `?limit=1&before=${String(b?.['id'])}`))).toEqual(['c', false])
})

test('an expired key is told so', async () => {
  const { call, clock, request } = await start()
  const { body } = await call('POST', '', { name: 'x', expires_at: new Date(clock.now() + hour).toISOString() })
  clock.advance(hour)
  expect(await request('GET', '/api/account', { token: String(body['token']) })).toMatchObject({
    status: 401,
    body: { name: 'expired_api_key' },
  })
})

test.each([
  ['no name', {}, 'missing_required_field'],
  ['an empty name', { name: ' ' }, 'validation_error'],
  ['a long name', { name: 'x'.repeat(101) }, 'validation_error'],
  ['an unknown permission', { name: 'x', permission: 'admin' }, 'validation_error'],
  ['a time in the past', { name: 'x', expires_at: '2020-01-01T00:00:00Z' }, 'validation_error'],
  ['a time in words', { name: 'x', expires_at: 'soon' }, 'validation_error'],
  ['an unknown domain', { name: 'x', domain_id: 'dom_1' }, 'validation_error'],
  [
    'a domain for a key that does more than send',
    { name: 'x', permission: 'full_access', domain_id: 'sender.example' },
    'validation_error',
  ],
])('%s is refused', async (_, body, name) => {
  const { call, sendingDomains, accounts } = await start()
  await sendingDomains.add(accounts.getAccount('acme').id, 'sender.example')
  expect(await call('POST', '', body)).toMatchObject({ status: 422, body: { name } })
  expect(dataOf(await call('GET', ''))).toHaveLength(1)
})

test('a key is limited to a domain of its own account only', async () => {
  const { call, sendingDomains, accounts } = await start()
  const other = await accounts.create('other', 'free')
  const strange = await sendingDomains.add(other.id, 'other.example')
  const own = await sendingDomains.add(accounts.getAccount('acme').id, 'sender.example')
  expect(await call('POST', '', { name: 'x', domain_id: strange.id })).toMatchObject({
    status: 422,
    body: { errors: [{ field: 'domain_id' }] },
  })
  expect(await call('POST', '', { name: 'x', domain_id: 'nowhere.example' })).toMatchObject({
    body: { message: 'The `domain_id` field is neither the id nor the name of a domain of this account.' },
  })
  expect((await call('POST', '', { name: 'x', domain_id: own.name })).status).toBe(201)
  const { body } = await call('POST', '', { name: 'x', domain_id: own.id })
  expect(dataOf(await call('GET', '')).find(({ id }) => id === body['id'])).toMatchObject({
    permission: 'sending_access',
    domain_id: own.id,
  })
})

test('no key makes, rotates or revokes one that holds more than itself', async () => {
  const { call, token } = await start()
  const operator = await token({ permission: 'operator' })
  expect(await call('POST', '', { name: 'x', permission: 'operator' })).toMatchObject({ status: 403, body: { name: 'restricted_api_key' } })
  const made = await call('POST', '', { name: 'x', permission: 'operator' }, operator)
  expect(made.status).toBe(201)
  for (const [method, path] of [
    ['POST', '/rotate'],
    ['DELETE', ''],
  ] as const) {
    expect(await call(method, `/${String(made.body['id'])}${path}`)).toMatchObject({ status: 403 })
  }
})

test('no key gives one out that lasts longer than itself', async () => {
  const api = await startPeopleApi()
  const expiresAt = api.clock.now() + 3_600_000
  const lasting = await api.token({ name: 'lasting' })
  const token = await api.token({ name: 'passing', expiresAt })
  const make = (body: object) => api.request('POST', '/api/api-keys', { token, body: { name: 'made', ...body } })
  const listed = async () =>
    (await api.request('GET', '/api/api-keys', { token: lasting })).body['data'] as {
      id: string
      name: string
      expires_at: string | null
    }[]
  const restricted = { status: 403, body: { name: 'restricted_api_key' } }
  expect(await make({ expires_at: new Date(expiresAt + 1).toISOString() })).toMatchObject(restricted)
  expect(await make({ expires_at: new Date(expiresAt - 1).toISOString() })).toMatchObject({ status: 201 })
  expect(await make({ name: 'inheriting' })).toMatchObject({ status: 201 })
  expect((await listed()).find(({ name }) => name === 'inheriting')?.expires_at).toBe(new Date(expiresAt).toISOString())
  const idOf = async (wanted: string) => (await listed()).find(({ name }) => name === wanted)?.id
  expect(await api.request('POST', `/api/api-keys/${await idOf('lasting')}/rotate`, { token })).toMatchObject(restricted)
  expect(await api.request('POST', `/api/api-keys/${await idOf('passing')}/rotate`, { token })).toMatchObject({ status: 200 })
  expect(
    await api.request('POST', `/api/api-keys/${await idOf('passing')}/rotate`, { token: lasting, body: { force: true } }),
  ).toMatchObject({ status: 200 })
})

test('a sandbox key makes and sees sandbox keys only', async () => {
  const { call, token, full } = await start()
  const sandbox = await token({ sandbox: true })
  const { body } = await call('POST', '', { name: 'made in the sandbox', sandbox: false }, sandbox)
  expect(body['token']).toMatch(/^sterna_test_/)
  expect(dataOf(await call('GET', '', undefined, sandbox)).every((key) => key['sandbox'] === true)).toBe(true)
  const live = dataOf(await call('GET', '', undefined, full)).find((key) => key['sandbox'] === false)
  for (const [method, path] of [
    ['PATCH', ''],
    ['POST', '/rotate'],
    ['DELETE', ''],
  ] as const) {
    expect(await call(method, `/${String(live?.['id'])}${path}`, method === 'PATCH' ? { name: 'x' } : undefined, sandbox)).toMatchObject({
      status: 404,
    })
  }
})

test('after a rotation both tokens work until the overlap is over, also after a restart', async () => {
  const { call, clock, statusWith, apiKeys } = await start()
  const { body: old } = await call('POST', '', { name: 'x' })
  const rotate = (body: object) => call('POST', `/${String(old['id'])}/rotate`, body)
  const rotated = await rotate({ overlap_seconds: 3600 })
  expect(rotated.body).toMatchObject({ id: old['id'], previous_expires_at: new Date(clock.now() + hour).toISOString() })
  const statuses = async () => [await statusWith(old['token']), await statusWith(rotated.body['token'])]
  expect(await statuses()).toEqual([200, 200])
  await apiKeys.load()
  expect(await statuses()).toEqual([200, 200])
  expect(await rotate({})).toMatchObject({ status: 409, body: { name: 'rotation_in_progress' } })
  clock.advance(hour)
  expect(await statuses()).toEqual([401, 200])
  const second = await rotate({ overlap_seconds: 3600 })
  const third = await rotate({ overlap_seconds: 3600, force: true })
  const all = async () => Promise.all([rotated, second, third].map(({ body }) => statusWith(body['token'])))
  expect(await all()).toEqual([401, 200, 200])
  await rotate({ overlap_seconds: 0, force: true })
  expect(await all()).toEqual([401, 401, 401])
})

test('revoking ends the token before a rotation too', async () => {
  const { call, statusWith } = await start()
  const { body: old } = await call('POST', '', { name: 'x' })
  const { body: rotated } = await call('POST', `/${String(old['id'])}/rotate`)
  await call('DELETE', `/${String(old['id'])}`)
  expect([await statusWith(old['token']), await statusWith(rotated['token'])]).toEqual([401, 401])
})

test("another account's key does not exist", async () => {
  const { call, token } = await start()
  const { body } = await call('POST', '', { name: 'x' })
  const stranger = await token({ account: 'other' })
  const answers = []
  for (const id of [String(body['id']), `key_${'0'.repeat(26)}`]) answers.push(await call('DELETE', `/${id}`, undefined, stranger))
  expect(new Set(answers.map(({ status, body }) => JSON.stringify([status, { ...body, request_id: null }]))).size).toBe(1)
  expect(answers[0]?.status).toBe(404)
})

test('no token is in the log or in the audit log', async () => {
  const { call, token, logged, request } = await start()
  const { body } = await call('POST', '', { name: 'secret name' })
  const rotated = await call('POST', `/${String(body['id'])}/rotate`)
  const operator = await token({ permission: 'operator' })
  const audit = await request('GET', '/api/audit', { token: operator })
  expect(dataOf(audit).map(({ action, object_id: id, fields }) => [action, id, fields])).toEqual([
    ['api_keys.rotate', body['id'], []],
    ['api_keys.create', body['id'], ['name']],
  ])
  const told = logged.join('\n') + audit.text
  for (const secret of [body['token'], rotated.body['token'], operator]) expect(told).not.toContain(String(secret).slice(18))
  expect(audit.text).not.toContain('secret name')
})
