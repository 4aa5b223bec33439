import type { Change } from '../account/audit-log.ts'
import type { Log } from '../../platform/log.ts'
import type { Domain } from './domain.ts'
import { changesBetween } from './domain-changes.ts'

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
