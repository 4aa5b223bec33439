import { expect, test } from 'vitest'
import { StsLookup } from '../../../src/mail-out/delivery/sts-lookup.ts'
import type { KnownSts } from '../../../src/mail-out/mta-sts/known-sts.ts'
import { fakeResolver, type FakeNameTable } from '../../support/fake-resolver.ts'
import { largePolicies } from '../../support/keep-sts-policy.ts'

const at = Date.UTC(2026, 10, 28)
const domain = 'rcpt.example'
const policy = { mode: 'enforce' as const, mx: ['mx.rcpt.example'], maxAgeMs: 604_800_000 }
const stored: KnownSts = { domain, policy, id: '1', fetchedAt: at, triedAt: at, fault: null, usedAt: at }

/** What a thread knows, and what it has asked for; only `stored` is in the store. */
function threadOver(zone: FakeNameTable) {
  const asked: string[] = []
  const store = { isReadable: true }
  const ask = (name: string, id: string | null): void => {
    asked.push(`${name} ${id}`)
    if (name === domain && store.isReadable) lookup.learn(stored)
    setImmediate((isRead) => lookup.answered(name, id, isRead), store.isReadable)
  }
  const lookup = new StsLookup({ resolver: fakeResolver(zone), ask, noteUsed: () => {} })
  const fillMemory = (): void => {
    for (const large of largePolicies(at)) lookup.learn(large)
  }
  return { lookup, asked, store, fillMemory }
}

test.each<[string, FakeNameTable[string]]>([
  ['is announced', { txt: ['v=STSv1; id=1'] }],
  ['cannot be looked up', 'servfail'],
  ['is announced no more', 'nxdomain'],
])('a policy that memory had no room for holds if it %s', async (_, record) => {
  const { lookup, asked, fillMemory } = threadOver({ [`_mta-sts.${domain}`]: record })
  lookup.learn(stored)
  expect(await lookup.policyOf(domain, at)).toEqual(policy)
  expect(asked).toEqual([])
  // Less than a minute after a look-up.
  fillMemory()
  expect(await lookup.policyOf(domain, at + 1)).toEqual(policy)
  // After more than a minute.
  fillMemory()
  expect(await lookup.policyOf(domain, at + 120_000)).toEqual(policy)
  // It went while a route was looked for.
  fillMemory()
  expect(await lookup.policyAnew(domain, at + 120_001)).toEqual(policy)
  expect(asked).toEqual(Array.from({ length: 3 }, () => `${domain} null`))
})

test('the store is asked about a domain without a policy only if memory had no room for all, and once a minute', async () => {
  const { lookup, asked, fillMemory } = threadOver({})
  expect(await lookup.policyOf('other.example', at)).toBe(null)
  expect(asked).toEqual([])
  fillMemory()
  for (const passed of [60_000, 60_001, 119_999]) expect(await lookup.policyOf('other.example', at + passed)).toBe(null)
  expect(asked).toEqual(['other.example null'])
})

test('while the store cannot be read, a policy that is known holds, and of others nobody can tell', async () => {
  const { lookup, asked, store, fillMemory } = threadOver({ [`_mta-sts.${domain}`]: { txt: ['v=STSv1; id=2'] } })
  lookup.learn(stored)
  store.isReadable = false
  expect(await lookup.policyOf(domain, at + 600_000)).toEqual(policy)
  expect(asked).toEqual([`${domain} 2`])
  fillMemory()
  for (const passed of [1, 2]) expect(await lookup.policyOf(domain, at + 600_000 + passed)).toBe('unreadable')
  expect(await lookup.policyAnew(domain, at + 600_003)).toBe('unreadable')
  store.isReadable = true
  expect(await lookup.policyOf(domain, at + 600_004)).toEqual(policy)
})

test('what the store cannot keep is not taken for nothing', async () => {
  const { lookup, store } = threadOver({ '_mta-sts.other.example': { txt: ['v=STSv1; id=1'] } })
  store.isReadable = false
  expect(await lookup.policyOf('other.example', at)).toBe('unreadable')
})
