import type { ClaimRange } from '../../platform/store/claims.ts'
import type { Row, Statement } from '../../platform/store/database.ts'
import type { PostResult } from './post-webhook.ts'

/** A delivery in hand. */
export interface ClaimedDelivery extends Row {
  id: string
  event_id: string
  event_type: string
  body: string
  /** What the event is about; null once the event is no longer kept. */
  email_id: string | null
  /** Attempts before this one. */
  attempts: number
}

/** Creates a delivery that is due at once, unless the webhook is no longer enabled. */
export const insertDelivery = (
  delivery: { id: string; webhookId: string; eventId: string; eventType: string; body: string },
  now: number,
): Statement => ({
  sql: `insert into webhook_delivery (id, webhook_id, event_id, event_type, body, state, next_attempt_at, created_at)
        select :id, :webhookId, :eventId, :eventType, :body, 'pending', :now, :now
         where exists (select 1 from webhook where id = :webhookId and status = 'enabled')`,
  params: { ...delivery, now },
})

/** Replays a final delivery with the same event and bytes, if the webhook is enabled. */
export const insertReplay = (id: string, sourceId: string, now: number): Statement => ({
  sql: `insert into webhook_delivery (id, webhook_id, event_id, event_type, body, state, next_attempt_at, created_at)
        select :id, webhook_id, event_id, event_type, body, 'pending', :now, :now
          from webhook_delivery
         where id = :sourceId and state in ('success', 'failed', 'canceled')
           and exists (select 1 from webhook where id = webhook_delivery.webhook_id and status = 'enabled')`,
  params: { id, sourceId, now },
})

/**
 * Claims what is due, longest overdue first, and what is due at the same time in the order of ids, which is that of events; returns the rows
 * unordered, and when the next is due. Uses the index webhook_delivery_due.
 */
export const claimDeliveries = (webhookId: string, range: ClaimRange): Statement[] => [
  {
    sql: `update webhook_delivery set state = 'attempting', owner = :owner, next_attempt_at = null
           where id in (select id from webhook_delivery where webhook_id = :webhookId and next_attempt_at <= :now
                         order by next_attempt_at, id limit :limit offset :skip) and next_attempt_at <= :now
           returning id, event_id, event_type, body, attempts,
                     (select e.message_id from event e where e.id = webhook_delivery.event_id) as email_id`,
    params: { webhookId, ...range },
  },
  {
    sql: `select next_attempt_at as due_at from webhook_delivery where webhook_id = :webhookId and next_attempt_at is not null
           order by next_attempt_at, id limit 1 offset :skip`,
    params: { webhookId, skip: range.skip },
  },
]

/** When each webhook's next pending delivery is due. */
export const firstDue = `
  select webhook.id as webhook_id,
         (select min(next_attempt_at) from webhook_delivery d where d.webhook_id = webhook.id and next_attempt_at is not null) as due_at
    from webhook where status = 'enabled'`

const isEnabled = "exists (select 1 from webhook where id = webhook_id and status = 'enabled')"

/**
 * What changes in a delivery that was in hand when its process ended: it is due again, with the same attempt number. The receiver may have
 * got it. It is due since it was created, so that it comes before the later events that have waited behind it.
 */
export const putBack = `
  state = case when ${isEnabled} then 'pending' else 'canceled' end,
  next_attempt_at = case when not ${isEnabled} then null when created_at < :now then created_at else :now end`

/** Makes due at once what is due later than `latest`, and first attempts, which wait for no time: a piece, for `removeInPieces`. */
export const bringForward = (webhookId: string, { now, latest }: { now: number; latest: number }): Statement => ({
  sql: `update webhook_delivery set next_attempt_at = :now
         where id in (select id from webhook_delivery
                       where webhook_id = :webhookId and next_attempt_at > :now and (next_attempt_at > :latest or attempts = 0) limit :rows)`,
  params: { webhookId, now, latest },
})

/** Cancels a webhook's pending deliveries. Those in hand end with their attempt. */
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

export const cancelClaimed = (id: string, owner: string): Statement => ({
  sql: `update webhook_delivery set state = 'canceled', owner = null where id = :id and owner = :owner`,
  params: { id, owner },
  expect: 1,
})

/** Ends an attempt. `state` is what follows; `pending` has the time of the next attempt. */
export const settleDelivery = (
  claim: { id: string; owner: string },
  state: 'pending' | 'success' | 'failed',
  nextAttemptAt: number | null,
): Statement => ({
  sql: `update webhook_delivery set state = :state, owner = null, next_attempt_at = :nextAttemptAt, attempts = attempts + 1
         where id = :id and owner = :owner`,
  params: { ...claim, state, nextAttemptAt },
  expect: 1,
})

export const insertAttempt = (
  attempt: { id: string; deliveryId: string; number: number; sentAt: number },
  { durationMs, statusCode, response, error }: PostResult,
): Statement => ({
  sql: `insert into webhook_attempt (id, delivery_id, number, sent_at, duration_ms, http_status_code, response, error)
        values (:id, :deliveryId, :number, :sentAt, :durationMs, :statusCode, :response, :error)`,
  params: { ...attempt, durationMs, statusCode, response, error },
})
