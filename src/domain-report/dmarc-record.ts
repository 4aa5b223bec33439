import { tagsOf } from '../sending-domain/check-records.ts'
import { dmarcPolicies, type DmarcPolicy } from './domain-report.ts'

/** A DMARC record as it is published. */
export interface DmarcRecord {
  policy: DmarcPolicy
  /** True if the policy applies only to part of the mail (pct= of RFC 7489 6.3), or on trial (t= of RFC 9989). */
  isPartial: boolean
  text: string
}

/**
 * The record among those at the name; null if there is none, or several, because then none counts (RFC 7489 6.6.3).
 * @param found one record per line
 */
export function dmarcRecordIn(found: string | null): DmarcRecord | null {
  const [text, another] = (found ?? '').split('\n').filter((line) => tagsOf(line).get('v') === 'DMARC1')
  if (text === undefined || another !== undefined) return null
  const tags = tagsOf(text)
  const policy = dmarcPolicies.find((name) => name === tags.get('p')?.toLowerCase()) ?? 'none'
  const isPartial = policy !== 'none' && (tags.get('t')?.toLowerCase() === 'y' || Number(tags.get('pct') ?? 100) < 100)
  return { policy, isPartial, text }
}

/** The record with another policy, complete; everything else stays. */
export function withPolicy(text: string, policy: DmarcPolicy): string {
  const tags = text
    .split(';')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '' && !/^(?:pct|t)\s*=/i.test(tag))
  const changed = tags.map((tag) => (/^p\s*=/i.test(tag) ? `p=${policy}` : tag))
  // It must be the first after the version.
  if (!changed.includes(`p=${policy}`)) changed.splice(1, 0, `p=${policy}`)
  return changed.join('; ')
}
