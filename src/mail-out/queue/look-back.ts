import type { SuppressionPolicy } from '../../senders/account/account-policy.ts'
import type { Attempt, Deferred, Outcome } from '../delivery/attempt.ts'
import { bounce, unclearStatus } from '../delivery/outcome.ts'
import type { Database } from '../../platform/store/database.ts'
import { withEarlierBounce } from '../../mail/suppression/suppression-policy.ts'
import type { QueuedMessage, QueuedRecipient } from './queue-store.ts'

interface LookBackContext {
  db: Pick<Database, 'read' | 'slowRead'>
  policy: SuppressionPolicy
  now: number
}

/** True of the few outcomes that mean something else the second time. */
export const needsLookBack = (outcome: Outcome): boolean =>
  (outcome.type === 'bounced' && outcome.inWords === true) || (outcome.type === 'deferred' && outcome.isUnclear === true)

/** The attempt in the light of what was said before. Queries the database. */
export async function lookBack(
  made: Attempt,
  { message, recipient }: { message: QueuedMessage; recipient: QueuedRecipient },
  context: LookBackContext,
): Promise<Attempt> {
  const { outcome } = made
  if (outcome.type === 'bounced') {
    const { accountId, sandbox } = message
    const mail = { accountId, sandbox, address: recipient.forwardPath, recipientId: recipient.id }
    return { ...made, outcome: await withEarlierBounce(outcome, mail, context) }
  }
  if (outcome.type === 'delivered' || !(await wasUnclear(context.db, message.id, recipient.id))) return made
  return { ...made, outcome: unclearAgain(outcome) }
}

/** True if a host has answered the message before with what says neither yes nor no. */
async function wasUnclear(db: LookBackContext['db'], messageId: string, recipientId: string): Promise<boolean> {
  const found = await db.read<{ id: string }>(
    `select id from attempt
      where message_id = :messageId and recipient_id = :recipientId and outcome = 'deferred' and reply like :begin
      limit 1`,
    { messageId, recipientId, begin: `${unclearStatus} %` },
  )
  return found.length > 0
}

/** The host may have the message, so each attempt may make a copy: it has had one more, and that is enough. */
const unclearAgain = ({ reason, category }: Deferred): Outcome =>
  bounce(`${reason.replace(/^4/, '5')} It answered an earlier attempt no better, so the message is not sent again.`, category)
