import type { DmarcFault, DmarcPolicy, DmarcRecord } from '../../senders/sending-domain/dmarc-record.ts'
import { wordWith, type Worded } from '../../platform/wording.ts'
import { dmarcReasonWordings } from './dmarc-reason-wordings.ts'

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
  published: Pick<DmarcRecord, 'policy' | 'isOnTrial'> | DmarcFault
  /** From the first day reported to the last. */
  days: number
  sources: ObservedSource[]
}

/**
 * `publish` a record, `repair` what is published, `wait` for more reports, `fix` what does not pass, `tighten` the policy, or `keep` it,
 * because there is no stricter one.
 */
export const adviceSteps = ['publish', 'repair', 'wait', 'fix', 'tighten', 'keep'] as const

type DmarcReason = Worded<keyof typeof dmarcReasonWordings>
const because = wordWith(dmarcReasonWordings)

export interface DmarcAdvice {
  step: (typeof adviceSteps)[number]
  /** The policy to publish next; null if it should stay. */
  policy: DmarcPolicy | null
  reasons: DmarcReason[]
  /** For `fix`: the sources to check, ours first, then those with the most failures. */
  fix: ObservedSource[]
}

/** What must have been observed before we advise a stricter policy. */
const least = { days: 7, messages: 100, passRate: { quarantine: 0.98, reject: 0.99 } }
/** For our own mail: receivers occasionally fail to look up a key. */
const maxOwnFailures = 0.005
/** Sources named in the advice. */
const maxSources = 20

/** Whether the domain is ready for a stricter DMARC policy, and what prevents it. */
export function adviseDmarc({ published, days, sources }: DmarcObservation): DmarcAdvice {
  if ('fault' in published) {
    const step = published.fault === 'missing' ? 'publish' : 'repair'
    return { step, policy: step === 'publish' ? 'none' : null, reasons: [because(`record_${published.fault}`)], fix: [] }
  }
  const { messages, failed, own } = countsOf(sources)
  const next = nextPolicy(published)
  if (own.messages > 0 && own.failed / own.messages > maxOwnFailures) {
    return { step: 'fix', policy: null, reasons: [because('own_mail_fails', own)], fix: worstOf(sources, 'ours') }
  }
  if (next === null) return { step: 'keep', policy: null, reasons: [because('strictest')], fix: [] }
  const missing = [
    ...(days < least.days ? [because('few_days', { days: Math.floor(days), required: least.days })] : []),
    ...(messages < least.messages ? [because('few_messages', { messages, required: least.messages })] : []),
  ]
  if (missing.length > 0) return { step: 'wait', policy: null, reasons: missing, fix: [] }
  const rate = 1 - failed / messages
  if (rate >= least.passRate[next]) return { step: 'tighten', policy: next, reasons: reasonsFor(next, { rate, days, messages }), fix: [] }
  const reasons = [
    because('too_little_passed', { passed: percent(rate), required: percent(least.passRate[next]) }),
    because('sources_to_fix'),
  ]
  return { step: 'fix', policy: null, reasons, fix: worstOf(sources, 'other') }
}

/** The next step towards reject. */
function nextPolicy({ policy, isOnTrial }: Pick<DmarcRecord, 'policy' | 'isOnTrial'>): 'quarantine' | 'reject' | null {
  if (policy === 'none') return 'quarantine'
  if (isOnTrial) return policy
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
    .slice(0, maxSources)

/** Rounded down to a tenth. */
const percent = (rate: number): number => Math.floor(rate * 1000) / 10

const reasonsFor = (policy: DmarcPolicy, { rate, days, messages }: { rate: number; days: number; messages: number }): DmarcReason[] => [
  because('enough_passed', { passed: percent(rate), messages, days: Math.floor(days), policy }),
  because('reports_unproven'),
]
