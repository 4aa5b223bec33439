import type { Row, Statement } from '../store/database.ts'
import type { PostResult } from './post-webhook.ts'

export const deliveryStates = ['pending', 'attempting', 'success', 'failed', 'canceled'] as const
/** `success`, `failed` and `canceled` are final. */
export type DeliveryState = (typeof deliveryStates)[number]

/** A delivery taken in hand. */
export interface ClaimedDelivery extends Row {
  id: string
  event_id: string
  event_type: string
  body: string
  /** Attempts made before this one. */
  attempts: number
}

/** A new delivery, due at once; none is made for a webhook that is no longer enabled. */
export const insertDelivery = (
  delivery: { id: string; webhookId: string; eventId: string; eventType: string; body: string },
  now: number,
): Statement => ({
  sql: `insert into webhook_delivery (id, webhook_id, event_id, event_type, body, state, next_attempt_at, created_at)
        select :id, :webhookId, :eventId, :eventType, :body, 'pending', :now, :now
         where exists (select 1 from webhook where id = :webhookId and status = 'enabled')`,
  params: { ...delivery, now },
})

/** The same event and the same bytes once more, for a delivery that is final and a webhook that is enabled. */
export const insertReplay = (id: string, sourceId: string, now: number): Statement => ({
  sql: `insert into webhook_delivery (id, webhook_id, event_id, event_type, body, state, next_attempt_at, created_at)
        select :id, webhook_id, event_id, event_type, body, 'pending', :now, :now
          from webhook_delivery
         where id = :sourceId and state in ('success', 'failed', 'canceled')
           and exists (select 1 from webhook where id = webhook_delivery.webhook_id and status = 'enabled')`,
  params: { id, sourceId, now },
})

/** Takes what is due, the longest waiting; the rows come back in no order. Uses the index webhook_delivery_due. */
export const claimDeliveries = (webhookId: string, now: number, limit: number): Statement => ({
  sql: `update webhook_delivery set state = 'attempting', next_attempt_at = null
         where id in (select id from webhook_delivery where webhook_id = :webhookId and next_attempt_at <= :now
                       order by next_attempt_at, id limit :limit)
         returning id, event_id, event_type, body, attempts`,
  params: { webhookId, now, limit },
})

/** When the first delivery that waits is due, per webhook. */
export const firstDue = `
  select webhook.id as webhook_id,
         (select min(next_attempt_at) from webhook_delivery d where d.webhook_id = webhook.id and next_attempt_at is not null) as due_at
    from webhook where status = 'enabled'`

export const firstDueOf = `
  select min(next_attempt_at) as due_at from webhook_delivery where webhook_id = :webhookId and next_attempt_at is not null`

/** What a dead process had in hand is due again, with the same attempt number; the receiver may have got it. */
export const releaseAttempting = (now: number): Statement[] => [
  {
    sql: `update webhook_delivery set state = 'canceled'
           where state = 'attempting' and webhook_id not in (select id from webhook where status = 'enabled')`,
  },
  { sql: `update webhook_delivery set state = 'pending', next_attempt_at = :now where state = 'attempting'`, params: { now } },
]

/** Cancels what waits for a webhook; what is in hand meets its end when the attempt is over. */
export const cancelPending = (webhookId: string): Statement => ({
  sql: `update webhook_delivery set state = 'canceled', next_attempt_at = null
         where webhook_id = :webhookId and next_attempt_at is not null`,
  params: { webhookId },
})

export const cancelIfDisabled = (webhookId: string): Statement => ({
  sql: `update webhook_delivery set state = 'canceled', next_attempt_at = null
         where webhook_id = :webhookId and next_attempt_at is not null
           and not exists (select 1 from webhook where id = :webhookId and status = 'enabled')`,
  params: { webhookId },
})

export const cancelClaimed = (id: string): Statement => ({
  sql: `update webhook_delivery set state = 'canceled' where id = :id and state = 'attempting'`,
  params: { id },
})

/** An attempt is over: `state` is what follows, `pending` with the time of the next one. */
export const settleDelivery = (id: string, state: 'pending' | 'success' | 'failed', nextAttemptAt: number | null): Statement => ({
  sql: `update webhook_delivery set state = :state, next_attempt_at = :nextAttemptAt, attempts = attempts + 1
         where id = :id and state = 'attempting'`,
  params: { id, state, nextAttemptAt },
})

export const insertAttempt = (
  attempt: { id: string; deliveryId: string; number: number; sentAt: number },
  { durationMs, statusCode, response, error }: PostResult,
): Statement => ({
  sql: `insert into webhook_attempt (id, delivery_id, number, sent_at, duration_ms, http_status_code, response, error)
        values (:id, :deliveryId, :number, :sentAt, :durationMs, :statusCode, :response, :error)`,
  params: { ...attempt, durationMs, statusCode, response, error },
})
