import type { Finding } from './check-records.ts'
import {
  type Domain,
  type DomainKey,
  isSystemDomain,
  type RecordKind,
  type RecordState,
  type RecordStatus,
  requiredKindsOf,
  wasFound,
} from './domain.ts'
import { finishRotation, recordKindOf } from './key-rotation.ts'

const minute = 60_000
const hour = 60 * minute

/** How long a pending domain may take, and how long a verified one may lack a record. */
const graceMs = 72 * hour
/** How long the records of new keys are checked more often. */
const rotationMs = 24 * hour

/** When to check the domain unasked (epoch, ms); null: only when its owner asks. */
export function nextCheckAt(domain: Domain): number | null {
  switch (domain.status) {
    case 'not_started':
    case 'pending':
      return (domain.checkedAt ?? domain.createdAt) + pendingWait(domain)
    case 'verified':
      return (domain.checkedAt ?? domain.verifiedAt ?? domain.createdAt) + (isFreshlyRotating(domain) ? 2 * minute : 6 * hour)
    case 'failed':
      return null
  }
}

/** When mail from a verified domain that lacks records is no longer sent, unless they come back (epoch, ms); null if it lacks none. */
export const stopsAt = (domain: Domain): number | null =>
  domain.status === 'verified' && domain.missingSince !== null && !isSystemDomain(domain) ? domain.missingSince + graceMs : null

/** What could not be told in time, because name servers do not answer, is asked less often from then on. */
function pendingWait(domain: Domain): number {
  if (isSystemDomain(domain)) return hour
  return domain.checkedAt !== null && domain.missingSince !== null && domain.checkedAt - domain.missingSince >= graceMs
    ? 6 * hour
    : 10 * minute
}

const isFreshlyRotating = (domain: Domain): boolean =>
  domain.keys.some(({ state, createdAt }) => state === 'next' && (domain.checkedAt ?? 0) < createdAt + rotationMs)

/** Starts a check: records that were not requested yet, or failed, become pending. */
export const beginCheck = (domain: Domain, now: number): Domain =>
  domain.status === 'not_started' || domain.status === 'failed' ? { ...domain, status: 'pending', missingSince: now } : domain

/**
 * Verified without looking: both keys sign, new ones take over, and the return path keeps its state. `keepOldKeysMs`: see
 * `domainAfterCheck`.
 */
export function verifiedByHand(domain: Domain, now: number, keepOldKeysMs: number): Domain {
  const keys = domain.keys.map((key) => (key.state === 'retired' ? key : { ...key, seenAt: now }))
  return finishRotation({ ...domain, status: 'verified', verifiedAt: now, missingSince: null, keys }, now, keepOldKeysMs)
}

/**
 * What a check changes about a pending or verified domain. No answer from the DNS makes nothing worse. Only a record that was found
 * before can go missing, so a manually verified domain does not lose what it never had.
 * @param keepOldKeysMs how long the records of replaced keys must stay
 */
export function domainAfterCheck(domain: Domain, findings: Finding[], now: number, keepOldKeysMs: number): Domain {
  const checked = finishRotation(withFindings(domain, findings, now), now, keepOldKeysMs)
  const { records } = checked
  const since = domain.missingSince ?? now
  // Nobody has to publish the records of the server's own domain: without them its mail leaves unsigned.
  const isOverdue = !isSystemDomain(domain) && now - since >= graceMs
  const isCertain = (of: readonly RecordKind[]): boolean => findings.some(({ kind, isPresent }) => isPresent === false && of.includes(kind))
  if (domain.status === 'verified') {
    const missing = requiredKindsOf(domain).filter((kind) => records[kind]?.status === 'temporary_failure')
    if (missing.length === 0) return { ...checked, missingSince: null }
    return isOverdue && isCertain(missing) ? failed(checked) : { ...checked, missingSince: since }
  }
  if (requiredKindsOf(domain).every((kind) => records[kind]?.status === 'verified')) {
    return { ...checked, status: 'verified', verifiedAt: now, missingSince: null }
  }
  return isOverdue && isCertain(requiredKindsOf(domain)) ? failed(checked) : { ...checked, status: 'pending', missingSince: since }
}

function withFindings(domain: Domain, findings: Finding[], now: number): Domain {
  const records = { ...domain.records }
  for (const finding of findings) records[finding.kind] = recordAfter(domain, finding, now)
  return {
    ...domain,
    checkedAt: now,
    keys: domain.keys.map((key) => keyAfter(domain, key, { findings, now })),
    returnPathSeen: records['return-path-mx']?.status === 'verified' && records['return-path-spf']?.status === 'verified',
    records,
  }
}

function failed(domain: Domain): Domain {
  const records = { ...domain.records }
  for (const kind of requiredKindsOf(domain)) {
    const record = records[kind]
    if (record && record.status !== 'verified') records[kind] = { ...record, status: 'failed' }
  }
  return { ...domain, status: 'failed', records }
}

function recordAfter(domain: Domain, { kind, isPresent, reason, found }: Finding, now: number): RecordState {
  const before = domain.records[kind]
  if (isPresent === null) {
    const status: RecordStatus = before && before.status !== 'not_started' ? before.status : 'pending'
    return { status, reason: status === 'verified' ? null : reason, found: before?.found ?? null, checkedAt: now }
  }
  if (isPresent) return { status: 'verified', reason: null, found, checkedAt: now }
  const isLost = domain.status === 'verified' && wasFound(domain, kind)
  return { status: isLost ? 'temporary_failure' : 'pending', reason, found, checkedAt: now }
}

function keyAfter(domain: Domain, key: DomainKey, { findings, now }: { findings: Finding[]; now: number }): DomainKey {
  const kind = recordKindOf(key)
  if (kind === null) return key
  const isPresent = findings.find((finding) => finding.kind === kind)?.isPresent ?? null
  if (isPresent === true) return { ...key, seenAt: now }
  return isPresent === false && wasFound(domain, kind) ? { ...key, seenAt: null } : key
}
