import type { SuppressionPolicy } from '../../senders/account/account-policy.ts'
import { simulatorDomain } from '../../mail-out/delivery/simulator.ts'
import { recordHappening } from '../../mail/event/event-log.ts'
import { bounceLate, complainLate, deliverLate, type LateResult } from '../../mail-out/queue/late-result.ts'
import type { Statement } from '../../platform/store/database.ts'
import { noteHarm } from '../../mail/suppression/note-harm.ts'
import { isHarmful } from '../../readers/explanation/harmful-bounce.ts'
import { suppressAfterBounce, suppressAfterComplaint } from '../../mail/suppression/suppression-policy.ts'
import type { Complaint } from '../../mail/bounce-parser/feedback.ts'
import type { ProvenBounce, ReportedDelivery } from './match-feedback.ts'
import type { ReturnedMailOutcome } from './returned-mail-handler.ts'
import type { FeedbackSubject } from './feedback-subject.ts'

/**
 * Settles a returned message. If it is already settled, or somebody else handles it, the whole batch fails.
 * `now`: epoch, ms
 */
export const settleReturnedMail = (
  claim: { id: string; owner: string },
  { result, summary, about }: ReturnedMailOutcome,
  now: number,
): Statement => ({
  sql: `update returned_mail
           set state = 'done', owner = null, due_at = null, result = :result, summary = :summary, account_id = :accountId, message_id = :messageId,
               recipient_id = coalesce(:recipientId, recipient_id), settled_at = :now
         where id = :id and owner = :owner`,
  params: {
    ...claim,
    result,
    summary: summary === null ? null : JSON.stringify(summary),
    accountId: about?.accountId ?? null,
    messageId: about?.messageId ?? null,
    recipientId: about?.recipientId ?? null,
    now,
  },
  expect: 1,
  guard: 'returned-mail',
})

/** Has it handled again later. */
export const retryReturnedMail = (claim: { id: string; owner: string }, dueAt: number): Statement => ({
  sql: 'update returned_mail set owner = null, due_at = :dueAt, retries = retries + 1 where id = :id and owner = :owner',
  params: { ...claim, dueAt },
  expect: 1,
})

/** What a late bounce writes: the recipient's state, its event, the suppression, and what it counts against the account. */
export function settleBounce(
  { event, forwardPath: address, destination }: FeedbackSubject,
  bounce: ProvenBounce & { saidBefore?: number | undefined; reportedBy?: string | undefined },
  policy: SuppressionPolicy,
  now: number,
): Statement[] {
  const { status: enhancedStatus, ...judged } = bounce
  const failure = { ...judged, enhancedStatus }
  const late = bounceLate(event.recipientId, failure, now)
  if (destination === simulatorDomain) return moveAndTell(event, late, now)
  const { hard, smtpCode, category, reason: reply } = failure
  const isHeldAgainst = hard && isHarmful({ smtpCode, enhancedStatus, reply, category, phase: null, provider: null })
  return [
    ...moveAndTell(event, late, now),
    ...suppressAfterBounce(event, { ...event, address, ...failure }, policy, now),
    ...(isHeldAgainst ? noteHarm(event, 'hard_bounce', { ...event, address }, now) : []),
  ]
}

/** What the smarthost's report of a delivery writes. Suppressions are left alone: its acceptance has ended any soft bounces. */
export const settleDelivery = (
  { event }: FeedbackSubject,
  { status: enhancedStatus, smtpCode, reason }: ReportedDelivery,
  reportedBy: string,
  now: number,
): Statement[] => moveAndTell(event, deliverLate(event.recipientId, { enhancedStatus, smtpCode, reason, reportedBy }, now), now)

/** As `settleBounce`, for a complaint. */
export function settleComplaint(
  { event, forwardPath: address, destination }: FeedbackSubject,
  complaint: Complaint,
  policy: SuppressionPolicy,
  now: number,
): Statement[] {
  const { feedbackType, reportedBy } = complaint
  const reason = `Complaint (${feedbackType})${reportedBy === null ? '' : ` reported by ${reportedBy}`}`
  const told = moveAndTell(event, complainLate(event.recipientId, complaint, now), now)
  if (destination === simulatorDomain) return told
  return [
    ...told,
    ...suppressAfterComplaint(event, { ...event, address, reason }, policy, now),
    ...noteHarm(event, 'complaint', { ...event, address }, now),
  ]
}

const moveAndTell = (about: FeedbackSubject['event'], { guard, event }: LateResult, now: number): Statement[] => [
  guard,
  recordHappening(about, event, now),
]
