import type { BounceCategory } from '../bounce/refusal.ts'
import { formatReply } from '../smtp/reply.ts'
import type { Reply } from '../smtp/reply.ts'
import type { Outcome } from './attempt.ts'

/** What a reply answers; `dot` is the end of the message data. */
export type Phase = 'banner' | 'ehlo' | 'starttls' | 'mail' | 'rcpt' | 'data' | 'dot'

/** What one host made of a recipient. */
export interface Verdict {
  outcome: Outcome
  /** True where the host, not the recipient, is the matter, so that another MX host may do better. */
  nextHost: boolean
}

interface Judgement {
  category: BounceCategory
  hard: boolean
}

const soft = (category: BounceCategory): Judgement => ({ category, hard: false })
const hard = (category: BounceCategory): Judgement => ({ category, hard: true })

/**
 * Enhanced codes without their class (RFC 3463, RFC 7504, RFC 7505, RFC 7372), the full code before its subject.
 * Hard means: the address or its domain does not exist, has moved, or takes no mail.
 */
const byEnhancedCode: Record<string, Judgement> = {
  '1.1': hard('invalid_recipient'),
  '1.2': hard('domain_not_found'),
  '1.3': hard('invalid_recipient'),
  '1.6': hard('invalid_recipient'),
  '1.7': soft('policy'),
  '1.8': soft('policy'),
  '1.10': hard('invalid_recipient'),
  '1': soft('invalid_recipient'),
  '2.2': soft('mailbox_full'),
  '2.3': soft('content_rejected'),
  '2.1': soft('invalid_recipient'),
  '3.1': soft('mailbox_full'),
  '3.4': soft('content_rejected'),
  '4.4': soft('domain_not_found'),
  '4.7': soft('expired'),
  '6': soft('content_rejected'),
  '7': soft('policy'),
}

/** For replies whose enhanced code says nothing, the first that fits decides. */
const byText: [RegExp, Judgement][] = [
  [
    /\b(?:user|recipient|mailbox|address|account|alias)\b[^.;\n]{0,40}\b(?:unknown|not found|not exist|does(?:n.t| not) exist|invalid|no longer exists)\b/i,
    hard('invalid_recipient'),
  ],
  [/\b(?:no such|unknown|invalid|non-?existent) (?:local )?(?:user|recipient|mailbox|address|account|person)\b/i, hard('invalid_recipient')],
  [/\bno mailbox (?:here )?by that name\b|\bdoes(?:n.t| not) have an? \S{0,60} ?account\b/i, hard('invalid_recipient')],
  [/\b(?:host|domain) (?:unknown|(?:name )?not found|does(?:n.t| not) exist)\b/i, hard('domain_not_found')],
  [/\b(?:mailbox|quota|inbox|storage)\b[^;\n]{0,40}\b(?:full|exceeded|over)\b|\bover ?quota\b/i, soft('mailbox_full')],
  // RFC 5321 4.2.3 has this text for no mailbox as well as for no access.
  [/\bmailbox unavailable\b/i, soft('invalid_recipient')],
]
const listed = /spamhaus|spamcop|barracuda|\brbl\b|dnsbl|block ?-?list|black ?-?list|\breputation\b|\blisted\b/i
const aboutContent = /\bspam\b|virus|malware|phish|message (?:content|size|too)|too large|exceeds.{0,20}size/i
/** What such a text calls unknown or invalid may be ours. */
const aboutSender = /\brelay|\bsender\b|\bmail from\b|\bhelo\b|\bclient\b|\breverse\b|\bptr\b|\byour? /i

/** True where the server said what the phase asks for, so that the dialogue goes on. */
export function isExpected(phase: Phase, { code }: Reply): boolean {
  if (phase === 'banner' || phase === 'starttls') return code === 220
  if (phase === 'data') return code === 354
  return code >= 200 && code < 300
}

/**
 * What a reply at a phase comes to: the one place that decides between delivered, deferred and bounced. A 4yz is
 * deferred, a 5yz bounced, anything else that does not belong to the phase is not understood and so deferred.
 */
export function verdictOf(phase: Phase, reply: Reply): Verdict {
  if (phase === 'dot' && isExpected(phase, reply)) return { outcome: { type: 'delivered', reply }, nextHost: false }
  const { category, hard: isHard } = judge(phase, reply)
  const reason = formatReply(reply)
  const nextHost = concernsHost(phase, reply)
  if (reply.code < 400) return { outcome: { type: 'deferred', reply, category: 'other', reason: `not expected: ${reason}` }, nextHost }
  if (reply.code < 500) return { outcome: { type: 'deferred', reply, category, reason }, nextHost }
  return { outcome: { type: 'bounced', reply, hard: isHard, category, reason }, nextHost }
}

/** A failure without a reply: the network, an answer that is none, or a host that lacks what the message needs. */
export const deferral = (category: BounceCategory, reason: string, nextHost = true): Verdict => ({
  outcome: { type: 'deferred', reply: null, category, reason },
  nextHost,
})

/** Given up by ourselves: no server said so. The reason begins with the enhanced code that fits (RFC 3463). */
export const bounce = (reason: string, category: BounceCategory, hardness: 'hard' | 'soft' = 'soft'): Outcome => ({
  type: 'bounced',
  reply: null,
  hard: hardness === 'hard',
  category,
  reason,
})

/**
 * One outcome of what several hosts said, in the order in which they were tried: a single one that may do better later
 * keeps the message; only where all refuse for good it is given up, and hard only where all say so.
 */
export function outcomeOfHosts(outcomes: Outcome[]): Outcome {
  const last = outcomes.at(-1)
  if (!last) return deferral('other', 'no host was tried').outcome
  const deferred = outcomes.findLast(({ type }) => type === 'deferred')
  if (deferred) return deferred
  return outcomes.find((outcome) => outcome.type === 'bounced' && !outcome.hard) ?? last
}

function concernsHost(phase: Phase, { code }: Reply): boolean {
  switch (phase) {
    case 'banner':
    case 'ehlo':
    case 'starttls':
      return true
    case 'mail':
      return code < 500 || code === 521
    case 'rcpt':
    case 'data':
      return code === 421
    case 'dot':
      return false
  }
}

function judge(phase: Phase, reply: Reply): Judgement {
  const judgement = judgeByCodes(phase, reply)
  // Whether an address exists is told at RCPT or, by some, after the data; a refusal before that is about us.
  const isAboutRecipient = phase === 'rcpt' || phase === 'dot' || phase === 'data' || reply.code === 521 || reply.code === 556
  if (judgement.hard && !isAboutRecipient) return soft('policy')
  return judgement.category === 'policy' && listed.test(reply.text) ? { ...judgement, category: 'reputation' } : judgement
}

function judgeByCodes(phase: Phase, reply: Reply): Judgement {
  const { code, enhancedCode, text } = reply
  const [, subject = '0', detail = '0'] = enhancedCode?.split('.') ?? []
  // RFC 7505 4.1, RFC 7504 3: the domain, or the host, takes no mail. Some say 521 and mean us.
  if (code === 556 || (code === 521 && subject !== '7')) return hard('invalid_recipient')
  const isDirectoryBlock = enhancedCode === '5.4.1' && /recipient address rejected/i.test(text)
  if (isDirectoryBlock && phase === 'rcpt') return hard('invalid_recipient')
  const known = byEnhancedCode[`${subject}.${detail}`] ?? byEnhancedCode[subject]
  if (known && detail !== '0') return known
  return (aboutSender.test(text) ? undefined : byText.find(([pattern]) => pattern.test(text))?.[1]) ?? known ?? judgeByPhase(phase, reply)
}

function judgeByPhase(phase: Phase, { code, text }: Reply): Judgement {
  if (aboutContent.test(text)) return soft('content_rejected')
  if (listed.test(text)) return soft('reputation')
  if (code >= 500 && (phase === 'banner' || phase === 'ehlo')) return soft(code === 554 ? 'reputation' : 'policy')
  switch (code) {
    case 452:
    case 552:
      return soft(phase === 'rcpt' ? 'mailbox_full' : 'content_rejected')
    case 530:
    case 550:
    case 554:
      return soft(phase === 'dot' ? 'content_rejected' : 'policy')
    // RFC 5321 3.4: the user has moved, and the text says where to.
    case 551:
      return phase === 'rcpt' ? hard('invalid_recipient') : soft('policy')
    case 553:
      return soft(phase === 'rcpt' ? 'invalid_recipient' : 'policy')
    default:
      return soft('other')
  }
}
