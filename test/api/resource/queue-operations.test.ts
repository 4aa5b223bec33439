import { expect, test } from 'vitest'
import { loadConfig } from '../../../src/platform/config/load-config.ts'
import { explainAddress } from '../../../src/upkeep/doctor/explain-address.ts'
import { explainOperations } from '../../../src/api/resource/explain-operations.ts'
import { queueOperations } from '../../../src/api/resource/queue-operations.ts'
import { settingOperations } from '../../../src/api/resource/setting-operations.ts'
import { newId } from '../../../src/platform/id.ts'
import { QueueAdmin } from '../../../src/mail-out/queue/queue-admin.ts'
import { insertRecipient } from '../../../src/mail-out/queue/queue-store.ts'
import { insertSuppression } from '../../../src/mail/suppression/insert-suppression.ts'
import { startApiServer, type ApiServices } from '../../support/api-server.ts'
import { erasedAddress } from '../../support/erased-address.ts'
import { fakeResolver } from '../../support/fake-resolver.ts'

const minute = 60_000

const config = loadConfig({ env: { STERNA_DELIVERY_PORT: '2525', STERNA_DATA_DIR: '/tmp/x' }, systemHostname: 'relay.example.com' })
const resolver = fakeResolver({
  'a.example': { mx: [[10, 'mx.a.example']] },
  'mx.a.example': { a: ['192.0.2.1'] },
  'none.example': { mx: [[0, '']] },
})
const recipientTls = { 'a.example': 'verify' } as const
const guard = { allowPrivateAddresses: true, ownListeners: [], interfaceAddresses: [] }
const route = { resolver, guard, ownNames: [], port: 25, smarthost: null, random: Math.random }

async function startApi() {
  const api = await startApiServer((services: ApiServices) => {
    const queueAdmin = new QueueAdmin({ ...services, noteWaiting: () => {}, tryNow: () => {} })
    return [
      ...queueOperations({ queueAdmin, queue: { overdueMs: 61_500 } }),
      ...settingOperations({ config }),
      ...explainOperations({
        explain: (address) =>
          explainAddress(address, {
            db: services.db,
            clock: services.clock,
            queueAdmin,
            route,
            erasedAddress,
            recipientTls,
            sources: [],
            stsPolicies: null,
            smarthosts: { list: () => [] },
            smarthostRoutes: { list: () => [], choicesFor: () => null },
          }),
      }),
    ]
  })
  const owner = await api.token()
  const operator = await api.token({ permission: 'operator' })
  const { id: accountId } = api.accounts.getAccount('acme')
  const wait = async (destination: string) => {
    const [messageId, id] = [newId('em', api.clock.now()), newId('rcp', api.clock.now())]
    await api.db.write([
      {
        sql: `insert into message (id, account_id, source, sandbox, header_from, header_to, header_cc, reply_to, subject,
                                   message_id_header, size, body_type, smtputf8, tags, metadata, created_at)
              values (:messageId, :accountId, 'api', 0, '', '[]', '[]', '[]', '', '', 0, '7bit', 0, '[]', '{}', 0)`,
        params: { messageId, accountId },
      },
      insertRecipient({
        id,
        message_id: messageId,
        account_id: accountId,
        destination,
        forward_path: `ann@${destination}`,
        type: 'to',
        notify: null,
        orcpt: null,
        state: 'deferred',
        due_at: api.clock.now() + minute,
        urgent: 0,
        owner: null,
        expires_at: api.clock.now() + 60 * minute,
      }),
    ])
    return { id, messageId }
  }
  const call = (method: string, path: string, token = operator) => api.request(method, `/api/${path}`, { token })
  return { ...api, owner, accountId, wait, call }
}

test('what waits is listed by destination, read, held, released, tried and given up', async () => {
  const { call, wait, accountId } = await startApi()
  const { id, messageId } = await wait('a.example')
  await wait('b.example')
  const entry = {
    object: 'queue_destination',
    destination: 'a.example',
    waiting: 1,
    due: 0,
    in_hand: 0,
    held: 0,
    oldest_at: '2026-11-21T06:00:00.000Z',
    next_attempt_at: '2026-11-21T06:01:00.000Z',
    last_response: null,
  }
  expect((await call('GET', 'queue?limit=1')).body).toEqual({ object: 'list', has_more: true, data: [entry], overdue_seconds: 61 })
  expect((await call('GET', 'queue?after=a.example')).body).toMatchObject({ has_more: false, data: [{ destination: 'b.example' }] })
  expect((await call('GET', 'queue/A.example')).body).toEqual({
    ...entry,
    recipients: [
      {
        id,
        email_id: messageId,
        account_id: accountId,
        to: 'ann@a.example',
        status: 'deferred',
        attempts: 0,
        held: false,
        in_hand: false,
        next_attempt_at: '2026-11-21T06:01:00.000Z',
        expires_at: '2026-11-21T07:00:00.000Z',
        last_response: null,
      },
    ],
  })
  const done = { object: 'queue_change', destination: 'a.example', recipients: 1 }
  expect((await call('POST', 'queue/a.example/hold')).body).toEqual(done)
  expect(await call('POST', 'queue/a.example/hold')).toMatchObject({ status: 409, body: { name: 'invalid_state' } })
  expect((await call('GET', 'queue/a.example')).body).toMatchObject({ held: 1, next_attempt_at: null })
  expect((await call('POST', 'queue/a.example/release')).body).toEqual(done)
  expect((await call('POST', 'queue/a.example/retry')).body).toEqual(done)
  expect((await call('GET', 'queue/a.example')).body).toMatchObject({ due: 1 })
  expect((await call('POST', 'queue/a.example/bounce')).body).toEqual({ ...done, has_more: false })
  expect(await call('GET', 'queue/a.example')).toMatchObject({ status: 404, body: { name: 'not_found' } })
  for (const verb of ['hold', 'release', 'retry', 'bounce']) {
    for (const name of ['a.example', messageId]) expect((await call('POST', `queue/${name}/${verb}`)).status).toBe(404)
  }
})

test('the settings in force are told with where they were given', async () => {
  const { call } = await startApi()
  const { body } = await call('GET', 'settings')
  const settings = body.data as { name: string }[]
  const named = (name: string) => settings.find((setting) => setting.name === name)
  expect(named('delivery.port')).toMatchObject({ value: 2525, origin: 'environment', place: 'STERNA_DELIVERY_PORT' })
  expect(named('hostname')).toMatchObject({
    value: 'relay.example.com',
    origin: 'default',
    place: null,
    environment_name: 'STERNA_HOSTNAME',
  })
  expect(named('plans')).toMatchObject({ value: { free: 100, starter: 500, professional: 2000, enterprise: 10_000 } })
})

test('what would happen to mail for an address is explained', async () => {
  const { call, db, accountId, wait } = await startApi()
  await wait('a.example')
  const entry = { address: 'ann@a.example', origin: 'bounce' as const, sourceId: null, reason: '550 gone', createdAt: 0 }
  await db.write([insertSuppression({ accountId, sandbox: false }, entry)])
  expect((await call('GET', 'explain?to=Ann@A.example')).body).toEqual({
    object: 'explanation',
    to: 'Ann@a.example',
    destination: 'a.example',
    next: 'deliver',
    reason: null,
    route: {
      hosts: [{ name: 'mx.a.example', address: '192.0.2.1', port: 25 }],
      via_smarthost: false,
      route_id: null,
      depends_on_sender: false,
    },
    tls: { policy: 'verify', mta_sts: null, enforced_by: [] },
    suppressions: [
      { account_id: accountId, account: 'acme', origin: 'bounce', topic: null, reason: '550 gone', created_at: '1970-01-01T00:00:00.000Z' },
    ],
    queue: expect.objectContaining({ destination: 'a.example', waiting: 1 }),
  })
  await call('POST', 'queue/a.example/hold')
  expect((await call('GET', 'explain?to=bob@a.example')).body).toMatchObject({ next: 'hold', suppressions: [] })
  expect((await call('GET', 'explain?to=bob@none.example')).body).toMatchObject({
    next: 'bounce',
    reason: expect.stringContaining('null MX'),
    route: { hosts: [] },
    queue: null,
  })
  expect((await call('GET', 'explain?to=bob@nowhere.example')).body).toMatchObject({
    next: 'defer',
    reason:
      '4.1.2 the domain nowhere.example does not exist, say the name servers; they would be asked again after 15 minutes, before it bounces',
  })
  expect((await call('GET', 'explain?to=delivered@simulator.test')).body).toMatchObject({ next: 'simulate' })
  for (const query of ['', '?to=ann', '?to='])
    expect(await call('GET', `explain${query}`)).toMatchObject({ status: 422, body: { name: 'invalid_parameter' } })
})

test('only an operator gets at any of it', async () => {
  const { call, owner } = await startApi()
  for (const path of ['queue', 'queue/a.example', 'settings', 'explain?to=a@b.example'])
    expect((await call('GET', path, owner)).status).toBe(403)
  for (const verb of ['hold', 'release', 'retry', 'bounce']) expect((await call('POST', `queue/a.example/${verb}`, owner)).status).toBe(403)
})

test('the longest queues come first if asked for, and all are counted together', async () => {
  const { call, wait, owner } = await startApi()
  expect((await call('GET', 'queue/totals')).body).toEqual({
    object: 'queue_totals',
    waiting: 0,
    due: 0,
    in_hand: 0,
    held: 0,
    oldest_at: null,
  })
  for (const destination of ['a.example', 'b.example', 'c.example', 'b.example', 'c.example', 'c.example']) await wait(destination)
  await call('POST', 'queue/b.example/hold')
  await call('POST', 'queue/a.example/retry')
  const { body } = await call('GET', 'queue?order=waiting&limit=2')
  expect(body).toMatchObject({
    has_more: true,
    data: [
      { destination: 'c.example', waiting: 3 },
      { destination: 'b.example', waiting: 2, held: 2 },
    ],
  })
  expect((await call('GET', 'queue/totals')).body).toEqual({
    object: 'queue_totals',
    waiting: 6,
    due: 1,
    in_hand: 0,
    held: 2,
    oldest_at: '2026-11-21T06:00:00.000Z',
  })
  expect(await call('GET', 'queue?order=waiting&after=b.example')).toMatchObject({ status: 422, body: { name: 'invalid_parameter' } })
  expect((await call('GET', 'queue/totals', owner)).status).toBe(403)
})
