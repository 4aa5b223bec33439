import { type Domain, type RecordKind, recordKinds } from './domain.ts'
import { isRotating } from './key-rotation.ts'

/** Something about a domain that its owner and the operator should learn when it happens. */
type DomainChange = { type: 'verified' | 'failed' | 'dkim_rotated' } | { type: 'record_missing' | 'record_returned'; kind: RecordKind }

/** What a check, or a manual decision, has changed. */
export function changesBetween(before: Domain, after: Domain): DomainChange[] {
  const changes: DomainChange[] = []
  const isRotated = isRotating(before) && !isRotating(after)
  if (isRotated) changes.push({ type: 'dkim_rotated' })
  for (const kind of recordKinds) {
    const [was, is] = [before.records[kind]?.status, after.records[kind]?.status]
    if (was !== 'temporary_failure' && is === 'temporary_failure') changes.push({ type: 'record_missing', kind })
    // A new key's record replaced the old one's.
    const isOther = isRotated && kind.startsWith('dkim-')
    if (was === 'temporary_failure' && is === 'verified' && !isOther) changes.push({ type: 'record_returned', kind })
  }
  if (before.status !== after.status && after.status === 'verified') changes.push({ type: 'verified' })
  if (before.status !== after.status && after.status === 'failed') changes.push({ type: 'failed' })
  return changes
}
