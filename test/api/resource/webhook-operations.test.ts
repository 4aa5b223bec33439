import { aloneAs } from '../../../src/platform/store/only-node.ts'
import { expect, onTestFinished, test, vi } from 'vitest'
import { recordEvent } from '../../../src/mail/event/event-log.ts'
import { publicEventTypes, webhookEventTypes } from '../../../src/mail/event/event-type.ts'
import { webhookOperations } from '../../../src/api/resource/webhook-operations.ts'
import { OutgoingRequests } from '../../../src/api/operation/outgoing-requests.ts'
import { openWebhooks, type Webhooks } from '../../../src/notify/webhook/open-webhooks.ts'
import { serviceShapes } from '../../../src/notify/webhook/payload-kind.ts'
import { startApiServer } from '../../support/api-server.ts'
import { startReceiver, status } from '../../support/webhook-receiver.ts'
import { testReprieve } from '../../support/test-reprieve.ts'

async function startApi() {
  const services = { outgoingRequests: new OutgoingRequests() } as { outgoingRequests: OutgoingRequests; webhooks: Webhooks }
  const api = await startApiServer(() => webhookOperations(services))
  const webhooks = await openWebhooks(
    { ...api, nodes: aloneAs('node_1'), reprieve: testReprieve(api.db, api.clock) },
    { allowHttp: true, allowPrivateAddresses: true, timeoutMs: 5_000, retrySchedule: [60_000], disableAfterMs: null },
  )
  services.webhooks = webhooks
  onTestFinished(() => webhooks.stop(0))
  const token = await api.token()
  const call = (method: string, path: string, body?: unknown, key = token) =>
    api.request(method, `/api${path}`, { token: key, ...(body === undefined ? {} : { body }) })
  return { ...api, webhooks, apiToken: token, call }
}

test('the three fields of the description make a webhook; only who may change it sees its secret', async () => {
  const { call, token } = await startApi()
  const made = await call('POST', '/webhooks', { url: 'https://a.example/h', events: ['email.bounced', 'email.sent'], description: 'CRM' })
  expect(made.status).toBe(201)
  const { signing_secret: secret, ...object } = made.body
  expect(secret).toMatch(/^whsec_/)
  expect(object).toEqual({
    object: 'webhook',
    id: expect.stringMatching(/^wh_[0-9a-z]{26}$/),
    url: 'https://a.example/h',
    endpoint: 'https://a.example/h',
    events: ['email.sent', 'email.bounced'],
    description: 'CRM',
    payload: 'standard',
    include_bots: false,
    basic_auth: null,
    public_key: null,
    sandbox: false,
    status: 'enabled',
    disabled_reason: null,
    created_at: '2026-11-21T06:00:00.000Z',
    updated_at: '2026-11-21T06:00:00.000Z',
  })
  const unused = {
    stats: { success: 0, failed: 0, pending: 0, last_status_code: null, last_at: null },
    failing_since: null,
    previous_secret_expires_at: null,
  }
  expect((await call('GET', `/webhooks/${object.id}`)).body).toEqual({ ...made.body, ...unused })
  const reader = await token({ permission: 'read_access' })
  expect((await call('GET', `/webhooks/${object.id}`, undefined, reader)).body).toEqual({ ...object, ...unused })
  expect((await call('GET', '/webhooks')).body).toEqual({ object: 'list', has_more: false, data: [{ ...object, ...unused }] })
})

test('what is left out has a default, and other names for the same are understood', async () => {
  const { call } = await startApi()
  const { status: code, body } = await call('POST', '/webhooks', { endpoint: 'http://app:3000/', events: null, unknown: 1 })
  expect(code).toBe(201)
  expect(body).toMatchObject({ url: 'http://app:3000/', events: [...publicEventTypes], description: null })
})

test.each([
  [{}, 422, 'missing_required_field', 'url'],
  [{ url: 'app.example/h' }, 422, 'validation_error', 'url'],
  [{ url: 7 }, 422, 'validation_error', 'url'],
  [{ url: 'https://u:p@a.example/' }, 422, 'validation_error', 'url'],
  [{ url: 'https://a.example/', events: [] }, 422, 'validation_error', 'events'],
  [{ url: 'https://a.example/', events: 'email.sent' }, 422, 'validation_error', 'events'],
  [{ url: 'https://a.example/', events: ['email.sent', 'email.queued'] }, 422, 'invalid_event_type', 'events.1'],
  [{ url: 'https://a.example/', description: 'x'.repeat(501) }, 422, 'validation_error', 'description'],
  [{ url: 'https://a.example/', status: 'paused' }, 422, 'validation_error', 'status'],
  [{ url: 'https://a.example/', payload: 'mandrill' }, 422, 'validation_error', 'payload'],
  [{ url: 'https://a.example/', basic_auth: { username: 'a' } }, 422, 'missing_required_field', 'basic_auth.password'],
  [{ url: 'https://a.example/', basic_auth: { username: 'a:b', password: 'c' } }, 422, 'validation_error', 'basic_auth.username'],
])('%j is refused', async (body, code, name, field) => {
  const { call } = await startApi()
  const answer = await call('POST', '/webhooks', body)
  expect(answer).toMatchObject({ status: code, body: { name, errors: [{ field }] } })
  expect((await call('GET', '/webhooks')).body.data).toEqual([])
})

test('an account has room for fifty, its other mode included', async () => {
  const { call, token } = await startApi()
  const sandbox = await token({ sandbox: true })
  for (let i = 0; i < 25; i++) {
    for (const key of [undefined, sandbox]) expect((await call('POST', '/webhooks', { url: 'https://a.example/' }, key)).status).toBe(201)
  }
  expect((await call('POST', '/webhooks', { url: 'https://a.example/' })).body).toMatchObject({ name: 'validation_error' })
  const other = await token({ account: 'other' })
  expect((await call('POST', '/webhooks', { url: 'https://a.example/' }, other)).status).toBe(201)
  const first = await call('GET', '/webhooks?limit=20')
  expect(first.body).toMatchObject({ has_more: true })
  const ids = (first.body.data as { id: string }[]).map(({ id }) => id)
  const second = await call('GET', `/webhooks?limit=20&after=${ids.at(-1)}`)
  expect(second.body.has_more).toBe(false)
  expect(new Set([...ids, ...(second.body.data as { id: string }[]).map(({ id }) => id)]).size).toBe(25)
})

test('a webhook is changed, its secret rotated, and it is deleted for good', async () => {
  const { call, clock } = await startApi()
  const { body: made } = await call('POST', '/webhooks', { url: 'https://a.example/' })
  const path = `/webhooks/${made.id}`
  clock.advance(1_000)
  const changed = await call('PATCH', path, { url: 'https://b.example/', events: ['email.sent'], status: 'disabled', description: 'new' })
  expect(changed.body).toMatchObject({ url: 'https://b.example/', events: ['email.sent'], status: 'disabled', disabled_reason: 'manual' })
  expect(changed.body.updated_at).toBe('2026-11-21T06:00:01.000Z')
  expect((await call('PATCH', path, { status: 'enabled' })).body).toMatchObject({
    status: 'enabled',
    disabled_reason: null,
    description: 'new',
  })
  expect((await call('PATCH', path, { events: [] })).status).toBe(422)

  const rotated = await call('POST', `${path}/signing-secret/rotate`)
  expect(rotated.body).toMatchObject({ object: 'webhook', id: made.id, previous_expires_at: '2026-11-22T06:00:01.000Z' })
  expect(rotated.body.signing_secret).not.toBe(made.signing_secret)
  expect(await call('POST', `${path}/rotate-secret`, {})).toMatchObject({ status: 409, body: { name: 'rotation_in_progress' } })
  const forced = await call('POST', `${path}/rotate-secret`, { force: true, overlap_seconds: 0 })
  expect(forced.body.previous_expires_at).toBeNull()
  expect((await call('GET', path)).body.signing_secret).toBe(forced.body.signing_secret)
  expect((await call('POST', `${path}/rotate-secret`, { overlap_seconds: 604_801 })).status).toBe(422)

  expect(await call('DELETE', path)).toMatchObject({ status: 200, body: { object: 'webhook', id: made.id, deleted: true } })
  for (const method of ['GET', 'DELETE']) expect((await call(method, path)).status).toBe(404)
  expect((await call('GET', '/webhooks')).body.data).toEqual([])
})

test('another account, the other mode and lesser keys get nowhere, and learn nothing', async () => {
  const { call, token } = await startApi()
  const { body: made } = await call('POST', '/webhooks', { url: 'https://a.example/' })
  const [other, sandbox, reader, sender] = await Promise.all([
    token({ account: 'other' }),
    token({ sandbox: true }),
    token({ permission: 'read_access' }),
    token({ permission: 'sending_access' }),
  ])
  const routes = [
    'GET ',
    'PATCH ',
    'DELETE ',
    'POST /rotate-secret',
    'POST /signing-secret/rotate',
    'POST /test',
    'POST /replay',
    'GET /deliveries',
    'GET /deliveries/whd_1',
    'POST /deliveries/whd_1/replay',
    'GET /events',
    'GET /events/evt_1',
    'GET /events/evt_1/attempts',
    'POST /events/evt_1/replay',
  ]
  for (const route of routes) {
    const [method = '', rest = ''] = route.split(' ')
    const body = method === 'GET' || method === 'DELETE' ? undefined : { since: '2026-11-21' }
    const statusWith = async (key: string, id: unknown = made.id) => (await call(method, `/webhooks/${id}${rest}`, body, key)).status
    expect([await statusWith(other), await statusWith(sandbox), await statusWith(other, 'wh_none')], route).toEqual([404, 404, 404])
    expect(await statusWith(sender), route).toBe(403)
    if (method !== 'GET') expect(await statusWith(reader), route).toBe(403)
  }
  expect((await call('GET', '/webhooks', undefined, other)).body.data).toEqual([])
})

test('a test posts a sample and tells how it went', async () => {
  const { call } = await startApi()
  const receiver = await startReceiver(status(500, {}, 'not yet'))
  const { body: made } = await call('POST', '/webhooks', { url: receiver.url })
  const failed = await call('POST', `/webhooks/${made.id}/test`)
  expect(failed.body).toMatchObject({ object: 'webhook_test', delivered: false, http_status_code: 500, response: 'not yet', error: null })
  expect(failed.body.duration_ms).toBeGreaterThanOrEqual(0)
  receiver.behave = status(200)
  expect((await call('POST', `/webhooks/${made.id}/test`, { type: 'email.clicked' })).body).toMatchObject({ delivered: true })
  expect(receiver.posts.map(({ headers }) => headers['x-service-event'])).toEqual(['email.delivered', 'email.clicked'])
  expect((await call('POST', `/webhooks/${made.id}/test`, { type: 'email.lost' })).body).toMatchObject({
    name: 'invalid_event_type',
    errors: [{ field: 'type' }],
  })
})

test('who may only read sees neither the query of the URL nor what a receiver that repeats requests has said', async () => {
  const { call, clock, db, webhooks, accounts, token } = await startApi()
  await webhooks.start()
  const receiver = await startReceiver((res, req) => res.writeHead(404).end(`Cannot POST ${req.url} ${req.headers.authorization}`))
  const url = `http://127.0.0.1:${receiver.port}/hook?key=not-for-readers`
  const { body: made } = await call('POST', '/webhooks', { url, basic_auth: { username: 'app', password: 'not-for-readers' } })
  const about = { messageId: 'em_1', recipientId: 'rcp_1', to: 'a@example.com', subject: 'Hello', sandbox: false }
  const event = recordEvent({ accountId: accounts.getAccount('acme').id, ...about }, 'email.delivered', {}, clock.now())
  await db.write([event])
  const path = `/webhooks/${made.id}`
  const deliveries = async () => (await call('GET', `${path}/deliveries`)).body.data as { id: string; attempt_count: number }[]
  await vi.waitFor(async () => expect(await deliveries()).toMatchObject([{ attempt_count: 1 }]), { timeout: 90_000 })
  const eventPath = `${path}/events/${String(event.params?.id)}`
  const paths = [path, '/webhooks', `${path}/deliveries/${(await deliveries())[0]?.id}`, eventPath, `${eventPath}/attempts`]
  const told = async (key?: string) =>
    Promise.all(paths.map(async (each) => JSON.stringify((await call('GET', each, undefined, key)).body).includes('not-for-readers')))
  expect(await told()).toEqual([true, true, true, true, true])
  expect(await told(await token({ permission: 'read_access' }))).toEqual([false, false, false, false, false])
  const seen = await call('GET', path, undefined, await token({ permission: 'read_access' }))
  expect(seen.body).toMatchObject({ url: `http://127.0.0.1:${receiver.port}/hook`, endpoint: `http://127.0.0.1:${receiver.port}/hook` })
})

test('what was posted can be looked up and posted again', async () => {
  const { call, clock, db, webhooks, accounts } = await startApi()
  await webhooks.start()
  const receiver = await startReceiver(status(503, {}, 'down'))
  const { body: made } = await call('POST', '/webhooks', { url: receiver.url, events: ['email.delivered'] })
  const path = `/webhooks/${made.id}`
  const about = { messageId: 'em_1', recipientId: 'rcp_1', to: 'a@example.com', subject: 'Hello', sandbox: false }
  const event = recordEvent(
    { accountId: accounts.getAccount('acme').id, ...about },
    'email.delivered',
    { delivered_at: 'now' },
    clock.now(),
  )
  await db.write([event])
  const eventId = String(event.params?.id)
  const list = async (query: string) => (await call('GET', `${path}/deliveries${query}`)).body.data as { id: string; status: string }[]
  await vi.waitFor(async () => expect(await list('?status=pending')).toMatchObject([{ attempt_count: 1 }]), { timeout: 90_000 })
  const [delivery] = await list('')
  expect(delivery).toEqual({
    object: 'webhook_delivery',
    id: expect.stringMatching(/^whd_[0-9a-z]{26}$/),
    event_id: eventId,
    type: 'email.delivered',
    status: 'pending',
    attempt_count: 1,
    next_attempt_at: '2026-11-21T06:01:00.000Z',
    email_id: 'em_1',
    to: null,
    last_status_code: 503,
    last_duration_ms: expect.any(Number),
    last_error: null,
    created_at: '2026-11-21T06:00:00.000Z',
  })
  const last = { last_status_code: 503, last_at: '2026-11-21T06:00:00.000Z' }
  expect((await call('GET', path)).body).toMatchObject({
    stats: { success: 0, failed: 0, pending: 1, ...last },
    failing_since: '2026-11-21T06:00:00.000Z',
  })
  const attempt = {
    id: expect.stringMatching(/^wha_/),
    http_status_code: 503,
    response: 'down',
    sent_at: '2026-11-21T06:00:00.000Z',
    duration_ms: expect.any(Number),
    error: null,
  }
  const detail = await call('GET', `${path}/deliveries/${delivery?.id}`)
  expect(detail.body).toEqual({
    ...delivery,
    payload: JSON.parse(receiver.posts[0]?.body ?? ''),
    attempts: [attempt],
  })
  const replays = [`${path}/deliveries/${delivery?.id}/replay`, `${path}/events/${eventId}/replay`]
  for (const replay of replays) expect(await call('POST', replay)).toMatchObject({ status: 409, body: { name: 'invalid_state' } })

  clock.advance(60_000)
  await vi.waitFor(async () => expect(await list('?status=failed')).toHaveLength(1), { timeout: 90_000 })
  const range = { since: '2026-11-21', dry_run: true }
  expect((await call('POST', `${path}/replay`, range)).body).toEqual({ object: 'replay', count: 1 })
  expect((await call('POST', `${path}/replay`, { ...range, since: '2026-11-22' })).body).toMatchObject({ count: 0 })
  expect((await call('GET', path)).body.stats).toMatchObject({ success: 0, failed: 1, pending: 0 })
  receiver.behave = status(200)
  for (const [place, replay] of replays.entries()) {
    clock.advance(1_000)
    expect((await call('POST', replay)).body).toMatchObject({ object: 'webhook_event', id: eventId })
    await vi.waitFor(async () => expect(await list('?status=success')).toHaveLength(place + 1), { timeout: 90_000 })
  }
  expect(new Set(receiver.posts.map(({ body }) => body)).size).toBe(1)
  expect((await call('GET', `${path}/events`)).body.data).toEqual([
    { id: eventId, type: 'email.delivered', created_at: expect.any(String), status: 'success' },
  ])
  expect((await call('GET', `${path}/events/${eventId}`)).body).toMatchObject({
    object: 'webhook_event',
    id: eventId,
    payload: { id: eventId },
  })
  const attempts = await call('GET', `${path}/events/${eventId}/attempts?limit=3`)
  expect(attempts.body).toMatchObject({ object: 'list', has_more: true })
  expect((attempts.body.data as { http_status_code: number }[]).map(({ http_status_code: code }) => code)).toEqual([200, 200, 503])
  expect(await list('?type=email.sent')).toEqual([])
  expect(await list(`?event_id=${eventId}&limit=2`)).toHaveLength(2)
  expect((await call('GET', `${path}/deliveries?status=lost`)).status).toBe(422)
  expect((await call('GET', `${path}/deliveries/whd_unknown`)).status).toBe(404)
  expect((await call('GET', `${path}/events/evt_unknown/attempts`)).status).toBe(404)

  expect((await call('POST', `${path}/replay`, { since: '2026-11-21' })).body).toEqual({ object: 'replay', count: 0 })
  expect((await call('POST', `${path}/replay`, { since: 'yesterday' })).body).toMatchObject({ errors: [{ field: 'since' }] })
  expect((await call('POST', `${path}/replay`, {})).body).toMatchObject({ name: 'missing_required_field', errors: [{ field: 'since' }] })
  expect((await call('GET', '/webhooks')).body.data).toMatchObject([
    { stats: { success: 2, failed: 1, pending: 0, last_status_code: 200 }, failing_since: null },
  ])
  await call('PATCH', path, { status: 'disabled' })
  expect(await call('POST', `${path}/replay`, range)).toMatchObject({ status: 200, body: { count: 0 } })
  expect(await call('POST', replays[1] ?? '')).toMatchObject({ status: 409, body: { name: 'invalid_state' } })
})

test('a webhook speaks for another service: with its key, its events, and a password that nobody reads again', async () => {
  const { call, db } = await startApi()
  const basic = { username: 'app', password: 'correct horse' }
  const { body: made } = await call('POST', '/webhooks', { url: 'https://a.example/', payload: 'sendgrid', basic_auth: basic })
  expect(made).toMatchObject({ payload: 'sendgrid', events: [...webhookEventTypes], basic_auth: { username: 'app' } })
  expect(made.public_key).toMatch(/^MFkw[A-Za-z0-9+/]+=*$/)
  expect(JSON.stringify(made)).not.toContain('horse')
  const path = `/webhooks/${made.id}`
  const same = await call('PATCH', path, { description: 'same', basic_auth: null })
  expect(same.body).toMatchObject({ public_key: made.public_key, basic_auth: null })
  await call('PATCH', path, { basic_auth: basic })
  const [row] = await db.read<{ signing_key: Uint8Array; basic_auth: Uint8Array }>('select signing_key, basic_auth from webhook')
  expect(Buffer.from(row?.basic_auth ?? []).includes('horse')).toBe(false)
  await call('POST', `${path}/rotate-secret`)
  const { body: rotated } = await call('GET', path)
  expect(rotated.public_key).toMatch(/^MFkw/)
  expect(rotated.public_key).not.toBe(made.public_key)
  const { body: postal } = await call('PATCH', path, { payload: 'postal' })
  expect(String(postal.public_key).length).toBeGreaterThan(300)
  const { body: own } = await call('PATCH', path, { payload: 'standard', events: null })
  expect(own).toMatchObject({ public_key: null, events: [...publicEventTypes] })
  await call('DELETE', path)
  expect(await db.read('select signing_key, basic_auth from webhook')).toEqual([{ signing_key: null, basic_auth: null }])
})

test('a change and a rotation at the same moment are both kept', async () => {
  const { call, webhooks, apiToken } = await startApi()
  const { body: made } = await call('POST', '/webhooks', { url: 'https://a.example/', payload: 'sendgrid' })
  const path = `/webhooks/${made.id}`
  expect(apiToken).toBeTruthy()
  await Promise.all([
    call('PATCH', path, { description: 'new' }),
    call('POST', `${path}/rotate-secret`),
    call('PATCH', path, { url: 'https://b.example/' }),
  ])
  const { body: after } = await call('GET', path)
  expect(after).toMatchObject({ description: 'new', url: 'https://b.example/' })
  expect(after.public_key).not.toBe(made.public_key)
  await webhooks.list.load()
  expect((await call('GET', path)).body).toEqual(after)
})

test('a sample comes in the shape of the service, and none where that has no word for it', async () => {
  const { call } = await startApi()
  const receiver = await startReceiver(status(200))
  let posted = 0
  for (const payload of serviceShapes) {
    const { body } = await call('POST', '/webhooks', { url: receiver.url, payload })
    for (const type of webhookEventTypes) {
      const { status: code, body: answer } = await call('POST', `/webhooks/${body.id}/test`, { type })
      if (type === 'email.sent' && payload === 'postal') expect(code).toBe(422)
      if (code === 422) expect(answer.message).toContain(`gets no ${type}`)
      else expect({ code, answer }).toMatchObject({ code: 200, answer: { delivered: true } })
      if (code === 200) posted++
    }
  }
  expect(receiver.posts).toHaveLength(posted)
})
