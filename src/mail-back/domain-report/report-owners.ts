import type { Domain } from '../../senders/sending-domain/domain.ts'
import { returnPathOf } from '../../senders/sending-domain/domain-records.ts'
import type { SendingDomains } from '../../senders/sending-domain/sending-domains.ts'

/**
 * The verified domains, in any account, that a report on `name` concerns: those with that name, and those whose return path has that name.
 * Unverified domains get no reports.
 */
export function ownersOf(name: string, sendingDomains: Pick<SendingDomains, 'find'>): Domain[] {
  const parent = name.slice(name.indexOf('.') + 1)
  const found = [...sendingDomains.find(name), ...sendingDomains.find(parent).filter((domain) => returnPathOf(domain) === name)]
  return found.filter(({ status, removedAt }) => status === 'verified' && removedAt === null)
}

/** `domain selector` of each key, including retired ones. */
export const signaturesOf = (domains: Domain[]): ReadonlySet<string> =>
  new Set(domains.flatMap(({ name, keys }) => keys.map(({ selector }) => `${name} ${selector}`)))
