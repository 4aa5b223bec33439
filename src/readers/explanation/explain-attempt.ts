import type { BounceCategory, RefusalPhase } from '../../mail/bounce-parser/refusal.ts'
import { findReplyEntry } from './find-reply-entry.ts'
import { causes, type CauseCode } from './causes.ts'
import { explanationOf, type Explanation } from './explanation.ts'
import type { ReplyEntry } from './reply-entry.ts'

/** What is known about an attempt, or about a bounce. */
export interface FailureFacts {
  outcome: 'delivered' | 'deferred' | 'bounced'
  smtpCode: number | null
  enhancedStatus: string | null
  /** The decisive reply, or what went wrong without one. */
  reply: string | null
  /** Who runs the host, as `mxProviderOf` names it; null if that is not known. */
  provider: string | null
  /** What was refused, if that is known. */
  phase: RefusalPhase | null
  /** What an event says of it; judged by the reply where nothing does. */
  category?: BounceCategory | undefined
}

interface SilenceRule {
  code: CauseCode
  /** Matches our own text. */
  words: RegExp
}

/** If the other server did not reply: by the code that our own text begins with, which host names cannot imitate. */
const silenceRules: SilenceRule[] = [
  { code: 'null_mx', words: /^5\.1\.10 / },
  { code: 'domain_not_found', words: /^5\.1\.[23] |^5\.4\.4 no host / },
  { code: 'unclear_answer', words: /^[45]\.5\.0 / },
  { code: 'private_address', words: /^5\.4\.[46] / },
  { code: 'domain_doubtful', words: /^4\.\d\.\d .*, say the name servers/ },
  { code: 'dns', words: /^4\.4\.3 / },
  { code: 'require_tls', words: /TLS is required by the policy \S+ of the message/ },
  { code: 'mta_sts', words: /^4\.7\.5 the MTA-STS policy / },
  { code: 'tls', words: /TLS is required/ },
  { code: 'characters', words: /^5\.6\.[37] / },
  { code: 'too_large', words: /^5\.3\.4 / },
  { code: 'internal_error', words: /^\d\.\d+\.\d+ / },
  { code: 'not_tried', words: /^no attempt was made$/ },
  { code: 'timeout', words: /time-?out|connection|closed|out of turn|cannot be understood|answered before|stopped/i },
]

/** What precedes the last reply in a bounce that no reply led to. */
const givenUp = /^Given up: not delivered in time\. Last: /
const endedByOperator = /^Given up by the operator of the relay\./

/** Says how an attempt ended, or why mail bounced, who can do something about it, and what. */
export function explainAttempt(facts: FailureFacts): Explanation {
  const { code, known } = facts.outcome === 'delivered' ? { code: 'none' as const } : causeOf(facts)
  return explanationOf(code, facts.outcome === 'bounced', known)
}

/** What the log says of a bounce; what was erased is absent. */
export interface ToldBounce {
  bounce_category?: string
  smtp_code?: number | null
  enhanced_status?: string | null
  reason?: string
  /** A `RefusalPhase`. */
  phase?: string
}

/** What the log says was refused; null where it does not. */
export const phaseOf = ({ phase }: Pick<ToldBounce, 'phase'>): RefusalPhase | null => (phase as RefusalPhase | undefined) ?? null

/** The same for a bounce, as the log tells it: alike wherever it is shown or counted. @param provider see `FailureFacts` */
export const explainBounce = (told: ToldBounce, provider: string | null): Explanation =>
  explainAttempt({
    outcome: 'bounced',
    smtpCode: told.smtp_code ?? null,
    enhancedStatus: told.enhanced_status ?? null,
    reply: told.reason ?? null,
    provider,
    phase: phaseOf(told),
    category: told.bounce_category as BounceCategory | undefined,
  })

/** What the log says of a deferral; what was erased is absent. */
export type ToldDeferral = Pick<ToldBounce, 'reason' | 'phase'>

/** The same for a deferral: its reason begins with the reply's codes, if there was a reply. */
export function explainDeferral(told: ToldDeferral, provider: string | null): Explanation {
  const { reason = '' } = told
  const codes = /^([2-5]\d\d) (?:([245]\.\d{1,3}\.\d{1,3})(?= |$))?/.exec(reason)
  const smtpCode = codes ? Number(codes[1]) : null
  return explainAttempt({
    outcome: 'deferred',
    smtpCode,
    enhancedStatus: codes?.[2] ?? null,
    reply: reason,
    provider,
    phase: phaseOf(told),
  })
}

interface FoundCause {
  code: CauseCode
  known?: ReplyEntry | undefined
}

function causeOf(facts: FailureFacts): FoundCause {
  const { outcome, category, reply } = facts
  if (category === 'suppressed' || category === 'internal_error') return { code: category }
  if (endedByOperator.test(reply ?? '')) return { code: 'ended_by_operator' }
  if (givenUp.test(reply ?? '')) return causeOf({ ...facts, outcome: 'deferred', category: undefined, reply: reply!.replace(givenUp, '') })
  const found = causeInSilence(facts) ?? causeInReply(facts)
  if (found) return found
  if (category !== undefined && category in causes) return { code: category }
  return { code: outcome === 'deferred' ? 'refused_for_now' : 'other' }
}

/** A bounce that came back may quote no code: what it says is no text of our own. */
function causeInSilence({ smtpCode, category, reply }: FailureFacts): FoundCause | undefined {
  if (smtpCode !== null || reply === null) return undefined
  const mayBeOurs = ({ code }: SilenceRule): boolean =>
    category === undefined || (code !== 'internal_error' && (code !== 'timeout' || category === 'timeout' || category === 'other'))
  return silenceRules.find((rule) => mayBeOurs(rule) && rule.words.test(reply))
}

function causeInReply({ smtpCode, enhancedStatus, category, reply, provider, phase }: FailureFacts): FoundCause | undefined {
  if (smtpCode === null && category === undefined) return undefined
  // A server's reply is judged by its words, as for the attempt; a bounce that came back, by what was made of it.
  const judged = phase === null ? category : undefined
  const known = findReplyEntry({ code: smtpCode, enhancedStatus, text: reply ?? '', provider, phase, category: judged })
  return known && { code: known.cause, known }
}
