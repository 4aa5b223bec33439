import { isoTime } from '../../platform/iso-time.ts'
import type { Happening } from '../../mail/event/event-log.ts'
import type { Statement } from '../../platform/store/database.ts'
import type { FinalFailure } from '../../mail/suppression/suppression-policy.ts'
import { bouncedEvent } from './recipient-state.ts'

/** A change of a recipient that had already left the queue. */
export interface LateResult {
  /** They contain conditions and expected numbers of rows: if somebody else was first, nothing of the batch is written. */
  guard: Statement
  event: Happening
}

/** A result that came back after a server had accepted the message. */
interface LateBounce extends Pick<FinalFailure, 'hard' | 'category' | 'smtpCode' | 'enhancedStatus' | 'reason' | 'saidBefore'> {
  /** The service that reported it; undefined if the mail itself came back. */
  reportedBy?: string | undefined
}

/** A smarthost reports that the recipient's server has accepted the message. */
export const deliverLate = (
  recipientId: string,
  { reason, smtpCode, enhancedStatus, reportedBy }: Pick<LateBounce, 'reason' | 'smtpCode' | 'enhancedStatus'> & { reportedBy: string },
  now: number,
): LateResult => ({
  guard: {
    sql: `update recipient
             set state = 'delivered', delivered_at = :now, last_response = :reason, smtp_code = :code, enhanced_status = :enhancedStatus
           where id = :id and state = 'sent'`,
    params: { id: recipientId, now, reason, code: smtpCode, enhancedStatus },
    expect: 1,
  },
  event: { type: 'email.delivered', data: { delivered_at: isoTime(now), reported_by: reportedBy } },
})

/** The recipient's mail system accepted the message and gave it up afterwards. */
export const bounceLate = (recipientId: string, bounce: LateBounce, now: number): LateResult => ({
  guard: {
    sql: `update recipient
             set state = 'bounced', bounced_at = :now, last_response = :reason, smtp_code = :code, enhanced_status = :enhancedStatus
           where id = :id and state in ('delivered', 'sent')`,
    params: { id: recipientId, now, reason: bounce.reason, code: bounce.smtpCode, enhancedStatus: bounce.enhancedStatus },
    expect: 1,
  },
  event: bouncedEvent(now, { ...bounce, reply: { code: bounce.smtpCode, enhancedStatus: bounce.enhancedStatus } }),
})

/**
 * The recipient calls the message spam. A recipient that has bounced in the meantime stays bounced: neither kind of feedback undoes the
 * other, but the complaint is recorded and reported.
 */
export const complainLate = (
  recipientId: string,
  complaint: { feedbackType: string; reportedBy: string | null },
  now: number,
): LateResult => ({
  guard: {
    sql: `update recipient
             set state = case when state = 'bounced' then 'bounced' else 'complained' end, complained_at = :now
           where id = :id and complained_at is null
             and (state in ('delivered', 'sent') or (state = 'bounced' and delivered_at is not null))`,
    params: { id: recipientId, now },
    expect: 1,
  },
  event: {
    type: 'email.complained',
    data: { complained_at: isoTime(now), feedback_type: complaint.feedbackType, reported_by: complaint.reportedBy },
  },
})
