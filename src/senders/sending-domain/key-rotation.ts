import type { Domain, DomainKey, KeyState, RecordKind } from './domain.ts'

/** True while keys wait for their records to be found. */
export const isRotating = ({ keys }: Domain): boolean => keys.some(({ state }) => state === 'next')

/** The record that shows the key; null for a retired one, which is no longer looked up. */
export function recordKindOf({ algorithm, state }: DomainKey): RecordKind | null {
  if (state === 'retired') return null
  const kind = algorithm === 'rsa-sha256' ? 'dkim-rsa' : 'dkim-ed25519'
  return state === 'next' ? `next-${kind}` : kind
}

const placeOf: Record<KeyState, number> = { active: 0, next: 1, retired: 2 }

/** Active ones first, and RSA first within each state. */
export const inKeyOrder = (keys: DomainKey[]): DomainKey[] =>
  keys.toSorted(
    (a, b) =>
      placeOf[a.state] - placeOf[b.state] || (a.algorithm === b.algorithm ? (a.id < b.id ? -1 : 1) : a.algorithm < b.algorithm ? 1 : -1),
  )

/**
 * Adds new keys next to those that sign, so that their records are published first. A domain that was never verified has signed nothing, so
 * its old keys are replaced at once. Pending keys are dropped.
 */
export function beginRotation(domain: Domain, fresh: DomainKey[]): Domain {
  const { 'next-dkim-rsa': _rsa, 'next-dkim-ed25519': _ed25519, ...records } = domain.records
  if (domain.verifiedAt === null) {
    const { 'dkim-rsa': _oldRsa, 'dkim-ed25519': _oldEd25519, ...others } = records
    return { ...domain, keys: inKeyOrder(fresh.map((key) => ({ ...key, state: 'active' }))), records: others }
  }
  const kept = domain.keys.filter(({ state }) => state !== 'next')
  return { ...domain, keys: inKeyOrder([...kept, ...fresh.map((key): DomainKey => ({ ...key, state: 'next' }))]), records }
}

/**
 * Lets the new keys take over once the successor of every signing key has been found. The old ones retire; their records must stay for
 * `keepMs`.
 */
export function finishRotation(domain: Domain, now: number, keepMs: number): Domain {
  const signing = domain.keys.filter(isSigning)
  const next = domain.keys.filter(({ state }) => state === 'next')
  const hasSuccessor = (key: DomainKey): boolean => next.some(({ algorithm, seenAt }) => algorithm === key.algorithm && seenAt !== null)
  if (next.length === 0 || !signing.every(hasSuccessor)) return domain
  const keys = domain.keys.map((key): DomainKey => {
    if (key.state === 'next') return { ...key, state: 'active' }
    return key.state === 'active' ? { ...key, state: 'retired', keepUntil: now + keepMs } : key
  })
  const { 'next-dkim-rsa': rsa, 'next-dkim-ed25519': ed25519, 'dkim-rsa': _rsa, 'dkim-ed25519': _ed25519, ...records } = domain.records
  return {
    ...domain,
    keys: inKeyOrder(keys),
    records: { ...records, ...(rsa ? { 'dkim-rsa': rsa } : {}), ...(ed25519 ? { 'dkim-ed25519': ed25519 } : {}) },
  }
}

/** RSA, and Ed25519 once its record has been found. */
export const isSigning = ({ algorithm, state, seenAt }: DomainKey): boolean =>
  state === 'active' && (algorithm === 'rsa-sha256' || seenAt !== null)

/** Without the retired keys whose time is over. */
export const withoutOldKeys = (domain: Domain, now: number): Domain => ({
  ...domain,
  keys: domain.keys.filter(({ keepUntil }) => keepUntil === null || keepUntil > now),
})
