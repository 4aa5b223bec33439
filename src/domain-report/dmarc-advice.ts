import type { DmarcPolicy } from './domain-report.ts'
import type { DmarcRecord } from './dmarc-record.ts'

/** Whose mail a source sends: this server's own, mail of it that somebody else passed on, or mail that bears no mark of it. */
export const sourceOrigins = ['ours', 'forwarder', 'other'] as const
export type SourceOrigin = (typeof sourceOrigins)[number]

export interface ObservedSource {
  sourceIp: string
  origin: SourceOrigin
  messages: number
  /** Those of them that passed DMARC neither by DKIM nor by SPF. */
  failed: number
}

/** What receivers have reported about a domain in some time. */
export interface DmarcObservation {
  /** Null where none is published. */
  published: Pick<DmarcRecord, 'policy' | 'isPartial'> | null
  /** From the first day reported to the last. */
  days: number
  sources: ObservedSource[]
}

/**
 * `publish` a record, `wait` for more reports, `fix` what does not pass, `tighten` the policy, or `keep` it: there is no
 * stricter one.
 */
export const adviceSteps = ['publish', 'wait', 'fix', 'tighten', 'keep'] as const

export interface DmarcAdvice {
  step: (typeof adviceSteps)[number]
  /** The policy to publish next; null where it is to stay as it is. */
  policy: DmarcPolicy | null
  /** Sentences for people. */
  reasons: string[]
  /** Of `fix`: the sources to look at, those of ours first, then those with the most failures. */
  fix: ObservedSource[]
}

/** What must have been seen before a stricter policy is advised. */
const least = { days: 7, messages: 100, passRate: { quarantine: 0.98, reject: 0.99 } }
/** Of our own mail: receivers now and then fail to look a key up. */
const mostOwnFailures = 0.005
/** Sources that are named. */
const mostSources = 20

/** Whether the domain is ready for a stricter DMARC policy, and what stands in its way. */
export function adviseDmarc({ published, days, sources }: DmarcObservation): DmarcAdvice {
  if (!published) {
    return {
      step: 'publish',
      policy: 'none',
      reasons: ['The domain has no DMARC record, so nobody reports about it, and large receivers mistrust its mail.'],
      fix: [],
    }
  }
  const { messages, failed, own } = countsOf(sources)
  const next = nextPolicy(published)
  if (own.messages > 0 && own.failed / own.messages > mostOwnFailures) {
    const reason = `${own.failed} of ${own.messages} messages from this server did not pass: look at the DKIM and SPF records of the domain.`
    return { step: 'fix', policy: null, reasons: [reason], fix: worstOf(sources, 'ours') }
  }
  if (next === null)
    return { step: 'keep', policy: null, reasons: ['The policy is reject for all mail, which is the strictest there is.'], fix: [] }
  const missing = [
    ...(days < least.days ? [`The reports cover ${Math.floor(days)} of the ${least.days} days that are needed at least.`] : []),
    ...(messages < least.messages ? [`They tell of ${messages} of the ${least.messages} messages that are needed at least.`] : []),
  ]
  if (missing.length > 0) return { step: 'wait', policy: null, reasons: missing, fix: [] }
  const rate = 1 - failed / messages
  if (rate >= least.passRate[next]) return { step: 'tighten', policy: next, reasons: reasonsFor(next, { rate, days, messages }), fix: [] }
  const reasons = [
    `${percent(rate)} of the mail passed; ${percent(least.passRate[next])} are needed at least.`,
    'Where these sources send for you, have them sign with DKIM for the domain, or add them to its SPF record. ' +
      'Where they do not, a stricter policy is what stops them.',
  ]
  return { step: 'fix', policy: null, reasons, fix: worstOf(sources, 'other') }
}

/** The next step to reject for all mail. */
function nextPolicy({ policy, isPartial }: Pick<DmarcRecord, 'policy' | 'isPartial'>): 'quarantine' | 'reject' | null {
  if (policy === 'none') return 'quarantine'
  if (isPartial) return policy
  return policy === 'quarantine' ? 'reject' : null
}

/** Mail that was passed on fails through no fault of the domain, and no policy is stricter for it: it is left out. */
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
  'Reports are not proved, and do not tell of mail that is sent seldom: make sure that nobody else sends for the domain.',
]
