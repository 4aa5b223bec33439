import type { DmarcPolicy } from './domain-report.ts'
import type { DmarcRecord } from './dmarc-record.ts'

/** Whose mail a source sends: ours, ours forwarded by others, or mail that shows no sign of us. */
export const sourceOrigins = ['ours', 'forwarder', 'other'] as const
export type SourceOrigin = (typeof sourceOrigins)[number]

export interface ObservedSource {
  sourceIp: string
  origin: SourceOrigin
  messages: number
  /** Messages that passed DMARC neither by DKIM nor by SPF. */
  failed: number
}

/** What receivers have reported about a domain in some period. */
export interface DmarcObservation {
  /** Null if there is none. */
  published: Pick<DmarcRecord, 'policy' | 'isPartial'> | null
  /** From the first day reported to the last. */
  days: number
  sources: ObservedSource[]
}

/**
 * `publish` a record, `wait` for more reports, `fix` what does not pass, `tighten` the policy, or `keep` it, because there is no stricter
 * one.
 */
export const adviceSteps = ['publish', 'wait', 'fix', 'tighten', 'keep'] as const

export interface DmarcAdvice {
  step: (typeof adviceSteps)[number]
  /** The policy to publish next; null if it should stay. */
  policy: DmarcPolicy | null
  /** Sentences for people. */
  reasons: string[]
  /** For `fix`: the sources to check, ours first, then those with the most failures. */
  fix: ObservedSource[]
}

/** What must have been observed before we advise a stricter policy. */
const least = { days: 7, messages: 100, passRate: { quarantine: 0.98, reject: 0.99 } }
/** For our own mail: receivers occasionally fail to look up a key. */
const mostOwnFailures = 0.005
/** Sources named in the advice. */
const mostSources = 20

/** Whether the domain is ready for a stricter DMARC policy, and what prevents it. */
export function adviseDmarc({ published, days, sources }: DmarcObservation): DmarcAdvice {
  if (!published) {
    return {
      step: 'publish',
      policy: 'none',
      reasons: ['The domain has no DMARC record, so nobody reports on it, and large receivers distrust its mail.'],
      fix: [],
    }
  }
  const { messages, failed, own } = countsOf(sources)
  const next = nextPolicy(published)
  if (own.messages > 0 && own.failed / own.messages > mostOwnFailures) {
    const reason = `${own.failed} of ${own.messages} messages from this server did not pass. Check the DKIM and SPF records of the domain.`
    return { step: 'fix', policy: null, reasons: [reason], fix: worstOf(sources, 'ours') }
  }
  if (next === null) return { step: 'keep', policy: null, reasons: ['The policy is reject for all mail, which is the strictest.'], fix: [] }
  const missing = [
    ...(days < least.days ? [`The reports cover ${Math.floor(days)} of the required ${least.days} days.`] : []),
    ...(messages < least.messages ? [`They cover ${messages} of the required ${least.messages} messages.`] : []),
  ]
  if (missing.length > 0) return { step: 'wait', policy: null, reasons: missing, fix: [] }
  const rate = 1 - failed / messages
  if (rate >= least.passRate[next]) return { step: 'tighten', policy: next, reasons: reasonsFor(next, { rate, days, messages }), fix: [] }
  const reasons = [
    `${percent(rate)} of the mail passed; ${percent(least.passRate[next])} is required.`,
    'Where these sources send for you, have them sign with DKIM for the domain, or add them to its SPF record. ' +
      'Where they do not, a stricter policy is what stops them.',
  ]
  return { step: 'fix', policy: null, reasons, fix: worstOf(sources, 'other') }
}

/** The next step towards reject for all mail. */
function nextPolicy({ policy, isPartial }: Pick<DmarcRecord, 'policy' | 'isPartial'>): 'quarantine' | 'reject' | null {
  if (policy === 'none') return 'quarantine'
  if (isPartial) return policy
  return policy === 'quarantine' ? 'reject' : null
}

/** Forwarded mail fails through no fault of the domain, and waiting would not help: it is left out. */
function countsOf(sources: ObservedSource[]): { messages: number; failed: number; own: { messages: number; failed: number } } {
  const sum = (some: ObservedSource[]) => ({
    messages: some.reduce((total, source) => total + source.messages, 0),
    failed: some.reduce((total, source) => total + source.failed, 0),
  })
  return { ...sum(sources.filter(({ origin }) => origin !== 'forwarder')), own: sum(sources.filter(({ origin }) => origin === 'ours')) }
}

const worstOf = (sources: ObservedSource[], origin: SourceOrigin): ObservedSource[] =>
  sources
    .filter((source) => source.origin === origin && source.failed > 0)
    .toSorted((a, b) => b.failed - a.failed)
    .slice(0, mostSources)

const percent = (rate: number): string => `${(Math.floor(rate * 1000) / 10).toFixed(1)} %`

const reasonsFor = (policy: DmarcPolicy, { rate, days, messages }: { rate: number; days: number; messages: number }): string[] => [
  `${percent(rate)} of ${messages} messages in ${Math.floor(days)} days passed, so the policy can be ${policy}.`,
  'Reports are unproven, and may miss rarely sent mail. Make sure that nobody else sends for the domain.',
]
