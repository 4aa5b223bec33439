import type { Clock } from '../../platform/clock.ts'
import { SternaError } from '../../platform/errors.ts'
import type { WebhookEventType } from '../../mail/event/event-type.ts'
import { newId } from '../../platform/id.ts'
import type { Database, Row } from '../../platform/store/database.ts'
import { pageClause, type Page } from '../../platform/store/page-clause.ts'
import type { DeliveryState } from './delivery-state.ts'
import { isLast, searchDeliveries, type DeliveryFilter } from './delivery-search.ts'
import { insertReplay } from './webhook-delivery-store.ts'
import { readWebhookStats, type WebhookStats } from './webhook-stats.ts'
import type { Webhook } from './webhook-store.ts'

/** An event's delivery to a webhook. */
export interface DeliveryRow extends Row {
  /** `whd_…` */
  id: string
  event_id: string
  event_type: WebhookEventType
  /** The text that was signed and sent. */
  body: string
  state: DeliveryState
  /** Attempts made. */
  attempts: number
  /** Epoch, ms. */
  next_attempt_at: number | null
  created_at: number
  /** Null once the event is no longer kept. */
  email_id: string | null
  recipient: string | null
  /** Of the last attempt. */
  last_status_code: number | null
  last_duration_ms: number | null
  last_error: string | null
}

/** A delivery of an event of an email. */
export interface EmailDeliveryRow extends DeliveryRow {
  webhook_id: string
}

export interface AttemptRow extends Row {
  /** `wha_…` */
  id: string
  delivery_id: string
  number: number
  sent_at: number
  duration_ms: number
  http_status_code: number | null
  response: string | null
  error: string | null
}

interface ReplayRange {
  state: 'failed' | 'canceled'
  /** Deliveries created from `since` to `until`, epoch ms. */
  since: number
  until: number
}

const lastAttempt = (column: string): string =>
  `(select a.${column} from webhook_attempt a where a.delivery_id = d.id order by a.id desc limit 1)`

const columns = `d.id, d.event_id, d.event_type, d.body, d.state, d.attempts, d.next_attempt_at, d.created_at,
  (select e.message_id from event e where e.id = d.event_id) as email_id,
  (select r.forward_path from event e join recipient r on r.id = e.recipient_id where e.id = d.event_id) as recipient,
  ${lastAttempt('http_status_code')} as last_status_code, ${lastAttempt('duration_ms')} as last_duration_ms,
  ${lastAttempt('error')} as last_error`

/** Uses the index webhook_delivery_state. */
const isReplayed = `d.webhook_id = :webhookId and d.state = :state and d.state in ('failed', 'canceled')
  and d.created_at >= :since and d.created_at <= :until and ${isLast}`

/** Deliveries replayed in one batch. */
const replayStep = 200

/** Lists what was posted to webhooks, and posts it again. Callers must have looked up the webhook in its scope. */
export class DeliveryHistory {
  readonly #db: Database
  readonly #clock: Clock
  readonly #wake: (webhookId: string) => void

  constructor(services: { db: Database; clock: Clock; wake(webhookId: string): void }) {
    this.#db = services.db
    this.#clock = services.clock
    this.#wake = services.wake
  }

  /** A page of a webhook's deliveries, for `listBody`. */
  deliveries(webhookId: string, filter: DeliveryFilter, page: Page): Promise<DeliveryRow[]> {
    return searchDeliveries<DeliveryRow>(this.#db, { columns, key: 'id', webhookId, filter, page })
  }

  /** A page of the events posted to a webhook, each with its last delivery. The page cursors are event ids. */
  events(webhookId: string, filter: DeliveryFilter, page: Page): Promise<DeliveryRow[]> {
    return searchDeliveries<DeliveryRow>(this.#db, { columns, key: 'event_id', webhookId, filter, page })
  }

  /** A page of the deliveries of an email's events to all webhooks of its account. */
  ofEmail({ accountId, emailId }: { accountId: string; emailId: string }, page: Page): Promise<EmailDeliveryRow[]> {
    const { condition, order, params } = pageClause(page, 'd.id')
    return this.#db.slowRead<EmailDeliveryRow>(
      `select ${columns}, d.webhook_id from webhook w
         cross join event told
         cross join webhook_delivery d
        where w.account_id = :accountId and told.message_id = :emailId and d.webhook_id = w.id and d.event_id = told.id
          and ${condition} ${order}`,
      { accountId, emailId, ...params },
    )
  }

  /** @throws SternaError `not_found` */
  async getDelivery(webhookId: string, id: string): Promise<DeliveryRow> {
    const [row] = await this.#db.read<DeliveryRow>(
      `select ${columns} from webhook_delivery d where d.id = :id and d.webhook_id = :webhookId`,
      { webhookId, id },
    )
    return row ?? notFound('This webhook has no delivery with this id.')
  }

  /** The last delivery of an event. @throws SternaError `not_found` */
  async getEventDelivery(webhookId: string, eventId: string): Promise<DeliveryRow> {
    const [row] = await this.#db.read<DeliveryRow>(
      `select ${columns} from webhook_delivery d
        where d.webhook_id = :webhookId and d.event_id = :eventId order by d.id desc limit 1`,
      { webhookId, eventId },
    )
    return row ?? notFound('No event with this id was posted to this webhook.')
  }

  /** How the webhook fared in the last 24 hours. */
  stats(webhookId: string): Promise<WebhookStats> {
    return readWebhookStats(this.#db, webhookId, this.#clock.now())
  }

  /** How many events `replayAll` would replay now. */
  async countReplays(webhookId: string, range: ReplayRange): Promise<number> {
    const sql = `select count(*) as found from webhook_delivery d where ${isReplayed}`
    const [row] = await this.#db.slowRead<{ found: number }>(sql, { webhookId, ...range })
    return row?.found ?? 0
  }

  /** The attempts of one delivery, oldest first. */
  attempts(deliveryId: string): Promise<AttemptRow[]> {
    return this.#db.slowRead<AttemptRow>(
      `select id, delivery_id, number, sent_at, duration_ms, http_status_code, response, error
         from webhook_attempt where delivery_id = :deliveryId order by id`,
      { deliveryId },
    )
  }

  /** A page of the attempts to post an event, including replays. */
  eventAttempts(webhookId: string, eventId: string, page: Page): Promise<AttemptRow[]> {
    const { condition, order, params } = pageClause(page, 'a.id')
    return this.#db.slowRead<AttemptRow>(
      `select a.id, a.delivery_id, a.number, a.sent_at, a.duration_ms, a.http_status_code, a.response, a.error
         from webhook_delivery d join webhook_attempt a on a.delivery_id = d.id
        where d.webhook_id = :webhookId and d.event_id = :eventId and ${condition} ${order}`,
      { webhookId, eventId, ...params },
    )
  }

  /**
   * Replays a delivery: a new one with the same event id, the same bytes, and all its attempts. Returns its id.
   * @throws SternaError `invalid_state` while the delivery is under way, or if the webhook is disabled
   */
  async replay(webhook: Webhook, delivery: DeliveryRow): Promise<string> {
    checkEnabled(webhook)
    const now = this.#clock.now()
    const id = newId('whd', now)
    const [written] = await this.#db.write([insertReplay(id, delivery.id, now)])
    if (written?.changes !== 1) {
      throw new SternaError(
        'invalid_state',
        'This delivery is still under way. It can be replayed once it has succeeded, failed or been canceled.',
      )
    }
    this.#wake(webhook.id)
    return id
  }

  /**
   * Replays every event whose last delivery failed (or was canceled) within a period. Returns their number. A second
   * call replays only what has failed again.
   * @throws SternaError `invalid_state` if the webhook is disabled
   */
  async replayAll(webhook: Webhook, range: ReplayRange): Promise<number> {
    checkEnabled(webhook)
    let count = 0
    for (let after = ''; ;) {
      const rows = await this.#db.slowRead<{ id: string }>(
        `select d.id from webhook_delivery d
          where ${isReplayed} and d.id > :after order by d.id limit :replayStep`,
        { webhookId: webhook.id, after, ...range, replayStep },
      )
      const last = rows.at(-1)
      if (!last) return count
      const now = this.#clock.now()
      const written = await this.#db.write(rows.map(({ id }) => insertReplay(newId('whd', now), id, now)))
      count += written.reduce((sum, { changes }) => sum + changes, 0)
      this.#wake(webhook.id)
      after = last.id
    }
  }
}

const notFound = (message: string): never => {
  throw new SternaError('not_found', message)
}

function checkEnabled({ status }: Webhook): void {
  if (status === 'enabled') return
  throw new SternaError('invalid_state', 'The webhook is disabled. Enable it first: PATCH it with {"status": "enabled"}.')
}
