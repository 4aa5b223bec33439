import { expect, test } from 'vitest'
import { domainObject } from '../../../src/senders/sending-domain/domain-object.ts'
import type { Domain, DomainKey, RecordState } from '../../../src/senders/sending-domain/domain.ts'
import { beginRotation, finishRotation, isRotating, isSigning, withoutOldKeys } from '../../../src/senders/sending-domain/key-rotation.ts'

const key = (id: string, algorithm: DomainKey['algorithm'], seenAt: number | null): DomainKey => ({
  id,
  selector: id,
  algorithm,
  publicKey: id,
  state: 'active',
  seenAt,
  keepUntil: null,
  createdAt: 0,
})
const found: RecordState = { status: 'verified', reason: null, found: null, checkedAt: 0 }
const verified: Domain = {
  id: 'dom_1',
  accountId: 'acc_1',
  name: 'shop.test',
  status: 'verified',
  ...domainObject.initial,
  returnPathSeen: true,
  appLinks: {},
  checkedAt: 0,
  verifiedAt: 0,
  missingSince: null,
  createdAt: 0,
  removedAt: null,
  keys: [key('r1', 'rsa-sha256', 1), key('e1', 'ed25519-sha256', 1)],
  records: { 'dkim-rsa': found, 'dkim-ed25519': found, dmarc: found },
  revision: 0,
}
const fresh = [key('r2', 'rsa-sha256', null), key('e2', 'ed25519-sha256', null)]
const states = ({ keys }: Domain) => keys.map(({ id, state }) => `${id} ${state}`)
const seen = (domain: Domain, ...ids: string[]): Domain => ({
  ...domain,
  keys: domain.keys.map((entry) => (ids.includes(entry.id) ? { ...entry, seenAt: 5 } : entry)),
})
const signing = (domain: Domain) => domain.keys.filter(isSigning).map(({ id }) => id)

test('new keys take over once the successor of each that signs is seen', () => {
  const begun = beginRotation(verified, fresh)
  expect(states(begun)).toEqual(['r1 active', 'e1 active', 'r2 next', 'e2 next'])
  expect(signing(begun)).toEqual(['r1', 'e1'])
  for (const ids of [[], ['r2'], ['e2']]) expect(finishRotation(seen(begun, ...ids), 7, 100)).toEqual(seen(begun, ...ids))
  const done = finishRotation(
    { ...seen(begun, 'r2', 'e2'), records: { ...verified.records, 'next-dkim-rsa': { ...found, found: 'new' } } },
    7,
    100,
  )
  expect(states(done)).toEqual(['r2 active', 'e2 active', 'r1 retired', 'e1 retired'])
  expect(signing(done)).toEqual(['r2', 'e2'])
  expect(done.records).toEqual({ 'dkim-rsa': { ...found, found: 'new' }, dmarc: found })
  expect(isRotating(done)).toBe(false)
  expect(states(withoutOldKeys(done, 106))).toEqual(states(done))
  expect(states(withoutOldKeys(done, 107))).toEqual(['r2 active', 'e2 active'])
})

test('an Ed25519 key that does not sign waits for no successor', () => {
  const begun = beginRotation({ ...verified, keys: [key('r1', 'rsa-sha256', 1), key('e1', 'ed25519-sha256', null)] }, fresh)
  const done = finishRotation(seen(begun, 'r2'), 7, 100)
  expect(states(done)).toEqual(['r2 active', 'e2 active', 'r1 retired', 'e1 retired'])
  expect(signing(done)).toEqual(['r2'])
})

test('of a domain that never was verified the keys are replaced at once', () => {
  const replaced = beginRotation({ ...verified, status: 'pending', verifiedAt: null }, fresh)
  expect(states(replaced)).toEqual(['r2 active', 'e2 active'])
  expect(replaced.records).toEqual({ dmarc: found })
})

test('keys that wait make room for others', () => {
  const begun = beginRotation(seen(beginRotation(verified, fresh), 'r2'), [
    key('r3', 'rsa-sha256', null),
    key('e3', 'ed25519-sha256', null),
  ])
  expect(states(begun)).toEqual(['r1 active', 'e1 active', 'r3 next', 'e3 next'])
})
