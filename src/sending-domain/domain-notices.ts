import type { AuditLog } from '../account/audit-log.ts'
import type { Log } from '../log.ts'
import type { Domain } from './domain.ts'
import { changesBetween } from './domain-changes.ts'

const messages = {
  verified: 'a domain is verified',
  failed: 'a domain has failed: its records have not been there for three days, so nothing can be sent from it',
  dkim_rotated: 'new DKIM keys have taken over; the records of the old ones must stay for a while',
  record_missing: 'a record of a verified domain has gone missing',
  record_returned: 'a record of a domain is back',
}

/** Tells the operator what has become of a domain, in the log and in the audit log. Never throws. */
export async function tellChanges(before: Domain, after: Domain, { log, audit }: { log: Log; audit: Pick<AuditLog, 'record'> }): Promise<void> {
  const { id: domainId, accountId, name: domain } = after
  for (const change of changesBetween(before, after)) {
    const kind = 'kind' in change ? change.kind : undefined
    log.warn({ domainId, accountId, domain, ...(kind ? { kind } : {}) }, messages[change.type])
    const actor = { type: 'server', id: null, name: 'domain check' } as const
    const operation = `domains.${change.type}`
    await audit
      .record({ accountId, actor, operation, objectId: domainId, fields: kind ? [kind] : [], address: null, requestId: null })
      .catch((error: unknown) => log.error({ domainId, error }, 'the audit log could not be written'))
  }
}
