import type { Change } from '../account/audit-log.ts'
import type { Log } from '../../platform/log.ts'
import { type Domain, type RecordKind, recordKinds } from './domain.ts'
import { isRotating } from './key-rotation.ts'

const messages = {
  verified: 'a domain is verified',
  failed: 'a domain has failed: its records have not been there for three days, so nothing can be sent from it',
  dkim_rotated: 'new DKIM keys have taken over; the records of the old ones must stay for a while',
  record_missing: 'a record of a verified domain has gone missing',
  record_returned: 'a record of a domain is back',
}

/** Logs for the operator what happened to a domain. */
export function logChanges(before: Domain, after: Domain, log: Log): void {
  const { id: domainId, accountId, name: domain } = after
  for (const { type, ...more } of changesBetween(before, after)) log.warn({ domainId, accountId, domain, ...more }, messages[type])
}

/** The same for the audit log. */
export const changesToRecord = (before: Domain, after: Domain): Change[] =>
  changesBetween(before, after).map((change) => ({
    accountId: after.accountId,
    actor: { type: 'server', id: null, name: 'domain check' },
    operation: `domains.${change.type}`,
    objectId: after.id,
    fields: 'kind' in change ? [change.kind] : [],
    address: null,
    requestId: null,
  }))

/** Something about a domain that its owner and the operator should learn when it happens. */
type DomainChange = { type: 'verified' | 'failed' | 'dkim_rotated' } | { type: 'record_missing' | 'record_returned'; kind: RecordKind }

/** What a check, or a manual decision, has changed. */
function changesBetween(before: Domain, after: Domain): DomainChange[] {
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
