import type { SuppressionPolicy } from '../../senders/account/account-policy.ts'
import { simulatorDomain } from '../../mail-out/delivery/simulator.ts'
import { recordHappening } from '../../mail/event/event-log.ts'
import { bounceLate, complainLate, type LateResult } from '../../mail-out/queue/late-result.ts'
import type { Statement } from '../../platform/store/database.ts'
import { suppressAfterBounce, suppressAfterComplaint } from '../../mail/suppression/suppression-policy.ts'
import type { ReturnedMail } from './returned-mail-store.ts'
import type { Complaint } from '../../mail/bounce-parser/feedback.ts'
import type { ProvenBounce } from './match-feedback.ts'
import type { ReturnedMailOutcome } from './returned-mail-handler.ts'
import type { FeedbackSubject } from './feedback-subject.ts'

/**
 * Settles a returned message. If it is already settled, the whole batch fails.
 * `now`: epoch, ms
 */
export const settleReturnedMail = (
  { id }: Pick<ReturnedMail, 'id'>,
  { result, summary, about }: ReturnedMailOutcome,
  now: number,
): Statement => ({
  sql: `update incoming_report
           set state = 'done', result = :result, summary = :summary, account_id = :accountId, message_id = :messageId,
               recipient_id = coalesce(:recipientId, recipient_id), settled_at = :now
         where id = :id and state = 'received'`,
  params: {
    id,
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

/** What a late bounce writes: the recipient's state, its event, and the suppression. */
export function settleBounce(
  { event, forwardPath: address, destination }: FeedbackSubject,
  bounce: ProvenBounce & { saidBefore?: number | undefined },
  policy: SuppressionPolicy,
  now: number,
): Statement[] {
  const { status: enhancedStatus, ...judged } = bounce
  const failure = { ...judged, enhancedStatus }
  const late = bounceLate(event.recipientId, failure, now)
  const suppressed = destination === simulatorDomain ? [] : suppressAfterBounce(event, { ...event, address, ...failure }, policy, now)
  return [...moveAndTell(event, late, now), ...suppressed]
}

/** The same for a complaint. */
export function settleComplaint(
  { event, forwardPath: address, destination }: FeedbackSubject,
  complaint: Complaint,
  policy: SuppressionPolicy,
  now: number,
): Statement[] {
  const { feedbackType, reportedBy } = complaint
  const reason = `Complaint (${feedbackType})${reportedBy === null ? '' : ` reported by ${reportedBy}`}`
  const suppressed = destination === simulatorDomain ? [] : suppressAfterComplaint(event, { ...event, address, reason }, policy, now)
  return [...moveAndTell(event, complainLate(event.recipientId, complaint, now), now), ...suppressed]
}

const moveAndTell = (about: FeedbackSubject['event'], { guard, event }: LateResult, now: number): Statement[] => [
  guard,
  recordHappening(about, event, now),
]
