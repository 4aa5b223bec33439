import type { Domain } from '../sending-domain/domain.ts'
import { returnPathOf } from '../sending-domain/domain-records.ts'
import type { SendingDomains } from '../sending-domain/sending-domains.ts'

/**
 * The verified domains that a report on `name` concerns: those of that name, in any account, and those whose return path is there. A domain
 * whose owner is unproven gets no reports.
 */
export function ownersOf(name: string, sendingDomains: Pick<SendingDomains, 'find'>): Domain[] {
  const parent = name.slice(name.indexOf('.') + 1)
  const found = [...sendingDomains.find(name), ...sendingDomains.find(parent).filter((domain) => returnPathOf(domain) === name)]
  return found.filter(({ status, removedAt }) => status === 'verified' && removedAt === null)
}

/** The `domain selector` of each key, also of those that sign no more. */
export const signaturesOf = (domains: Domain[]): ReadonlySet<string> =>
  new Set(domains.flatMap(({ name, keys }) => keys.map(({ selector }) => `${name} ${selector}`)))
