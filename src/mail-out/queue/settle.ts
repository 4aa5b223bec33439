import type { SuppressionPolicy } from '../../senders/account/account-policy.ts'
import { systemAccountId } from '../../senders/account/system-account.ts'
import type { Attempt } from '../delivery/attempt.ts'
import { mxProviderOf } from '../delivery/mx-provider.ts'
import { simulatorDomain, type Reaction } from '../delivery/simulator.ts'
import { recordEvent, recordHappening, type EventSubject } from '../../mail/event/event-log.ts'
import { isoTime } from '../../platform/iso-time.ts'
import type { Statement } from '../../platform/store/database.ts'
import { noteHarm } from '../../mail/suppression/note-harm.ts'
import { isHarmful } from '../../readers/explanation/harmful-bounce.ts'
import { noteDelivered, suppressAfterBounce } from '../../mail/suppression/suppression-policy.ts'
import { insertAttempt, moveRecipient, type LastResponse, type QueuedMessage, type QueuedRecipient } from './queue-store.ts'
import { moveAfter, moveExpired, moveSuppressed, type Move } from './recipient-state.ts'
import { retryAt } from './retry-schedule.ts'
import { confirmAbsence } from './confirm-absence.ts'

/** A change of a recipient's state, to be written completely. */
export interface Settlement {
  batch: Statement[]
  /** When the recipient is due again, epoch ms; null if this was the end. */
  dueAt: number | null
  /** The recipient's final outcome; null if it is tried again. */
  result: Result | null
}

/** What finally happens to a recipient. */
export type Result = 'delivered' | 'sent' | 'bounced' | 'expired' | 'suppressed' | 'failed'

interface SettleContext {
  /** Who has claimed the recipient. */
  owner: string
  now: number
  /** Of the account, ms; the last one repeats. */
  retrySchedule: readonly number[]
  viaSmarthost: boolean
  /** No retry waits longer than this, ms; default: as the schedule says. */
  maxWaitMs?: number | undefined
  /** True if the name servers are not to be believed. */
  isResolverSuspect: boolean
  /** 0 … 1 */
  random: number
  policyFor(accountId: string): SuppressionPolicy
}

/** What to write after an attempt: the recipient's new state, the attempt, the events, the suppression. */
export function settleAttempt(message: QueuedMessage, recipient: QueuedRecipient, made: Attempt, context: SettleContext): Settlement {
  const { now, retrySchedule, maxWaitMs, viaSmarthost, random, owner } = context
  const { attempt, nxdomainSince, askAgainAt } = confirmAbsence(made, recipient, context)
  const { attempts, expiresAt } = recipient
  // A clock that was set meanwhile does not make it begin before it could, nor after its end.
  const beganAt = Math.min(now, Math.max(message.firstDueAt, now - attempt.durationMs))
  const due = askAgainAt ?? retryAt(attempts + 1, { schedule: retrySchedule, expiresAt, maxWaitMs, now, random })
  const move = moveAfter(attempt.outcome, recipient, { now, beganAt, retryAt: due, viaSmarthost })
  const last = lastResponseOf(attempt)
  const batch = [
    moveRecipient(recipient.id, owner, move, {
      attempted: true,
      last,
      nxdomainSince,
      mxHost: attempt.mxHost,
      transport: attempt.transport,
      now,
    }),
    insertAttempt(attempt, message.id, { beganAt, endedAt: now }),
    ...eventsOf(message, recipient, move, now),
    ...suppressionAfter({ message, recipient, move }, context.policyFor, now),
    ...harmAfter({ message, recipient, move }, attempt, now),
  ]
  return { batch, dueAt: move.dueAt, result: resultOf(move) }
}

/** What to write for a recipient that is no longer tried: its time is over, or it was suppressed in the meantime. */
export function settleUntried(
  message: QueuedMessage,
  recipient: QueuedRecipient,
  { owner, now, policyFor }: Pick<SettleContext, 'owner' | 'now' | 'policyFor'>,
): Settlement {
  const last: LastResponse = { text: recipient.lastResponse, code: recipient.smtpCode, enhancedStatus: recipient.enhancedStatus }
  const reply = last.code === null ? null : { code: last.code, enhancedStatus: last.enhancedStatus, text: last.text ?? '' }
  const move = recipient.suppressed
    ? moveSuppressed(now)
    : moveExpired(recipient, { reply, reason: last.text ?? 'no attempt was made' }, { now })
  const batch = [
    moveRecipient(recipient.id, owner, move, { attempted: false, last, nxdomainSince: recipient.nxdomainSince, now }),
    ...eventsOf(message, recipient, move, now),
    ...suppressionAfter({ message, recipient, move }, policyFor, now),
  ]
  return { batch, dueAt: null, result: resultOf(move) }
}

function resultOf({ state, bounce }: Move): Result | null {
  if (bounce?.category === 'expired') return 'expired'
  return state === 'delivered' || state === 'sent' || state === 'bounced' || state === 'suppressed' || state === 'failed' ? state : null
}

/** What a change of state means for the suppression list. */
function suppressionAfter(
  { message, recipient, move }: { message: QueuedMessage; recipient: QueuedRecipient; move: Move },
  policyFor: SettleContext['policyFor'],
  now: number,
): Statement[] {
  if (message.accountId === systemAccountId || recipient.destination === simulatorDomain) return []
  const mail = { address: recipient.forwardPath, messageId: message.id, recipientId: recipient.id }
  if (move.state === 'delivered' || move.state === 'sent') return noteDelivered(message, mail, policyFor(message.accountId), now)
  return move.bounce ? suppressAfterBounce(message, { ...mail, ...move.bounce }, policyFor(message.accountId), now) : []
}

/** Whether a hard bounce is held against the account. */
function harmAfter(
  { message, recipient, move }: { message: QueuedMessage; recipient: QueuedRecipient; move: Move },
  { outcome, mxHost }: Attempt,
  now: number,
): Statement[] {
  const { bounce } = move
  if (!bounce?.hard || recipient.destination === simulatorDomain) return []
  const { smtpCode, enhancedStatus, reason: reply, category } = bounce
  const phase = ('phase' in outcome && outcome.phase) || null
  const provider = mxHost === null ? null : mxProviderOf(mxHost)
  return isHarmful({ smtpCode, enhancedStatus, reply, category, phase, provider })
    ? noteHarm(message, 'hard_bounce', { recipientId: recipient.id, address: recipient.forwardPath }, now)
    : []
}

const subjectOf = (message: QueuedMessage, recipient: QueuedRecipient): EventSubject => ({
  accountId: message.accountId,
  messageId: message.id,
  recipientId: recipient.id,
  to: recipient.forwardPath,
  subject: message.subject,
  sandbox: message.sandbox,
})

function eventsOf(message: QueuedMessage, recipient: QueuedRecipient, { events }: Move, now: number): Statement[] {
  const subject = subjectOf(message, recipient)
  return events.map((event) => recordHappening(subject, event, now))
}

function lastResponseOf({ outcome }: Attempt): LastResponse {
  const { reply } = outcome
  const text = outcome.type === 'delivered' ? `${outcome.reply.code} ${outcome.reply.text}` : outcome.reason
  return { text, code: reply?.code ?? null, enhancedStatus: reply?.enhancedStatus ?? null }
}

/** What a simulated recipient does once the message has arrived; the address can be a person's only in the sandbox. */
export function recordReactions(message: QueuedMessage, recipient: QueuedRecipient, reactions: Reaction[], now: number): Statement[] {
  const at = isoTime(now)
  const machine = { ip_address: null, user_agent: 'Sterna simulator', bot: false }
  return reactions.flatMap((reaction) => {
    const record = (data: Record<string, string | boolean | null>) =>
      recordEvent(subjectOf(message, recipient), `email.${reaction}`, data, now)
    const update = (set: string): Statement => ({
      sql: `update recipient set ${set} where id = :id`,
      params: { id: recipient.id, now },
    })
    switch (reaction) {
      case 'opened':
        return [update('opened_at = :now, open_count = open_count + 1'), record({ opened_at: at, ...machine })]
      case 'clicked':
        return [
          update('clicked_at = :now, click_count = click_count + 1'),
          record({ clicked_at: at, link: `https://${simulatorDomain}/`, ...machine }),
        ]
      case 'complained':
        return [
          update("complained_at = :now, state = 'complained'"),
          record({ complained_at: at, feedback_type: 'abuse', reported_by: simulatorDomain }),
        ]
      case 'unsubscribed':
        return [update('unsubscribed_at = :now'), record({ unsubscribed_at: at, method: 'one_click' })]
    }
  })
}
