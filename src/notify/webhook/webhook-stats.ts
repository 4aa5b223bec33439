import { idFloor } from '../../platform/id.ts'
import type { Database, Row } from '../../platform/store/database.ts'

/** How a webhook fared lately. */
export interface WebhookStats {
  /** Deliveries by what became of them; those that are under way or wait for another attempt are pending. */
  success: number
  failed: number
  pending: number
  /** Of the last attempt at one of these; null where there was no answer, or no attempt. */
  lastStatusCode: number | null
  /** Why there was no answer. */
  lastError: string | null
  /** Epoch, ms. */
  lastAt: number | null
  /** When the first of the attempts was made that have failed since the last success; null if the last one succeeded. */
  failingSince: number | null
}

const dayMs = 24 * 60 * 60 * 1000
/** So that a busy webhook costs no more than others. */
export const maxCounted = 1000

/** The newest deliveries of the day. Uses the index webhook_delivery_webhook. */
const newest = `(select id, state from webhook_delivery where webhook_id = :webhookId and id >= :first order by id desc limit :maxCounted) d`

interface LastAttempt extends Row {
  http_status_code: number | null
  error: string | null
  sent_at: number
}

export async function readWebhookStats(db: Pick<Database, 'slowRead'>, webhookId: string, now: number): Promise<WebhookStats> {
  const params = { webhookId, first: idFloor('whd', now - dayMs), maxCounted }
  const [counts, [last], [webhook]] = await Promise.all([
    db.slowRead<{ state: string; found: number }>(`select d.state, count(*) as found from ${newest} group by d.state`, params),
    db.slowRead<LastAttempt>(
      `select a.http_status_code, a.error, a.sent_at from ${newest} join webhook_attempt a on a.delivery_id = d.id order by a.id desc limit 1`,
      params,
    ),
    db.slowRead<{ failing_since: number | null }>('select failing_since from webhook where id = :webhookId', { webhookId }),
  ])
  const count = (...states: string[]): number =>
    counts.filter(({ state }) => states.includes(state)).reduce((sum, { found }) => sum + found, 0)
  return {
    success: count('success'),
    failed: count('failed'),
    pending: count('pending', 'attempting'),
    lastStatusCode: last?.http_status_code ?? null,
    lastError: last?.error ?? null,
    lastAt: last?.sent_at ?? null,
    failingSince: webhook?.failing_since ?? null,
  }
}
