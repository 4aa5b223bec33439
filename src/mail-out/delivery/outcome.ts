import { classifyRefusal } from '../../mail/bounce-vocabulary.ts'
import type { BounceCategory, RefusalPhase } from '../../mail/bounce-parser/refusal.ts'
import { formatReply, type Reply } from '../../platform/smtp/reply.ts'
import type { Bounced, Outcome } from './attempt.ts'
import type { TlsTrouble } from './tls-policy.ts'

/** What a reply answers; `dot` is the end of the message data. */
export type Phase = Exclude<RefusalPhase, 'report'>

/** One host's result for a recipient. */
export interface HostOutcome {
  outcome: Outcome
  /**
   * True if the problem is the host, not the recipient, so another MX host may do better; `of another owner` if it refuses us, as all hosts
   * of its owner would; `of another name` if it lacks what the message needs, as it does at each of its addresses.
   */
  nextHost: boolean | 'of another owner' | 'of another name'
  /** How TLS failed, if that is the problem. */
  tlsTrouble?: TlsTrouble | undefined
  /** True if this machine does not have the address to connect from. */
  lacksSource?: boolean | undefined
  /** True if the smarthost requires a login. */
  lacksLogin?: true
}

/** True if the server gave the reply that the phase needs, so the dialogue goes on. */
export function isExpected(phase: Phase, { code }: Reply): boolean {
  if (phase === 'starttls') return code === 220
  if (phase === 'data') return code === 354
  return code >= 200 && code < 300
}

/** True of a code that says what becomes of the message, if it answers the whole of it. */
export const isDecisive = ({ code }: Reply): boolean => code >= 200 && code < 600 && Math.floor(code / 100) !== 3

/**
 * True of a refusal that is about the command (unknown, or in the wrong place), not about what it names: unless the enhanced status says
 * more than that, and 501, 504 and 555, which are about parameters.
 */
export function isAboutCommand({ code, enhancedStatus }: Reply): boolean {
  if (code !== 500 && code !== 502 && code !== 503) return false
  return enhancedStatus === null || /^5\.[05]\./.test(enhancedStatus)
}

/**
 * What a reply in a phase means: the one place that decides between delivered, deferred and bounced. A 4yz is deferred, a 5yz bounced
 * if it is about the mail; anything that does not fit the phase is not understood, and so deferred.
 */
export function hostOutcomeOf(phase: Phase, reply: Reply, remoteHost: string | null = null): HostOutcome {
  if (phase === 'dot' && isExpected(phase, reply)) return { outcome: { type: 'delivered', reply }, nextHost: false }
  const { category, hard, inWords } = classifyRefusal({ ...reply, phase, remoteHost })
  const reason = formatReply(reply)
  const nextHost = concernsHost(phase, reply)
  if (reply.code < 400 || reply.code >= 600)
    return { outcome: { type: 'deferred', reply, category: 'other', reason: `not expected: ${reason}`, phase }, nextHost }
  const deferred: HostOutcome = { outcome: { type: 'deferred', reply, category, reason, phase }, nextHost }
  if (reply.code < 500) return deferred
  // RFC 5321 4.5.3.1.10: hosts say 552 where they mean 452.
  if (phase === 'rcpt' && reply.code === 552 && !hard) return deferred
  // It comes before the host knows anything about the mail: it is about us, and perhaps temporary. If a host accepts no mail at all,
  // that is hard.
  if (phase === 'banner' && !hard) return { ...deferred, nextHost: 'of another owner' }
  if ((phase === 'ehlo' || phase === 'starttls') && !hard) return deferred
  if (phase !== 'dot' && isAboutCommand(reply) && !hard) return { ...deferred, nextHost: true }
  return { outcome: { type: 'bounced', reply, hard, category, reason, phase, inWords }, nextHost }
}

/** A failure without a reply: the network, an unreadable answer, or a host that lacks what the message needs. */
export const deferral = (category: BounceCategory, reason: string, nextHost = true): HostOutcome => ({
  outcome: { type: 'deferred', reply: null, category, reason },
  nextHost,
})

/** How the reason begins if the host's answer to the whole message says neither yes nor no, and no other. */
export const unclearStatus = '4.5.0'

/** @param said what the host answered */
export const unclear = (host: string, said: string): HostOutcome => ({
  outcome: {
    type: 'deferred',
    reply: null,
    category: 'other',
    reason: `${unclearStatus} ${host} broke the SMTP protocol: its answer to the message is neither yes nor no, but ${said}. It may have the message.`,
    isUnclear: true,
  },
  nextHost: false,
})

/** Given up by us, without a server saying so. The reason begins with the fitting enhanced status (RFC 3463). */
export const bounce = (reason: string, category: BounceCategory, hardness: 'hard' | 'soft' = 'soft'): Bounced => ({
  type: 'bounced',
  reply: null,
  hard: hardness === 'hard',
  category,
  reason,
})

/** The same, but the mail stays. */
export const asDeferral = (outcome: Outcome): Outcome =>
  outcome.type === 'bounced'
    ? { type: 'deferred', reply: outcome.reply, category: outcome.category, reason: outcome.reason, phase: outcome.phase }
    : outcome

/** True if only the DNS says that the mail has nowhere to go. */
export const isAbsence = (outcome: Outcome): outcome is Bounced & { isAbsence: true } =>
  outcome.type === 'bounced' && outcome.isAbsence === true

/**
 * One outcome from what several hosts said, in order: if a single one may do better later, the message stays; it is given up only if all
 * refuse for good, and hard only if all say so.
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
