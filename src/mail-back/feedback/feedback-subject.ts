import { inUse } from '../../senders/account/accounts.ts'
import { subjectOfRow, type EventSubject, type SubjectRow } from '../../mail/event/event-log.ts'
import type { RecipientState } from '../../mail-out/queue/recipient-state.ts'
import type { Database } from '../../platform/store/database.ts'
import type { MatchedRecipient } from './match-feedback.ts'

/** The recipient that feedback is about: its state, and what its events need to know. */
export interface FeedbackSubject extends MatchedRecipient {
  event: EventSubject
  /** The domain of the forward-path. */
  destination: string
}

interface RecipientRow extends SubjectRow {
  destination: string
  state: RecipientState
  owner: string | null
  delivered_at: number | null
  complained_at: number | null
}

/** Null if the recipient is no longer stored, or its account was closed. */
export async function readFeedbackSubject(db: Pick<Database, 'read'>, recipientId: string): Promise<FeedbackSubject | null> {
  const [row] = await db.read<RecipientRow>(
    `select r.message_id, r.account_id, r.forward_path, r.destination, r.state, r.owner, r.delivered_at, r.complained_at, m.subject, m.sandbox
       from recipient r join message m on m.id = r.message_id join account a on a.id = r.account_id
      where r.id = :recipientId and a.status ${inUse}`,
    { recipientId },
  )
  return row ? subjectOf(recipientId, row) : null
}

const subjectOf = (recipientId: string, row: RecipientRow): FeedbackSubject => ({
  forwardPath: row.forward_path,
  destination: row.destination,
  state: row.state,
  isInHand: row.owner !== null,
  deliveredAt: row.delivered_at,
  complainedAt: row.complained_at,
  event: subjectOfRow(recipientId, row),
})
