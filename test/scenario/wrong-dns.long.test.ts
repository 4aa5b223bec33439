import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { startFakeDns, type FakeDns, type FakeEntry, type FakeRecords, type FakeZone } from '../support/fake-dns.ts'
import { startFakeMx, type FakeMx } from '../support/fake-mx.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

const minute = 60_000
/** What the second look comes after at the latest: a quarter of an hour, and the tenth by which retries are spread. */
const secondLook = 16.5 * minute
const live = Array.from({ length: 60 }, (_, i) => `live${i}.example`)
let mx: FakeMx

beforeAll(async () => {
  mx = await startFakeMx({ host: '127.0.3.1' })
})
afterAll(() => mx.close())

const taking: FakeEntry = { mx: [[10, 'mx.hosts.example']] }
const zoneOf = (names: string[]): FakeZone => ({
  ...Object.fromEntries(names.map((name) => [name, taking])),
  'mx.hosts.example': { a: [mx.host] },
})

async function relayWith(zone: FakeZone, settings: Record<string, string> = {}): Promise<TestRelay> {
  const relay = await startTestRelay({ delivery_port: String(mx.port), ...settings }, zone)
  onTestFinished(() => relay.stop())
  return relay
}

async function nameServer(zone: FakeZone, otherwise: () => FakeEntry | undefined = () => undefined): Promise<FakeDns> {
  const dns = await startFakeDns(zone, otherwise)
  onTestFinished(() => dns.close())
  return dns
}

/** Of all recipients: how many are in each state. */
async function states({ relay }: TestRelay): Promise<Record<string, number>> {
  const rows = await relay.services.db.read<{ state: string; recipients: number }>(
    'select state, count(*) as recipients from recipient group by state',
  )
  return Object.fromEntries(rows.map(({ state, recipients }) => [state, recipients]))
}

const become = (relay: TestRelay, expected: Record<string, number>): Promise<void> => expect.poll(() => states(relay)).toEqual(expected)

/** All that is not delivered has been tried so often, and is in nobody's hand. */
const tried = (relay: TestRelay, attempts: number): Promise<void> =>
  expect
    .poll(() => relay.relay.services.db.read(`select distinct attempts, owner from recipient where state <> 'delivered'`), {
      timeout: 90_000,
    })
    .toEqual([{ attempts, owner: null }])

const suppressed = ({ relay }: TestRelay): Promise<unknown[]> => relay.services.db.read('select address from suppression')
const faults = async (relay: TestRelay): Promise<string[]> =>
  (await relay.call('GET', '/healthz')).body.faults.map(({ name }: { name: string }) => name)
const sendToAll = (relay: TestRelay, names: string[]): Promise<string[]> => Promise.all(names.map((name) => relay.send(`ann@${name}`)))

async function bounceOf(relay: TestRelay, id: string): Promise<Record<string, unknown>> {
  const { body } = await relay.call('GET', `/api/emails/${id}/events?limit=100`)
  return body.data.find(({ type }: { type: string }) => type === 'email.bounced').data
}

describe('a minute of wrong answers bounces nobody and suppresses nobody', () => {
  test.each<[string, FakeEntry]>([
    ['no domain exists', 'nxdomain'],
    ['no domain has any record', {}],
    ['every domain is at an address that mail is not sent to', { a: ['0.0.0.0'] }],
    ['nothing, but an error', 'servfail'],
  ])('%s', async (_, wrong) => {
    const relay = await relayWith(zoneOf(live))
    const right = { ...relay.dns.zone }
    for (const name of live) relay.dns.zone[name] = wrong
    await sendToAll(relay, live)
    await become(relay, { deferred: live.length })
    Object.assign(relay.dns.zone, right)
    // A SERVFAIL is remembered for some seconds by the real clock.
    if (wrong === 'servfail') await relay.restart()
    relay.clock.advance(secondLook)
    await become(relay, { delivered: live.length })
    expect(await suppressed(relay)).toEqual([])
    expect(await faults(relay)).toEqual([])
  })
})

test('name servers that are wrong for hours are told to the operator, and nothing bounces until they are right again', async () => {
  const relay = await relayWith(zoneOf(live))
  const right = { ...relay.dns.zone }
  await sendToAll(relay, live)
  await become(relay, { delivered: live.length })
  expect(await faults(relay)).toEqual([])
  for (const name of live) relay.dns.zone[name] = 'nxdomain'
  await sendToAll(relay, [...live, 'dead.example'])
  for (let looks = 1; looks <= 20; looks++) {
    await tried(relay, looks)
    expect(await faults(relay)).toEqual(['resolver_suspect'])
    relay.clock.advance(secondLook)
  }
  await tried(relay, 21)
  expect(await states(relay)).toEqual({ delivered: live.length, deferred: live.length + 1 })
  Object.assign(relay.dns.zone, right)
  relay.clock.advance(secondLook)
  await expect.poll(() => states(relay)).toMatchObject({ delivered: 2 * live.length })
  expect(await faults(relay)).toEqual([])
  // The one domain that is dead indeed.
  relay.clock.advance(secondLook)
  await become(relay, { delivered: 2 * live.length, bounced: 1 })
  expect(await suppressed(relay)).toEqual([])
})

test('a domain that does not exist is looked up twice, a quarter of an hour apart, then its mail bounces hard and suppresses nobody', async () => {
  const relay = await relayWith({})
  const id = await relay.send('ann@dead.example')
  await become(relay, { deferred: 1 })
  const { body } = await relay.call('GET', `/api/emails/${id}/events`)
  const [deferred] = body.data.filter(({ type }: { type: string }) => type === 'email.deferred')
  const nextAt = Date.parse(deferred.data.next_attempt_at)
  expect(nextAt - relay.clock.now()).toBeGreaterThanOrEqual(15 * minute)
  expect(deferred.data.reason).toBe(
    `4.1.2 the domain dead.example does not exist, say the name servers; they are asked again at ${deferred.data.next_attempt_at}, before it bounces`,
  )
  // Whoever has it tried sooner finds nothing out.
  relay.clock.advance(10 * minute)
  await relay.relay.services.queueAdmin.retry('dead.example')
  await expect.poll(async () => (await relay.recipients(id))['ann@dead.example']?.attempts).toBe(2)
  await become(relay, { deferred: 1 })
  relay.clock.advance(secondLook - 10 * minute)
  await become(relay, { bounced: 1 })
  expect(await bounceOf(relay, id)).toMatchObject({
    bounce_type: 'hard',
    bounce_category: 'domain_not_found',
    enhanced_status: '5.1.2',
    reason: '5.1.2 the domain dead.example does not exist',
  })
  expect(await suppressed(relay)).toEqual([])
  expect(await faults(relay)).toEqual([])
  const explained = (await relay.call('GET', `/api/emails/${id}/attempts`)).body.data
  expect(explained.map(({ outcome }: { outcome: string }) => outcome).toSorted()).toEqual(['bounced', 'deferred', 'deferred'])
})

test('each mail has its own quarter of an hour, which a restart neither shortens nor begins anew', async () => {
  const relay = await relayWith({})
  const first = await relay.send('ann@dead.example')
  await become(relay, { deferred: 1 })
  relay.clock.advance(14 * minute)
  const second = await relay.send('bob@dead.example')
  await become(relay, { deferred: 2 })
  await relay.restart()
  relay.clock.advance(secondLook - 14 * minute)
  await become(relay, { bounced: 1, deferred: 1 })
  expect((await relay.recipients(first))['ann@dead.example']?.status).toBe('bounced')
  relay.clock.advance(14 * minute)
  await become(relay, { bounced: 2 })
  expect((await relay.recipients(second))['bob@dead.example']?.status).toBe('bounced')
})

test('mail whose time ends before the second look bounces softly, as expired', async () => {
  const relay = await relayWith({}, { suppression_soft_bounces: '1' })
  const id = await relay.send('ann@dead.example', { expires_in: 300 })
  await become(relay, { deferred: 1 })
  expect((await relay.recipients(id))['ann@dead.example']?.last_response).toMatch(/its time ends before they are asked again$/)
  relay.clock.advance(5 * minute)
  await become(relay, { bounced: 1 })
  expect(await bounceOf(relay, id)).toMatchObject({ bounce_type: 'soft', bounce_category: 'expired' })
  expect(await suppressed(relay)).toEqual([])
})

describe('two name servers', () => {
  test.each<[string, FakeEntry]>([
    ['says for ever that no domain exists', 'nxdomain'],
    ['says that all have no mail server', {}],
    ['says that all are at an address that mail is not sent to', { a: ['0.0.0.0'] }],
  ])('of which the first %s: mail is delivered by what the other one knows, and bounces where both know nothing', async (_, wrong) => {
    const liar = await nameServer({}, () => wrong)
    const honest = await nameServer(zoneOf(live))
    const relay = await relayWith({}, { dns_servers: `${liar.server},${honest.server}` })
    await sendToAll(relay, [...live.slice(0, 5), 'dead.example'])
    await become(relay, { deferred: 6 })
    relay.clock.advance(secondLook)
    await become(relay, { delivered: 5, bounced: 1 })
    expect(await suppressed(relay)).toEqual([])
  })

  test('of which one does not answer: what the other one alone denies does not bounce', async () => {
    const liar = await nameServer({})
    const dead = await startFakeDns()
    await dead.close()
    const relay = await relayWith({}, { dns_servers: `${liar.server},${dead.server}` })
    const id = await relay.send('ann@live.example')
    await tried(relay, 1)
    relay.clock.advance(secondLook)
    await tried(relay, 2)
    expect((await relay.recipients(id))['ann@live.example']).toMatchObject({
      status: 'deferred',
      last_response: '4.4.3 only one of the name servers could tell where mail for live.example goes',
    })
  })
})

test('name servers that do not find the sender either are not believed about a recipient', async () => {
  const relay = await relayWith(zoneOf(['live.example']))
  const { body } = await relay.call('GET', '/api/domains/sender.example')
  for (const { name, type, value, priority } of body.records) {
    const entry = (relay.dns.zone[name] ??= {}) as FakeRecords
    if (type === 'TXT') entry.txt = [...(entry.txt ?? []), value]
    if (type === 'MX') entry.mx = [[priority, value]]
  }
  await relay.relay.services.sendingDomains.verify(body.id)
  const right = { ...relay.dns.zone }
  for (const name of Object.keys(right)) relay.dns.zone[name] = 'nxdomain'
  const id = await relay.send('ann@live.example')
  await tried(relay, 1)
  relay.clock.advance(secondLook)
  await tried(relay, 2)
  expect((await relay.recipients(id))['ann@live.example']).toMatchObject({
    status: 'deferred',
    last_response: "4.4.3 the name servers do not even find the sender's send.sender.example, so they are not believed about live.example",
  })
  Object.assign(relay.dns.zone, right)
  relay.clock.advance(secondLook)
  await become(relay, { delivered: 1 })
  // Of the sender they know, so they are believed about another.
  await relay.send('ann@dead.example')
  await become(relay, { delivered: 1, deferred: 1 })
  relay.clock.advance(secondLook)
  await become(relay, { delivered: 1, bounced: 1 })
})
