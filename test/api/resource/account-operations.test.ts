import { expect, test } from 'vitest'
import { SuppressionEntries } from '../../../src/mail/suppression/suppression-entries.ts'
import { startPeopleApi } from '../../support/people-api.ts'
import { erasedAddress } from '../../support/erased-address.ts'

const dataOf = (answer: { body: Record<string, unknown> }) => answer.body['data'] as Record<string, unknown>[]

async function start() {
  const api = await startPeopleApi()
  const operator = await api.token({ account: 'host', permission: 'operator' })
  const call = (method: string, path: string, body?: unknown) =>
    api.request(method, `/api/accounts${path}`, { token: operator, ...(body === undefined ? {} : { body }) })
  return { ...api, operator, call }
}

test('any key reads its account', async () => {
  const { request, token, accounts, clock } = await start()
  const answer = await request('GET', '/api/account', { token: await token({ permission: 'sending_access' }) })
  expect(answer.body).toEqual({
    object: 'account',
    id: accounts.getAccount('acme').id,
    name: 'acme',
    plan: 'free',
    status: 'active',
    slowed_until: null,
    harm: null,
    delivery_notices: false,
    rate_limit: { limit: 100, window_seconds: 60 },
    created_at: new Date(clock.now()).toISOString(),
  })
})

test('an operator creates, reads, changes and lists accounts', async () => {
  const { call } = await start()
  const made = await call('POST', '', { name: 'shop' })
  expect(made).toMatchObject({ status: 201, body: { name: 'shop', plan: 'free', status: 'active' } })
  const path = `/${String(made.body['id'])}`
  expect(await call('PATCH', path, { plan: 'starter' })).toMatchObject({
    status: 200,
    body: { plan: 'starter', rate_limit: { limit: 500 } },
  })
  expect(await call('PATCH', path, { status: 'suspended' })).toMatchObject({ status: 200, body: { plan: 'starter', status: 'suspended' } })
  expect(await call('GET', path)).toMatchObject({ status: 200, body: { status: 'suspended' } })
  expect(dataOf(await call('GET', '?limit=1'))).toMatchObject([{ name: 'shop' }])
  expect(await call('POST', '', { name: 'shop' })).toMatchObject({ status: 409, body: { name: 'account_exists' } })
  expect(await call('POST', '', { name: 'x', plan: 'gold' })).toMatchObject({ status: 422, body: { errors: [{ field: 'plan' }] } })
  expect(await call('PATCH', path, { plan: 'gold' })).toMatchObject({ status: 422 })
  expect(await call('PATCH', path, { status: 'gone' })).toMatchObject({ status: 422 })
  expect(await call('GET', '/shop')).toMatchObject({ status: 404 })
})

test('an account turns its delivery notices on and off, and changes nothing else of itself', async () => {
  const { request, token, accounts, call } = await start()
  const key = await token()
  const change = (body: object) => request('PATCH', '/api/account', { token: key, body })
  expect(await change({ delivery_notices: true, plan: 'enterprise' })).toMatchObject({
    status: 200,
    body: { delivery_notices: true, plan: 'free' },
  })
  const { id } = accounts.getAccount('acme')
  expect(await call('PATCH', `/${id}`, { delivery_notices: false })).toMatchObject({ status: 200, body: { delivery_notices: false } })
  expect(await request('GET', '/api/account', { token: key })).toMatchObject({ body: { delivery_notices: false } })
  expect(await change({ delivery_notices: 'yes' })).toMatchObject({ status: 422 })
  expect(await request('PATCH', '/api/account', { token: await token({ permission: 'sending_access' }), body: {} })).toMatchObject({
    status: 403,
  })
})

test('a suspended account still reads', async () => {
  const { call, request, token, accounts } = await start()
  const key = await token()
  await call('PATCH', `/${accounts.getAccount('acme').id}`, { status: 'suspended' })
  expect(await request('GET', '/api/account', { token: key })).toMatchObject({ status: 200, body: { status: 'suspended' } })
})

test('an account that is deleted takes its keys, users, webhooks and domains along, and its name is free', async () => {
  const { db, clock, call, request, token, accounts, addUser, login, sendingDomains, webhooks, people, apiKeys } = await start()
  const key = await token()
  const { email, password } = await addUser()
  const { cookie } = await login(email, password)
  const { id } = accounts.getAccount('acme')
  await sendingDomains.add(id, 'sender.example')
  for (const sandbox of [true, false]) {
    await webhooks.create({ accountId: id, sandbox }, { url: 'https://a.example/', events: ['email.sent'] })
  }
  const suppressed = Array.from({ length: 501 }, (_, place) => `${place}@example.com`)
  await new SuppressionEntries({ db, clock, erasedAddress }).add({ accountId: id, sandbox: false }, suppressed, { reason: null })
  expect(await call('DELETE', `/${id}`)).toMatchObject({ status: 200, body: { object: 'account', id, deleted: true } })
  expect(await db.read('select id from suppression')).toEqual([])
  const gone = async () => {
    expect(await request('GET', '/api/account', { token: key })).toMatchObject({ status: 401 })
    expect(await request('GET', '/session', { headers: { cookie } })).toMatchObject({ status: 401 })
    expect(await call('GET', `/${id}`)).toMatchObject({ status: 404 })
    expect(sendingDomains.list(id)).toEqual([])
    expect(await webhooks.page({ accountId: id, sandbox: false }, { limit: 1, after: null, before: null })).toEqual([])
  }
  await gone()
  for (const part of [accounts, apiKeys, people.users, people.sessions]) await part.load()
  await gone()
  expect(await call('POST', '', { name: 'acme' })).toMatchObject({ status: 201 })
})

test('an account with queued mail is not deleted, and stays as it was', async () => {
  const { call, token, accounts, db, clock, apiKeys } = await start()
  await token()
  const { id } = accounts.getAccount('acme')
  await db.write([
    {
      sql: `insert into message (id, account_id, source, sandbox, header_from, header_to, header_cc, reply_to, subject, message_id_header, size, body_type, smtputf8, tags, metadata, created_at)
            values ('em_1', :id, 'api', 0, '', '', '', '', '', '', 0, '7bit', 0, '[]', '{}', 0)`,
      params: { id },
    },
    {
      sql: `insert into recipient (id, message_id, account_id, forward_path, destination, type, state, due_at, expires_at)
            values ('rcp_1', 'em_1', :id, 'a@b.example', 'b.example', 'to', 'queued', :now, 0)`,
      params: { id, now: clock.now() },
    },
  ])
  expect(await call('DELETE', `/${id}`)).toMatchObject({ status: 409, body: { name: 'invalid_state' } })
  expect(accounts.getAccount('acme').status).toBe('active')
  expect(apiKeys.list(id)).toHaveLength(1)
  await db.write([{ sql: 'update recipient set due_at = null' }])
  expect(await call('DELETE', `/${id}`)).toMatchObject({ status: 200 })
})

test('nobody deletes the account he is in, or the last operator', async () => {
  const { call, accounts, tokenOf, request } = await start()
  expect(await call('DELETE', `/${accounts.getAccount('host').id}`)).toMatchObject({ status: 409 })
  await tokenOf({ operator: true, account: 'people' })
  expect(await call('DELETE', `/${accounts.getAccount('people').id}`)).toMatchObject({ status: 409 })
  const another = await tokenOf({ operator: true, account: 'others' })
  expect(await request('DELETE', `/api/accounts/${accounts.getAccount('people').id}`, { token: another })).toMatchObject({ status: 200 })
})

test('every change is on record, with who made it and from where', async () => {
  const { call, operator, request, tokenOf, accounts, clock } = await start()
  const user = await tokenOf({ operator: true, account: 'host' })
  const { body: made } = await call('POST', '', { name: 'shop', plan: 'starter', 'no field': 1 })
  clock.advance(1000)
  await request('PATCH', `/api/accounts/${String(made['id'])}`, {
    token: user,
    body: { status: 'suspended' },
    headers: { 'x-forwarded-for': '203.0.113.9' },
  })
  await call('POST', '', { name: 'shop' })
  await call('GET', '')
  const list = async (query: string) => dataOf(await request('GET', `/api/audit?${query}`, { token: operator }))
  const account = accounts.getAccount('host').id
  const [suspended, created, ...logins] = await list(`account_id=${account}`)
  expect(suspended).toMatchObject({
    account_id: account,
    actor: { type: 'user', name: expect.stringMatching(/@host\.example$/) },
    action: 'accounts.update',
    object_id: made['id'],
    fields: ['status'],
    address: '127.0.0.1',
    request_id: expect.stringMatching(/^req_/),
  })
  expect(created).toMatchObject({
    actor: { type: 'key', name: 'test' },
    action: 'accounts.create',
    object_id: made['id'],
    fields: ['name', 'plan'],
  })
  expect(logins.map(({ action }) => action)).toEqual(['session.create'])
  const { id: actor } = (created ?? {})['actor'] as { id: string }
  expect(await list(`actor=${actor}`)).toEqual([created])
  expect(await list('action=accounts.update')).toEqual([suspended])
  expect(await list(`since=${new Date(clock.now()).toISOString()}`)).toEqual([suspended])
  expect(await list(`until=${new Date(clock.now()).toISOString()}`)).toEqual([created, ...logins])
  const day = new Date(clock.now()).toISOString().slice(0, 10)
  expect(await list(`since=${day}&until=${day}`)).toEqual([suspended, created, ...logins])
  expect(await list(`request_id=${String(suspended?.['request_id'])}`)).toEqual([suspended])
  expect(await list('request_id=no')).toEqual([])
  expect(await list(`after=${String(suspended?.['id'])}&limit=1`)).toEqual([created])
  expect(await list('actor=command')).toEqual([])
})

test('the record goes with the events', async () => {
  const { call, request, operator, audit, clock } = await start()
  await call('POST', '', { name: 'shop' })
  clock.advance(1000)
  await audit.sweep(clock.now() - 1000)
  expect(dataOf(await request('GET', '/api/audit', { token: operator }))).toHaveLength(1)
  await audit.sweep(clock.now())
  expect(dataOf(await request('GET', '/api/audit', { token: operator }))).toEqual([])
})

test('owners and admins see the record of their own account, others none', async () => {
  const { call, request, tokenOf, accounts } = await start()
  await call('POST', '', { name: 'other' })
  const token = await tokenOf({ role: 'admin', account: 'shop' })
  const own = accounts.getAccount('shop').id
  const seen = dataOf(await request('GET', '/api/audit', { token }))
  expect(seen.map(({ account_id: account, action }) => [account, action])).toEqual([[own, 'session.create']])
  expect(dataOf(await request('GET', `/api/audit?account_id=${accounts.getAccount('host').id}`, { token }))).toEqual([])
  for (const role of ['member', 'viewer'] as const) {
    const denied = await request('GET', '/api/audit', { token: await tokenOf({ role, account: 'shop' }) })
    expect(denied).toMatchObject({ status: 403, body: { name: 'restricted_api_key' } })
  }
})
