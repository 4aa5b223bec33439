import type { AccountScope } from '../../senders/account/account-scope.ts'
import type { WebhookEventType } from '../../mail/event/event-type.ts'
import type { Statement, Value } from '../../platform/store/database.ts'
import { storedRows } from '../../platform/store/stored-rows.ts'
import { eventsText } from './event-subscription.ts'
import type { SigningKey } from './signing-key.ts'
import { webhookObject, type WebhookFields } from './webhook-object.ts'

type DisabledReason = 'manual' | 'failures'

/** An endpoint that events are posted to. */
export interface Webhook extends AccountScope, Omit<WebhookFields, 'events'> {
  /** `wh_…` */
  id: string
  events: WebhookEventType[]
  disabledReason: DisabledReason | null
  /** `whsec_…`, in clear. */
  secret: string
  /** The previous secret, used until `previousExpiresAt`. */
  previousSecret: string | null
  /** Epoch, ms, like all times here. */
  previousExpiresAt: number | null
  /** The key for another service's signature, if that needs one besides the secret. */
  signingKey: SigningKey | null
  createdAt: number
  updatedAt: number
  /** How often its fields or secrets were changed. */
  revision: number
}

/** A webhook's secrets, encrypted, as stored. */
export interface SealedSecrets {
  secret: Uint8Array
  previousSecret: Uint8Array | null
  signingKey: Uint8Array | null
  basicAuth: Uint8Array | null
}

/** A webhook as its row holds it: events as text, and secrets sealed. */
export type StoredWebhook = Omit<Webhook, 'events' | keyof SealedSecrets> & SealedSecrets & { events: string }

export const webhookRows = storedRows<StoredWebhook>('webhook')(
  [
    ...webhookObject.plain,
    'id',
    'accountId',
    'disabledReason',
    'secret',
    'previousSecret',
    'previousExpiresAt',
    'signingKey',
    'createdAt',
    'updatedAt',
    'revision',
  ],
  webhookObject.flags,
)

const paramsOf = (webhook: Webhook, sealed: SealedSecrets): Record<string, Value> =>
  webhookRows.params({ ...webhook, ...sealed, events: eventsText(webhook.events) })

const newestEvent = '(select coalesce(max(seq), 0) from event)'

/** Fails (`expect`) if the account already has `limit` webhooks. The webhook gets only events after it. */
export function insertWebhook(webhook: Webhook, sealed: SealedSecrets, limit: number): Statement {
  return {
    sql: `insert into webhook (${webhookRows.columns}, after_seq) select ${webhookRows.parameters}, ${newestEvent}
           where (select count(*) from webhook where account_id = :accountId and status <> 'deleted') < :limit`,
    params: { ...paramsOf(webhook, sealed), limit },
    expect: 1,
    locks: webhook.accountId,
  }
}

/** Writes what an owner may change, on the condition (`expect`) that nobody else has. An enabled webhook gets only later events. */
export function updateWebhook(webhook: Webhook, sealed: SealedSecrets, { reenabled }: { reenabled: boolean }): Statement {
  const again = reenabled ? `, after_seq = ${newestEvent}, failing_since = null, exhausted = 0` : ''
  return {
    sql: `update webhook set ${webhookRows.assignments([...webhookObject.changeable, 'signingKey', 'disabledReason', 'updatedAt'])}${again},
                             revision = revision + 1
           where id = :id and status <> 'deleted' and revision = :revision`,
    params: paramsOf(webhook, sealed),
    expect: 1,
  }
}

/** Writes new secrets. Fails (`expect`) during an overlap, unless forced, and if somebody else has changed the webhook. */
export function updateSecrets(webhook: Webhook, sealed: SealedSecrets, { force }: { force: boolean }): Statement {
  return {
    sql: `update webhook set secret = :secret, previous_secret = :previousSecret, previous_expires_at = :previousExpiresAt,
                             signing_key = :signingKey, updated_at = :updatedAt, revision = revision + 1
           where id = :id and status <> 'deleted' and revision = :revision
             and (previous_expires_at is null or previous_expires_at <= :updatedAt or :force = 1)`,
    params: { ...paramsOf(webhook, sealed), force: force ? 1 : 0 },
    expect: 1,
  }
}

/** Deletes the secrets. The row stays for its deliveries. */
export const deleteWebhook = (id: string, now: number): Statement => ({
  sql: `update webhook set status = 'deleted', secret = :nothing, previous_secret = null, previous_expires_at = null, signing_key = null,
                            basic_auth = null, updated_at = :now
         where id = :id and status <> 'deleted'`,
  params: { id, now, nothing: new Uint8Array(0) },
  expect: 1,
})

/** Ends a series of failures. Usually there is none. */
export const recordSuccess = (id: string): Statement => ({
  sql: `update webhook set failing_since = null, exhausted = 0 where id = :id and failing_since is not null`,
  params: { id },
})

export const recordFailure = (id: string, now: number, { exhausted }: { exhausted: boolean }): Statement => ({
  sql: `update webhook set failing_since = coalesce(failing_since, :now), exhausted = exhausted + :exhausted where id = :id`,
  params: { id, now, exhausted: exhausted ? 1 : 0 },
})

/** Leaves `missedMs` out of the time for which webhooks have failed; negative if the clock was set back. */
export const postponeDisabling = (missedMs: number, now: number): Statement => ({
  sql: `update webhook set failing_since = case when failing_since + :missedMs < :now then failing_since + :missedMs else :now end
         where failing_since is not null`,
  params: { missedMs, now },
})

/** Disables a webhook that has had only failures since `failingBefore` and exhausted this many deliveries. Returns its id if so. */
export const disableFailing = (id: string, limits: { failingBefore: number; exhausted: number }, now: number): Statement => ({
  sql: `update webhook set status = 'disabled', disabled_reason = 'failures', updated_at = :now, revision = revision + 1
         where id = :id and status = 'enabled' and failing_since <= :failingBefore and exhausted >= :exhausted
         returning id`,
  params: { id, now, ...limits },
})
