import { expect, test } from 'vitest'
import { domainObject } from '../../../src/senders/sending-domain/domain-object.ts'
import type { Finding } from '../../../src/senders/sending-domain/check-records.ts'
import type { Domain, RecordKind } from '../../../src/senders/sending-domain/domain.ts'
import { beginCheck, domainAfterCheck, nextCheckAt, stopsAt, verifiedByHand } from '../../../src/senders/sending-domain/domain-check.ts'

const hour = 3_600_000
const day = 24 * hour
const kinds: RecordKind[] = ['dkim-rsa', 'dkim-ed25519', 'return-path-mx', 'return-path-spf', 'dmarc']
const keyDefaults = { publicKey: '', state: 'active', seenAt: null, keepUntil: null, createdAt: 0 } as const
const added: Domain = {
  id: 'dom_1',
  accountId: 'acc_1',
  name: 'shop.test',
  status: 'not_started',
  ...domainObject.initial,
  returnPathSeen: false,
  appLinks: {},
  checkedAt: null,
  verifiedAt: null,
  missingSince: null,
  createdAt: 0,
  removedAt: null,
  keys: [
    { id: 'dk_r', selector: 'r', algorithm: 'rsa-sha256', ...keyDefaults },
    { id: 'dk_e', selector: 'e', algorithm: 'ed25519-sha256', ...keyDefaults },
  ],
  records: {},
  revision: 0,
}

const findings = (isPresent: boolean | null, but: Partial<Record<RecordKind, boolean | null>> = {}): Finding[] =>
  kinds.map((kind) => ({ kind, isPresent: kind in but ? (but[kind] ?? null) : isPresent, reason: 'missing', found: null }))
const check = (domain: Domain, now: number, seen: Finding[]): Domain => domainAfterCheck(beginCheck(domain, now), seen, now, 9 * day)
const statuses = (domain: Domain) => kinds.map((kind) => domain.records[kind]?.status)
const verified = check(added, 0, findings(true))

test('all required records found: verified, whatever the others say', () => {
  const domain = check(added, 5, findings(true, { 'dkim-ed25519': false, dmarc: false }))
  expect(domain).toMatchObject({ status: 'verified', verifiedAt: 5, checkedAt: 5, missingSince: null, returnPathSeen: true })
  expect(domain.keys.map(({ seenAt }) => seenAt)).toEqual([5, null])
  expect(statuses(domain)).toEqual(['verified', 'pending', 'verified', 'verified', 'pending'])
})

test.each<RecordKind>(['dkim-rsa', 'return-path-mx', 'return-path-spf'])('without %s it stays pending, and fails after 72 h', (kind) => {
  const pending = check(added, 0, findings(true, { [kind]: false }))
  expect(pending.status).toBe('pending')
  const later = check(pending, 72 * hour - 1, findings(true, { [kind]: false }))
  expect(later).toMatchObject({ status: 'pending', missingSince: 0 })
  const failed = check(later, 72 * hour, findings(true, { [kind]: false }))
  expect(failed.status).toBe('failed')
  expect(failed.records[kind]?.status).toBe('failed')
  const again = check(failed, 80 * hour, findings(true, { [kind]: false }))
  expect(again).toMatchObject({ status: 'pending', missingSince: 80 * hour })
  expect(check(again, 81 * hour, findings(true)).status).toBe('verified')
})

test('a pending domain does not fail because name servers were late after days without power', () => {
  const pending = check(added, 0, findings(false))
  const late = check(pending, 80 * hour, findings(null))
  expect(late.status).toBe('pending')
  expect(nextCheckAt(late)).toBe(86 * hour)
  expect(check(late, 86 * hour, findings(true)).status).toBe('verified')
  expect(check(late, 86 * hour, findings(false)).status).toBe('failed')
})

test('a verified domain that lacks a record keeps sending for 72 h, then fails', () => {
  const lacking = check(verified, hour, findings(true, { 'return-path-mx': false }))
  expect(lacking).toMatchObject({ status: 'verified', missingSince: hour, returnPathSeen: false })
  expect(lacking.records['return-path-mx']?.status).toBe('temporary_failure')
  expect(check(lacking, 73 * hour - 1, findings(true, { 'return-path-mx': false })).status).toBe('verified')
  expect(check(lacking, 73 * hour, findings(true, { 'return-path-mx': false })).status).toBe('failed')
  expect(check(lacking, 73 * hour, findings(true))).toMatchObject({ status: 'verified', missingSince: null, returnPathSeen: true })
})

test('no answer from the DNS never turns a verified domain bad', () => {
  const silent = check(verified, 100 * hour, findings(null))
  expect(silent).toMatchObject({ status: 'verified', missingSince: null, returnPathSeen: true })
  expect(silent.keys).toEqual(verified.keys)
  expect(statuses(silent)).toEqual(statuses(verified))
  const lacking = check(verified, hour, findings(true, { 'dkim-rsa': false }))
  expect(check(lacking, 200 * hour, findings(null)).status).toBe('verified')
})

test('the Ed25519 key stops signing when its record goes, and the domain stays verified', () => {
  const lost = check(verified, hour, findings(true, { 'dkim-ed25519': false }))
  expect(lost).toMatchObject({ status: 'verified', missingSince: null })
  expect(lost.keys[1]?.seenAt).toBeNull()
  expect(lost.records['dkim-ed25519']?.status).toBe('temporary_failure')
})

test('verified by hand: stays so without DNS, until records that were found once go missing', () => {
  const byHand = verifiedByHand(added, 0, 9 * day)
  expect(byHand).toMatchObject({ status: 'verified', verifiedAt: 0, returnPathSeen: false })
  const checked = check(byHand, 500 * hour, findings(false))
  expect(checked).toMatchObject({ status: 'verified', missingSince: null, returnPathSeen: false })
  expect(checked.keys.map(({ seenAt }) => seenAt)).toEqual([0, 0])
  const found = check(checked, 501 * hour, findings(true))
  expect(found.returnPathSeen).toBe(true)
  expect(check(found, 502 * hour, findings(false)).missingSince).toBe(502 * hour)
})

test('when sending stops', () => {
  expect(stopsAt(added)).toBeNull()
  expect(stopsAt(verified)).toBeNull()
  const losing = check(verified, 10 * hour, findings(true, { 'return-path-mx': false }))
  expect(stopsAt(losing)).toBe(82 * hour)
  expect(stopsAt(check(losing, 20 * hour, findings(true)))).toBeNull()
  expect(stopsAt(check(losing, 90 * hour, findings(true, { 'return-path-mx': false })))).toBeNull()
})

test('why a record is not as wanted is kept with it', () => {
  const lost = check(verified, hour, findings(true, { dmarc: false }))
  expect(lost.records['dmarc']).toMatchObject({ status: 'temporary_failure', reason: 'missing' })
  expect(lost.records['dkim-rsa']).toMatchObject({ status: 'verified', reason: null })
  const silent = findings(null).map((finding): Finding => ({ ...finding, reason: 'unreachable' }))
  const unanswered = check(lost, 2 * hour, silent)
  expect(unanswered.records['dmarc']?.reason).toBe('unreachable')
  expect(unanswered.records['dkim-rsa']).toMatchObject({ status: 'verified', reason: null })
})

test('when the next check is due', () => {
  const minute = 60_000
  expect(nextCheckAt(added)).toBe(10 * minute)
  expect(nextCheckAt(check(added, hour, findings(false)))).toBe(hour + 10 * minute)
  expect(nextCheckAt(verified)).toBe(6 * hour)
  expect(nextCheckAt(verifiedByHand(added, hour, 9 * day))).toBe(7 * hour)
  expect(nextCheckAt({ ...added, status: 'failed' })).toBeNull()
})
