import type { Deferred, Outcome } from '../delivery/attempt.ts'
import type { RefusalPhase } from '../../mail/bounce-parser/refusal.ts'
import type { Happening } from '../../mail/event/event-log.ts'
import { isoTime } from '../../platform/iso-time.ts'
import type { Reply } from '../../platform/smtp/reply.ts'
import { reasonInWords, type FinalFailure } from '../../mail/suppression/suppression-policy.ts'

/** The state of a recipient of an email; those after `deferred` are final. */
export const recipientStates = [
  'scheduled',
  'queued',
  'deferred',
  'sent',
  'delivered',
  'bounced',
  'complained',
  'suppressed',
  'failed',
  'canceled',
] as const
export type RecipientState = (typeof recipientStates)[number]

/** What an outcome does to a recipient. */
export interface Move {
  state: RecipientState
  /** Epoch ms; null if nothing more will be tried. */
  dueAt: number | null
  events: Happening[]
  /** Why it was given up, if that says something about the address; null if it does not, or it was not given up. */
  bounce: FinalFailure | null
}

interface RecipientProgress {
  /** Attempts made, not counting the one that just ended. */
  attempts: number
}

interface MoveContext {
  now: number
  /** When the attempt began, epoch ms. */
  beganAt: number
  /** When a deferred recipient would be tried again, epoch ms; null if its time is over. */
  retryAt: number | null
  /** True if a smarthost accepted the message: it is responsible for delivery, and we do not see it. */
  viaSmarthost: boolean
}

const maxReasonLength = 1000

/**
 * The state machine of a recipient: what the outcome of an attempt leads to. `email.sent` is recorded once, with the first attempt
 * whatever its outcome, so that it precedes every final event; its time is that of the attempt's beginning.
 */
export function moveAfter(outcome: Outcome, progress: RecipientProgress, context: MoveContext): Move {
  const { now } = context
  const sent = progress.attempts === 0 ? [sentEvent(context.beganAt)] : []
  switch (outcome.type) {
    case 'delivered':
      if (context.viaSmarthost) {
        const relayed = { type: 'email.relayed', data: { relayed_at: isoTime(now) } } as const
        return { state: 'sent', dueAt: null, events: [...sent, relayed], bounce: null }
      }
      return {
        state: 'delivered',
        dueAt: null,
        events: [...sent, { type: 'email.delivered', data: { delivered_at: isoTime(now) } }],
        bounce: null,
      }
    case 'deferred': {
      if (context.retryAt === null) return moveExpired(progress, outcome, context)
      const data = {
        deferred_at: isoTime(now),
        next_attempt_at: isoTime(context.retryAt),
        reason: outcome.reason.slice(0, maxReasonLength),
        ...(outcome.phase && { phase: outcome.phase }),
      }
      return { state: 'deferred', dueAt: context.retryAt, events: [...sent, { type: 'email.deferred', data }], bounce: null }
    }
    case 'bounced': {
      const { hard, category, reply, reason, phase, inWords, saidBefore } = outcome
      return {
        state: category === 'internal_error' ? 'failed' : 'bounced',
        dueAt: null,
        events: [...sent, bouncedEvent(now, { hard, category, reply, reason, phase, saidBefore })],
        bounce: { hard, category, reason, inWords, saidBefore, ...codesOf({ reply, reason }) },
      }
    }
  }
}

/**
 * What happens to a deferred recipient that has expired: no further attempt, a soft bounce with the last reply. `beganAt`: when the attempt
 * began that has just ended, if there was one.
 */
export function moveExpired(
  progress: RecipientProgress,
  last: Pick<Deferred, 'reply' | 'reason' | 'phase'>,
  { now, beganAt = now }: { now: number; beganAt?: number },
): Move {
  const reason = `Given up: not delivered in time. Last: ${last.reason}`
  const sent = progress.attempts === 0 ? [sentEvent(beganAt)] : []
  const bounce = { hard: false, category: 'expired' as const, reason, ...codesOf(last) }
  return {
    state: 'bounced',
    dueAt: null,
    events: [...sent, bouncedEvent(now, { ...bounce, reply: last.reply, phase: last.phase })],
    bounce,
  }
}

/** What happens to a recipient that an operator bounces: no further attempt, a soft bounce with the last reply. */
export function moveEndedByOperator(progress: RecipientProgress, last: { reply: Reply | null; reason: string | null }, now: number): Move {
  const reason = `Given up by the operator of the relay. Last: ${last.reason ?? 'no attempt was made'}`
  const sent = progress.attempts === 0 ? [sentEvent(now)] : []
  const bounced = bouncedEvent(now, { hard: false, category: 'other', reply: last.reply, reason })
  return { state: 'bounced', dueAt: null, events: [...sent, bounced], bounce: null }
}

/** What happens to a recipient on the suppression list: nothing is sent, so no `email.sent`. */
export function moveSuppressed(now: number): Move {
  const reason =
    'The address is on the suppression list: an earlier message to it bounced or was complained about, or somebody added it by hand.'
  return {
    state: 'suppressed',
    dueAt: null,
    events: [bouncedEvent(now, { hard: true, category: 'suppressed', reply: null, reason })],
    bounce: null,
  }
}

const sentEvent = (at: number): Happening => ({ type: 'email.sent', data: { sent_at: isoTime(at) }, at })

/** The event of a recipient that was given up, with its fields in order. */
export const bouncedEvent = (
  now: number,
  bounce: Pick<FinalFailure, 'hard' | 'category' | 'reason' | 'saidBefore'> & {
    reply: ReportedReply | null
    phase?: RefusalPhase | undefined
    reportedBy?: string | undefined
  },
): Happening => ({
  type: 'email.bounced',
  data: {
    bounced_at: isoTime(now),
    bounce_type: bounce.hard ? 'hard' : 'soft',
    bounce_category: bounce.category,
    smtp_code: bounce.reply?.code ?? null,
    enhanced_status: bounce.reply?.enhancedStatus ?? ownEnhancedStatus(bounce.reason),
    reason: reasonInWords(bounce, now).slice(0, maxReasonLength),
    ...(bounce.phase && { phase: bounce.phase }),
    ...(bounce.reportedBy !== undefined && { reported_by: bounce.reportedBy }),
  },
})

/** The text of a reply as feedback shows it: often only the enhanced status. */
interface ReportedReply {
  code: number | null
  enhancedStatus: string | null
}

const codesOf = ({ reply, reason }: { reply: Reply | null; reason: string }): Pick<FinalFailure, 'smtpCode' | 'enhancedStatus'> => ({
  smtpCode: reply?.code ?? null,
  enhancedStatus: reply?.enhancedStatus ?? ownEnhancedStatus(reason),
})

/** A text of our own begins with the code that a server would have given. */
const ownEnhancedStatus = (reason: string): string | null => /^[245]\.\d{1,3}\.\d{1,3}(?= )/.exec(reason)?.[0] ?? null
