import { tagsOf, withoutZoneFileMarks } from './record-text.ts'

/** The policies of a DMARC record, and the dispositions of mail. */
export const dmarcPolicies = ['none', 'quarantine', 'reject'] as const
export type DmarcPolicy = (typeof dmarcPolicies)[number]

/** A DMARC record as it is published. */
export interface DmarcRecord {
  policy: DmarcPolicy
  /** True if the policy applies only to part of the mail (pct= of RFC 7489 6.3), or on trial (t= of RFC 9989). */
  isPartial: boolean
  text: string
}

/**
 * Why the texts at a name give no policy. `several`: none counts. `invalid`: without a policy, and without an address for reports, a record
 * has no effect. `quoted`: what would be a record has quotation marks or backslashes in it. `text`: what should be there instead.
 */
export type DmarcFault = { fault: 'missing' | 'several' } | { fault: 'invalid' | 'quoted'; text: string }

/** True of a text that takes part in the search for a policy: the version comes first, in these letters (RFC 9989 4.8). */
export const isDmarcText = (text: string): boolean => /^[vV][ \t]*=[ \t]*DMARC1[ \t]*(?:;|$)/.test(text)

/**
 * What receivers make of the texts at `_dmarc.NAME` (RFC 9989 4.7, 4.10). Whoever says something about a domain's policy says it by this.
 */
export function readDmarc(texts: readonly string[]): DmarcRecord | DmarcFault {
  const [text, another] = texts.filter(isDmarcText)
  if (another !== undefined) return { fault: 'several' }
  if (text !== undefined) return recordOf(text) ?? { fault: 'invalid', text: withPolicy(text, 'none') }
  const meant = texts.map(withoutZoneFileMarks).find(isDmarcText)
  return meant === undefined ? { fault: 'missing' } : { fault: 'quoted', text: meant }
}

/** @returns null if the record has no effect */
function recordOf(text: string): DmarcRecord | null {
  const tags = new Map([...tagsOf(text)].map(([name, value]) => [name.toLowerCase(), value.toLowerCase()]))
  const policyIn = (name: string) => dmarcPolicies.find((policy) => policy === tags.get(name))
  const isValid = policyIn('p') !== undefined && ['sp', 'np'].every((name) => !tags.has(name) || policyIn(name) !== undefined)
  if (!isValid && !/(?:^|,)[a-z][a-z0-9+.-]*:[^,]/.test(tags.get('rua') ?? '')) return null
  const policy = isValid ? (policyIn('p') ?? 'none') : 'none'
  const isPartial = policy !== 'none' && (tags.get('t') === 'y' || Number(tags.get('pct') ?? 100) < 100)
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
