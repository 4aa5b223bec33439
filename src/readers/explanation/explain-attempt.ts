import type { BounceCategory } from '../../mail/bounce-parser/refusal.ts'
import { classifyRefusal } from '../../mail/bounce-vocabulary.ts'
import { causes, explanationOf, type CauseCode, type Explanation } from './causes.ts'

/** What is known about an attempt, or about a bounce. */
interface FailureFacts {
  outcome: 'delivered' | 'deferred' | 'bounced'
  smtpCode: number | null
  enhancedStatus: string | null
  /** The decisive reply, or what went wrong without one. */
  reply: string | null
  /** What an event says of it; judged by the reply where nothing does. */
  category?: BounceCategory | undefined
}

interface CauseRule {
  code: CauseCode
  /** Matches `5.1.1`; a rule without it applies with any status and with none. */
  status?: RegExp
  /** Matches the text of the reply. */
  words?: RegExp
  /** The category that the reply was judged to have. A rule applies if any of its three conditions does. */
  category?: BounceCategory
}

/** If the other server replied; the first matching rule counts. */
const replyRules: CauseRule[] = [
  { code: 'greylisting', words: /gr[ea]y.?list|try again (?:in|after)|first.?time sender/i },
  { code: 'require_tls', words: /\bREQUIRETLS\b/i },
  {
    code: 'reverse_dns',
    status: /^\d\.7\.25$/,
    words:
      /\bPTR\b|\br(?:everse)?[ -]?DNS\b|reverse[ -](?:lookup|host|map|name|record|resol)|FCrDNS|forward.confirmed|(?:find|resolve) your (?:reverse )?(?:host ?)?name|dynamic (?:ip|address)/i,
  },
  {
    code: 'authentication',
    status: /^\d\.7\.(?:2[0-46]|29)$/,
    words: /\b(?:SPF|DKIM|DMARC)\b|unauthenticated|not authenticated/i,
  },
  {
    code: 'domain_reputation',
    words: /\bdbl\.|\b(?:SURBL|URIBL)\b|domain.{0,40}(?:black|block)list|reputation of.{0,20}domain|domain.{0,20}reputation/i,
  },
  {
    code: 'reputation',
    category: 'reputation',
    words: /blocklist|blacklist|block list|listed (?:at|by|in|on)|spamhaus|barracuda|reputation|poor score|RBL|DNSBL/i,
  },
  {
    code: 'content_rejected',
    words: /spam|unsolicited|content (?:rejected|denied)|virus|malware|phish|message looks|blocked URL/i,
    status: /^\d\.(?:6\.\d+|7\.50\d)$/,
  },
  { code: 'mailbox_full', category: 'mailbox_full' },
  { code: 'invalid_recipient', category: 'invalid_recipient' },
  { code: 'too_large', status: /^\d\.(?:3\.4|2\.3)$/, words: /(?:message|size) (?:too (?:big|large)|exceeds)|too large/i },
  { code: 'domain_not_found', category: 'domain_not_found' },
  { code: 'sender_address', status: /^\d\.1\.[78]$/, words: /sender (?:address )?(?:rejected|unknown|verify)/i },
  { code: 'host_name', words: /\b(?:HELO|EHLO)\b.{0,40}(?:reject|invalid|not found|fully|refus|denied)|invalid (?:HELO|EHLO)/i },
  {
    code: 'busy',
    status: /^4\.(?:4\.5|3\.2|7\.\d+)$/,
    words: /too many|rate limit|throttl|limit exceeded|try (?:again )?later|busy|temporar/i,
  },
  { code: 'protocol', status: /^\d\.5\.\d+$/ },
  { code: 'content_rejected', category: 'content_rejected' },
  { code: 'policy', status: /^\d\.7\.\d+$/, words: /policy|denied|not allowed|not permitted|access|relay|administrative/i },
]

/** If the other server did not reply: by the code that our own text begins with, which host names cannot imitate. */
const silenceRules: CauseRule[] = [
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
  return explanationOf(facts.outcome === 'delivered' ? 'none' : causeOf(facts), facts.outcome === 'bounced')
}

/** What the log says of a bounce; what was erased is absent. */
export interface ToldBounce {
  bounce_category?: string
  smtp_code?: number | null
  enhanced_status?: string | null
  reason?: string
}

/** The same for a bounce, as the log tells it: alike wherever it is shown or counted. */
export const explainBounce = (told: ToldBounce): Explanation =>
  explainAttempt({
    outcome: 'bounced',
    smtpCode: told.smtp_code ?? null,
    enhancedStatus: told.enhanced_status ?? null,
    reply: told.reason ?? null,
    category: told.bounce_category as BounceCategory | undefined,
  })

function causeOf(facts: FailureFacts): CauseCode {
  const { outcome, smtpCode, category, reply } = facts
  if (category === 'suppressed' || category === 'internal_error') return category
  if (endedByOperator.test(reply ?? '')) return 'ended_by_operator'
  if (givenUp.test(reply ?? '')) return causeOf({ ...facts, outcome: 'deferred', category: undefined, reply: reply!.replace(givenUp, '') })
  const judged = category ?? (smtpCode === null ? null : categoryOf(facts))
  const rule = rulesFor(facts).find(
    (each) => fits(each.status, facts.enhancedStatus) || fits(each.words, reply) || (judged !== null && each.category === judged),
  )
  if (rule) return rule.code
  if (category !== undefined && category in causes) return category
  return outcome === 'deferred' ? 'refused_for_now' : 'other'
}

/** A bounce that came back may quote no code: what it says is no text of our own. */
function rulesFor({ smtpCode, category }: FailureFacts): CauseRule[] {
  if (smtpCode !== null) return replyRules
  if (category === undefined) return silenceRules
  const isUnreached = category === 'timeout' || category === 'other'
  return [...silenceRules.filter(({ code }) => code !== 'internal_error' && (code !== 'timeout' || isUnreached)), ...replyRules]
}

const fits = (pattern: RegExp | undefined, text: string | null): boolean => pattern !== undefined && text !== null && pattern.test(text)

/** Judged as a final failure, whatever phase it came in. */
const categoryOf = ({ smtpCode, enhancedStatus, reply }: FailureFacts): BounceCategory =>
  classifyRefusal({ code: smtpCode, enhancedStatus: enhancedStatus, text: reply ?? '', remoteHost: null, phase: 'report' }).category
