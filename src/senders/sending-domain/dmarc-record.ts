import { tagsOf, withoutZoneFileMarks } from './record-text.ts'

/** The policies of a DMARC record, and the dispositions of mail. */
export const dmarcPolicies = ['none', 'quarantine', 'reject'] as const
export type DmarcPolicy = (typeof dmarcPolicies)[number]

/** A DMARC record as it is published. */
export interface DmarcRecord {
  policy: DmarcPolicy
  /** For the names below its domain that exist (sp=), and for those that do not (np=). */
  below: { existing: DmarcPolicy; absent: DmarcPolicy }
  /** True if receivers are asked for the next milder policy, to try this one (t=y). */
  isOnTrial: boolean
  /** What pct= says, which counts no more (RFC 9989 A.6); null without it. */
  pct: string | null
  /** Whether the domain is a public suffix (psd=). */
  psd: 'y' | 'n' | 'u'
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
  const policy = (isValid && policyIn('p')) || 'none'
  const existing = (isValid && policyIn('sp')) || policy
  const absent = (isValid && policyIn('np')) || existing
  const psd = (['y', 'n'] as const).find((word) => word === tags.get('psd')) ?? 'u'
  const isOnTrial = tags.get('t') === 'y' && [policy, existing, absent].some((each) => each !== 'none')
  return { policy, below: { existing, absent }, isOnTrial, pct: tags.get('pct') ?? null, psd, text }
}

/** What receivers do in place of a policy on trial (RFC 9989 A.6). */
export const milder = (policy: DmarcPolicy): DmarcPolicy => (policy === 'reject' ? 'quarantine' : 'none')

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
