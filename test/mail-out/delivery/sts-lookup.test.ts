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
  const ask = (name: string, id: string | null): void => {
    asked.push(`${name} ${id}`)
    if (name === domain) lookup.learn(stored)
    setImmediate(() => lookup.answered(name, id))
  }
  const lookup = new StsLookup({ resolver: fakeResolver(zone), ask, noteUsed: () => {} })
  const fillMemory = (): void => {
    for (const large of largePolicies(at)) lookup.learn(large)
  }
  return { lookup, asked, fillMemory }
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
