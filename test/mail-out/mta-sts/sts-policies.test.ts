import { expect, test } from 'vitest'
import type { Fetched } from '../../../src/mail-out/mta-sts/fetch-sts-policy.ts'
import { heldPolicies, type KnownSts } from '../../../src/mail-out/mta-sts/known-sts.ts'
import { StsPolicies } from '../../../src/mail-out/mta-sts/sts-policies.ts'
import { silentLog } from '../../../src/platform/log.ts'
import { aloneWithChanges } from '../../../src/platform/store/changes.ts'
import type { Database } from '../../../src/platform/store/database.ts'
import { fakeResolver, type FakeNameTable } from '../../support/fake-resolver.ts'
import { keepLargePolicies } from '../../support/keep-sts-policy.ts'
import { testDatabase } from '../../support/test-database.ts'

const domain = 'rcpt.example'
const minute = 60_000
const day = 24 * 60 * minute
const fault = { type: 'sts-policy-fetch-error' as const, reason: 'the server answered with status 500, where only 200 counts' }
const policy = { mode: 'enforce' as const, mx: ['mx.rcpt.example'], maxAgeMs: 7 * day }

/** The policies of one node; `told` is what its delivery threads hear. */
function nodeOver(db: Database, fetch: () => Promise<Fetched> | Fetched = () => ({ policy })) {
  const time = { at: Date.UTC(2026, 10, 28) }
  const zone: FakeNameTable = { [`_mta-sts.${domain}`]: { txt: ['v=STSv1; id=1'] } }
  const told: KnownSts[] = []
  let fetches = 0
  const policies = new StsPolicies({
    db,
    changes: aloneWithChanges,
    clock: { now: () => time.at },
    log: silentLog,
    resolver: fakeResolver(zone),
    fetch: async () => (fetches++, fetch()),
  })
  return { policies, told, time, zone, fetches: () => fetches, follow: () => policies.follow((known) => told.push(known)) }
}

test('fetches of one domain at the same time are one', async () => {
  const node = nodeOver(await testDatabase())
  await node.follow()
  await Promise.all([1, 2, 3].map(() => node.policies.fetch(domain, '1')))
  expect(node.fetches()).toBe(1)
  expect(node.told).toMatchObject([{ domain, id: '1', policy, fault: null }])
})

test('after a fetch that has failed, none is made for five minutes', async () => {
  const node = nodeOver(await testDatabase(), () => ({ fault }))
  await node.follow()
  for (const passed of [0, 1, 4.9 * minute]) {
    node.time.at += passed
    await node.policies.fetch(domain, '1')
  }
  expect(node.fetches()).toBe(1)
  node.time.at += minute
  await node.policies.fetch(domain, '1')
  expect(node.fetches()).toBe(2)
  expect(node.told.at(-1)).toMatchObject({ policy: null, fault })
})

test('a policy is kept when a later fetch fails, and by the next process', async () => {
  const db = await testDatabase()
  let fetched: Fetched = { policy }
  const node = nodeOver(db, () => fetched)
  await node.follow()
  await node.policies.fetch(domain, '1')
  fetched = { fault }
  node.time.at += day
  await node.policies.fetch(domain, '2')
  expect(node.told.at(-1)).toMatchObject({ id: '1', policy, fault })
  const next = nodeOver(db)
  await next.follow()
  expect(next.told).toEqual([node.told.at(-1)])
})

test('of more policies than memory holds, a start reads those used last, and enough for a reader to see that there are more', async () => {
  const db = await testDatabase()
  const node = nodeOver(db)
  await node.policies.fetch(domain, '1')
  await keepLargePolicies({ db }, node.time.at + 1)
  await node.follow()
  const domains = node.told.map((known) => known.domain)
  expect(domains.at(-1)).toBe('large319.example')
  expect(domains).toEqual(Array.from({ length: domains.length }, (_, i) => `large${320 - domains.length + i}.example`))
  const letGo: string[] = []
  const held = heldPolicies((each) => letGo.push(each))
  for (const known of node.told) held.set(known.domain, known)
  expect(letGo[0]).toBe(domains[0])
  expect(held.size).toBeGreaterThan(domains.length * 0.8)
})

test('of two nodes one fetches, and the other waits for what it gets', async () => {
  const db = await testDatabase()
  const { promise, resolve } = Promise.withResolvers<Fetched>()
  const [one, other] = [nodeOver(db, () => promise), nodeOver(db)]
  for (const node of [one, other]) await node.follow()
  const first = one.policies.fetch(domain, '1')
  await expect.poll(one.fetches).toBe(1)
  let isDone = false
  const second = other.policies.fetch(domain, '1').then(() => (isDone = true))
  // Nothing has changed yet.
  await other.policies.reload(domain)
  expect(isDone).toBe(false)
  resolve({ policy })
  await first
  // As the change log does.
  await other.policies.reload(domain)
  await second
  expect([one.fetches(), other.fetches()]).toEqual([1, 0])
  expect(other.told.at(-1)).toMatchObject({ id: '1', policy })
})

test('policies are refreshed daily, or when half of their time is over', async () => {
  let maxAgeMs = 7 * day
  const node = nodeOver(await testDatabase(), () => ({ policy: { ...policy, maxAgeMs } }))
  await node.follow()
  await node.policies.fetch(domain, '1')
  node.time.at += day - 1
  await node.policies.keepUp()
  expect(node.fetches()).toBe(1)
  node.time.at += 1
  maxAgeMs = 4 * 60 * minute
  await node.policies.keepUp()
  expect(node.fetches()).toBe(2)
  node.time.at += 2 * 60 * minute
  await node.policies.keepUp()
  expect(node.fetches()).toBe(3)
})

test('what the DNS announces no more, and what requires nothing, is not refreshed', async () => {
  let mode: 'enforce' | 'none' = 'enforce'
  const node = nodeOver(await testDatabase(), () => ({ policy: { ...policy, mode } }))
  await node.follow()
  await node.policies.fetch(domain, '1')
  node.zone[`_mta-sts.${domain}`] = 'servfail'
  node.time.at += day
  await node.policies.keepUp()
  expect(await node.policies.find(domain)).toMatchObject({ policy, triedAt: node.time.at })
  mode = 'none'
  node.zone[`_mta-sts.${domain}`] = { txt: ['v=STSv1; id=2'] }
  expect(await node.policies.refresh(domain)).toBe('2')
  node.time.at += 2 * day
  await node.policies.keepUp()
  expect(node.fetches()).toBe(2)
})

test('what nobody writes to any more is forgotten, sooner if no policy could be fetched', async () => {
  const db = await testDatabase()
  const node = nodeOver(db)
  await node.follow()
  await node.policies.fetch(domain, '1')
  const failing = nodeOver(db, () => ({ fault }))
  await failing.policies.fetch('other.example', '1')
  const kept = async (after: number) => {
    node.time.at += after
    await node.policies.keepUp()
    return (await db.read<{ domain: string }>('select domain from mta_sts_policy order by domain')).map((row) => row.domain)
  }
  expect(await kept(6 * day)).toEqual(['other.example', domain])
  expect(await kept(2 * day)).toEqual([domain])
  await node.policies.noteUsed(domain)
  expect(await kept(179 * day)).toEqual([domain])
  expect(await kept(2 * day)).toEqual([])
})
