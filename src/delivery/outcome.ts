import { classifyRefusal } from '../bounce-vocabulary.ts'
import type { BounceCategory, RefusalPhase } from '../bounce-parser/refusal.ts'
import { formatReply, type Reply } from '../smtp/reply.ts'
import type { Bounced, Outcome } from './attempt.ts'
import type { TlsTrouble } from './tls-policy.ts'

/** What a reply answers; `dot` is the end of the message data. */
export type Phase = Exclude<RefusalPhase, 'report'>

/** What one host made of a recipient. */
export interface Verdict {
  outcome: Outcome
  /**
   * True where the host, not the recipient, is the matter, so that another MX host may do better; `of another owner` where
   * it refuses us, as all hosts of its owner would.
   */
  nextHost: boolean | 'of another owner'
  /** How TLS failed, where that is the matter. */
  tlsTrouble?: TlsTrouble | undefined
  /** True where it is the smarthost that wants a login. */
  lacksLogin?: true
}

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
export function verdictOf(phase: Phase, reply: Reply, remoteHost: string | null = null): Verdict {
  if (phase === 'dot' && isExpected(phase, reply)) return { outcome: { type: 'delivered', reply }, nextHost: false }
  const { category, hard, inWords } = classifyRefusal({ ...reply, phase, remoteHost })
  const reason = formatReply(reply)
  // Said before anything of the mail is known: it is about us, and may be about now. A host that takes no mail is judged hard.
  if (phase === 'banner' && reply.code >= 500 && !hard) {
    return { outcome: { type: 'deferred', reply, category, reason }, nextHost: 'of another owner' }
  }
  const nextHost = concernsHost(phase, reply)
  if (reply.code < 400) return { outcome: { type: 'deferred', reply, category: 'other', reason: `not expected: ${reason}` }, nextHost }
  if (reply.code < 500) return { outcome: { type: 'deferred', reply, category, reason }, nextHost }
  return { outcome: { type: 'bounced', reply, hard, category, reason, inWords }, nextHost }
}

/** A failure without a reply: the network, an answer that is none, or a host that lacks what the message needs. */
export const deferral = (category: BounceCategory, reason: string, nextHost = true): Verdict => ({
  outcome: { type: 'deferred', reply: null, category, reason },
  nextHost,
})

/** Given up by ourselves: no server said so. The reason begins with the enhanced code that fits (RFC 3463). */
export const bounce = (reason: string, category: BounceCategory, hardness: 'hard' | 'soft' = 'soft'): Bounced => ({
  type: 'bounced',
  reply: null,
  hard: hardness === 'hard',
  category,
  reason,
})

/** True where the DNS alone says that there is nowhere to bring the mail. */
export const isAbsence = (outcome: Outcome): outcome is Bounced & { isAbsence: true } =>
  outcome.type === 'bounced' && outcome.isAbsence === true

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
