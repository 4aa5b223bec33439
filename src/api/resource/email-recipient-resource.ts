import { z } from 'zod'
import { recipientTypes } from '../../mail/message/envelope.ts'
import { isSimulatedSuppressed } from '../../mail-out/delivery/simulator.ts'
import { explanationOfSuppression, type Explanation } from '../../readers/explanation/explanation.ts'
import { explainAttempt, explainBounce, phaseOf } from '../../readers/explanation/explain-attempt.ts'
import { isoTimeOrNull } from '../../platform/iso-time.ts'
import type { LastBounce, LastFailure, RecipientRow } from '../../mail/message/message-reader.ts'
import { recipientStates, type RecipientState } from '../../mail-out/queue/recipient-state.ts'
import type { SuppressionRow } from '../../mail/suppression/suppression-list.ts'
import { resource, timeOrNull, timeAnswer } from '../operation/resource.ts'
import { explanationResource } from './explanation-resource.ts'
import { suppression } from './suppression-operations.ts'

export const recipientType = z.enum(recipientTypes)

/** Whether a recipient in this state has got no mail, and will get none. */
export const isLost = (state: string): boolean => state === 'bounced' || state === 'failed' || state === 'suppressed'

/** What the log says of the bounce of a recipient that is lost. */
export const bounceIn = ({ state }: RecipientRow, failure: LastFailure | undefined): LastBounce | undefined =>
  isLost(state) && failure?.type === 'email.bounced' ? failure.data : undefined

/** Why this recipient, who is lost or waits, got nothing: as the log tells of the bounce, else as the recipient's row does. */
export function explainRecipient(recipient: RecipientRow, failure: LastFailure | undefined): Explanation {
  const bounce = bounceIn(recipient, failure)
  const { state, last_response: reply, smtp_code: smtpCode, enhanced_status: enhancedStatus, provider } = recipient
  if (bounce) return explainBounce(bounce, provider)
  const phase = failure?.type === 'email.deferred' ? phaseOf(failure.data) : null
  const facts = { smtpCode, enhancedStatus, reply, provider, phase }
  if (state === 'deferred') return explainAttempt({ ...facts, outcome: 'deferred' })
  const category = state === 'suppressed' ? 'suppressed' : state === 'failed' ? 'internal_error' : undefined
  return explainAttempt({ ...facts, outcome: 'bounced', category })
}

interface ShownRecipient extends RecipientRow {
  failure: LastFailure | undefined
  stopping: SuppressionRow | undefined
}

/** For a suppressed recipient, the entry that stops the mail now, which may not be the one that did then. */
function explanationFor(row: ShownRecipient): Explanation | null {
  if (row.state === 'suppressed' && !isSimulatedSuppressed(row.forward_path)) return explanationOfSuppression(row.stopping?.origin ?? null)
  return isLost(row.state) || row.state === 'deferred' ? explainRecipient(row, row.failure) : null
}

/** A recipient of an email, and why it got nothing. */
export const emailRecipient = resource<ShownRecipient>('EmailRecipient')({
  email: [z.string(), 'forward_path'],
  type: recipientType,
  status: [z.enum(recipientStates), ({ state }) => state as RecipientState],
  attempts: z.int(),
  next_attempt_at: [timeAnswer.nullable(), ({ due_at: dueAt }) => isoTimeOrNull(dueAt)],
  last_response: z.string().nullable().describe("The receiving server's last reply, or why there was none."),
  smtp_code: z.int().nullable(),
  enhanced_status: z.string().nullable().describe('The enhanced status code of RFC 3463, such as 5.1.1.'),
  explanation: [
    explanationResource.schema.nullable().describe('Why it got nothing, or has to wait; null if it does not.'),
    (row) => {
      const explanation = explanationFor(row)
      return explanation && explanationResource.answer(explanation)
    },
  ],
  suppression: [
    suppression.schema
      .nullable()
      .describe(
        'For a recipient that got nothing: the entry of the suppression list that stops this email now, so that it cannot be sent again.',
      ),
    ({ stopping }) => (stopping ? suppression.answer(stopping) : null),
  ],
  delivered_at: timeOrNull(),
  bounced_at: timeOrNull(),
  opened_at: timeOrNull(),
  open_count: z.int(),
  clicked_at: timeOrNull(),
  click_count: z.int(),
  complained_at: timeOrNull(),
  unsubscribed_at: timeOrNull(),
})
