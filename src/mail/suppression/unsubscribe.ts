import { inUse } from '../../senders/account/accounts.ts'
import { recordEvent, type EventSubject } from '../event/event-log.ts'
import { isoTime } from '../../platform/iso-time.ts'
import type { Database, Row, Statement } from '../../platform/store/database.ts'
import { erasedNames, type ErasedAddress } from './erased-address.ts'
import { insertSuppression } from './insert-suppression.ts'
import { suppressionAddress } from './suppression-address.ts'
import type { UnsubscribeTarget } from './unsubscribe-token.ts'

/** `one_click`: by the mail program (RFC 8058); `link`: on the link's page; `mailto`: by mail. */
export const unsubscribeMethods = ['one_click', 'link', 'mailto'] as const
export type UnsubscribeMethod = (typeof unsubscribeMethods)[number]

/** What somebody wants to stop. */
interface Subscription {
  target: UnsubscribeTarget
  /** What the event is about; null if there is none, because the message was deleted or the recipient has already unsubscribed. */
  event: EventSubject | null
  /** True if the address is already suppressed for it. */
  isEnded: boolean
}

interface SubscriptionServices {
  db: Pick<Database, 'read'>
  erasedAddress: ErasedAddress
}

interface SubscriptionRow extends Row {
  recipient_id: string | null
  /** From the recipient's row. Differs from the link's address if that was erased. */
  forward_path: string | null
  subject: string | null
  unsubscribed_at: number | null
  entries: number
}

/** What a link refers to; null if its account no longer exists. */
export async function subscriptionOf(target: UnsubscribeTarget, { db, erasedAddress }: SubscriptionServices): Promise<Subscription | null> {
  const { accountId, messageId, address, topic } = target
  const { names, params } = erasedNames(erasedAddress, address)
  const [row] = await db.read<SubscriptionRow>(
    `select r.id as recipient_id, r.forward_path, m.subject, r.unsubscribed_at,
            (select count(*) from suppression s
              where s.account_id = a.id and s.address in (:listed, ${names}) and s.origin = 'unsubscribe' and s.topic = :topic
                and s.sandbox = :sandbox) as entries
       from account a
       left join recipient r on r.message_id = :messageId and r.forward_path in (:address, ${names})
       left join message m on m.id = r.message_id
      where a.id = :accountId and a.status ${inUse}`,
    {
      accountId,
      messageId,
      address,
      topic,
      listed: suppressionAddress(address),
      ...params,
      sandbox: target.sandbox ? 1 : 0,
    },
  )
  return row ? subscriptionFrom(target, row) : null
}

/** What the message to this recipient can be unsubscribed from; null if nothing, or if the recipient or account is gone. */
export async function subscriptionOfRecipient(recipientId: string, services: SubscriptionServices): Promise<Subscription | null> {
  const [row] = await services.db.read<{ message_id: string; account_id: string; forward_path: string; sandbox: number; topic: string }>(
    `select r.message_id, r.account_id, r.forward_path, m.sandbox, m.unsubscribe_topic as topic
       from recipient r join message m on m.id = r.message_id where r.id = :recipientId and m.unsubscribe_topic is not null`,
    { recipientId },
  )
  if (!row) return null
  const { account_id: accountId, message_id: messageId, forward_path: address, topic } = row
  return subscriptionOf({ accountId, messageId, address, topic, sandbox: row.sandbox === 1 }, services)
}

function subscriptionFrom(target: UnsubscribeTarget, row: SubscriptionRow): Subscription {
  const { accountId, messageId, sandbox } = target
  const { recipient_id: recipientId, subject } = row
  const address = row.forward_path ?? target.address
  const isTold = recipientId === null || subject === null || row.unsubscribed_at !== null
  return {
    target: { ...target, address },
    isEnded: row.entries > 0,
    event: isTold ? null : { accountId, messageId, recipientId, to: address, subject, sandbox },
  }
}

const inWords: Record<UnsubscribeMethod, string> = {
  one_click: 'Unsubscribed with one click in the mail program.',
  link: 'Unsubscribed on the page of the unsubscribe link.',
  mailto: 'Unsubscribed by mail.',
}

/**
 * The statements that end a subscription: the address gets no more mail on that topic from that account, but still gets other mail. If
 * there is an event, the first statement guards it and makes the batch fail if another one came first. Then read the subscription again.
 */
export function endSubscription({ target, event, isEnded }: Subscription, method: UnsubscribeMethod, now: number): Statement[] {
  const { address, topic, messageId: sourceId } = target
  const entry = insertSuppression(target, { address, origin: 'unsubscribe', topic, sourceId, reason: inWords[method], createdAt: now })
  const entries = isEnded ? [] : [entry]
  if (!event) return entries
  const once = {
    sql: 'update recipient set unsubscribed_at = :now where id = :id and unsubscribed_at is null',
    params: { id: event.recipientId, now },
    expect: 1,
  }
  return [once, ...entries, recordEvent(event, 'email.unsubscribed', { unsubscribed_at: isoTime(now), method }, now)]
}
