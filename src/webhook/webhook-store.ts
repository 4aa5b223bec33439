import type { AccountScope } from '../account/account-scope.ts'
import type { PublicEventType } from '../event/event-type.ts'
import type { Row, Statement, Value } from '../store/database.ts'
import { eventsText } from './event-subscription.ts'

export type PayloadKind = 'standard' | 'extended'
type DisabledReason = 'manual' | 'failures'

/** An endpoint that events are posted to. */
export interface Webhook extends AccountScope {
  /** `wh_…` */
  id: string
  url: string
  events: PublicEventType[]
  description: string | null
  payload: PayloadKind
  /** Whether opens and clicks of machines are posted too. */
  includeBots: boolean
  status: 'enabled' | 'disabled'
  disabledReason: DisabledReason | null
  /** `whsec_…`, in clear. */
  secret: string
  /** The one before the last rotation, of use until `previousExpiresAt`. */
  previousSecret: string | null
  /** Epoch, ms, like the other times. */
  previousExpiresAt: number | null
  createdAt: number
  updatedAt: number
}

/** A webhook's secrets as the database holds them. */
export interface SealedSecrets {
  secret: Uint8Array
  previousSecret: Uint8Array | null
}

export interface WebhookRow extends Row {
  id: string
  account_id: string
  url: string
  events: string
  description: string | null
  payload: PayloadKind
  include_bots: number
  sandbox: number
  status: 'enabled' | 'disabled'
  disabled_reason: DisabledReason | null
  secret: Uint8Array
  previous_secret: Uint8Array | null
  previous_expires_at: number | null
  created_at: number
  updated_at: number
}

/** All that are not deleted. */
export const everyWebhook = `
  select id, account_id, url, events, description, payload, include_bots, sandbox, status, disabled_reason, secret, previous_secret,
         previous_expires_at, created_at, updated_at
    from webhook where status <> 'deleted'`

const newestEvent = '(select coalesce(max(seq), 0) from event)'

/** Refused (`expect`) where the account has `limit` webhooks already. It gets the events that come after it. */
export function insertWebhook(webhook: Webhook, sealed: SealedSecrets, limit: number): Statement {
  return {
    sql: `insert into webhook (id, account_id, url, events, description, payload, include_bots, sandbox, status, disabled_reason, secret,
                               after_seq, created_at, updated_at)
          select :id, :accountId, :url, :events, :description, :payload, :includeBots, :sandbox, :status, :disabledReason, :secret,
                 ${newestEvent}, :createdAt, :createdAt
           where (select count(*) from webhook where account_id = :accountId and status <> 'deleted') < :limit`,
    params: {
      ...changeable(webhook),
      id: webhook.id,
      accountId: webhook.accountId,
      sandbox: webhook.sandbox ? 1 : 0,
      secret: sealed.secret,
      createdAt: webhook.createdAt,
      limit,
    },
    expect: 1,
  }
}

/** Writes what an owner may change. One that is enabled again gets only the events that come after that. */
export function updateWebhook(webhook: Webhook, { reenabled }: { reenabled: boolean }): Statement {
  const again = reenabled ? `, after_seq = ${newestEvent}, failing_since = null, exhausted = 0` : ''
  return {
    sql: `update webhook set url = :url, events = :events, description = :description, payload = :payload,
                             include_bots = :includeBots, status = :status,
                             disabled_reason = :disabledReason, updated_at = :updatedAt${again}
           where id = :id and status <> 'deleted'`,
    params: { ...changeable(webhook), id: webhook.id, updatedAt: webhook.updatedAt },
    expect: 1,
  }
}

const changeable = ({ url, events, description, payload, includeBots, status, disabledReason }: Webhook): Record<string, Value> => ({
  url,
  events: eventsText(events),
  description,
  payload,
  includeBots: includeBots ? 1 : 0,
  status,
  disabledReason,
})

/** Writes new secrets; refused (`expect`) where an overlap is open still, unless forced. */
export function updateSecrets(webhook: Webhook, sealed: SealedSecrets, { force }: { force: boolean }): Statement {
  return {
    sql: `update webhook set secret = :secret, previous_secret = :previousSecret, previous_expires_at = :previousExpiresAt,
                             updated_at = :now
           where id = :id and status <> 'deleted' and (previous_expires_at is null or previous_expires_at <= :now or :force = 1)`,
    params: {
      id: webhook.id,
      secret: sealed.secret,
      previousSecret: sealed.previousSecret,
      previousExpiresAt: webhook.previousExpiresAt,
      now: webhook.updatedAt,
      force: force ? 1 : 0,
    },
    expect: 1,
  }
}

/** The row stays for the sake of its deliveries, without its secrets. */
export const deleteWebhook = (id: string, now: number): Statement => ({
  sql: `update webhook set status = 'deleted', secret = :nothing, previous_secret = null, previous_expires_at = null, updated_at = :now
         where id = :id and status <> 'deleted'`,
  params: { id, now, nothing: new Uint8Array(0) },
  expect: 1,
})

/** A success ends a row of failures; most find nothing to end. */
export const recordSuccess = (id: string): Statement => ({
  sql: `update webhook set failing_since = null, exhausted = 0 where id = :id and failing_since is not null`,
  params: { id },
})

export const recordFailure = (id: string, now: number, { exhausted }: { exhausted: boolean }): Statement => ({
  sql: `update webhook set failing_since = coalesce(failing_since, :now), exhausted = exhausted + :exhausted where id = :id`,
  params: { id, now, exhausted: exhausted ? 1 : 0 },
})

/** Disables a webhook that has only failed since `failingBefore` and given up so many deliveries; returns its id if so. */
export const disableFailing = (id: string, limits: { failingBefore: number; exhausted: number }, now: number): Statement => ({
  sql: `update webhook set status = 'disabled', disabled_reason = 'failures', updated_at = :now
         where id = :id and status = 'enabled' and failing_since <= :failingBefore and exhausted >= :exhausted
         returning id`,
  params: { id, now, ...limits },
})
