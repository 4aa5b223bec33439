import { scopeParams, type AccountScope } from '../../senders/account/account-scope.ts'
import { newId } from '../../platform/id.ts'
import type { Statement } from '../../platform/store/database.ts'
import type { NewSuppression } from './insert-suppression.ts'
import { suppressionAddress } from './suppression-address.ts'

/** Mail to one address. */
interface Mail {
  address: string
  recipientId: string
}

const key = (scope: AccountScope, address: string) => ({ ...scopeParams(scope), address: suppressionAddress(address) })

/** Counts one more soft bounce. If it takes back a delivery, the count continues from before that delivery. */
export const countSoftBounce = (scope: AccountScope, { address, recipientId }: Mail, now: number): Statement => ({
  sql: `insert into soft_bounce (account_id, address, sandbox, bounces, bounces_before, delivered_to, changed_at)
        values (:accountId, :address, :sandbox, 1, 0, null, :now)
        on conflict (account_id, address, sandbox) do update
          set bounces = case when soft_bounce.delivered_to = :recipientId then soft_bounce.bounces_before else soft_bounce.bounces end + 1,
              bounces_before = 0, delivered_to = null, changed_at = excluded.changed_at`,
  params: { ...key(scope, address), recipientId, now },
})

/** A delivery resets the count. Writes nothing if there is none. */
export const countDelivery = (scope: AccountScope, { address, recipientId }: Mail, now: number): Statement => ({
  sql: `update soft_bounce
           set bounces_before = bounces, bounces = 0, delivered_to = :recipientId, changed_at = :now
         where account_id = :accountId and address = :address and sandbox = :sandbox`,
  params: { ...key(scope, address), recipientId, now },
})

/** Suppresses an address that reaches this count. Write it after `countSoftBounce`. */
export const suppressFrequent = (scope: AccountScope, entry: NewSuppression, limit: number): Statement => ({
  sql: `insert into suppression (id, account_id, address, origin, topic, sandbox, source_id, reason, created_at, expires_at)
        select cast(:id as text), account_id, address, cast(:origin as text), '', sandbox, cast(:sourceId as text), cast(:reason as text),
               cast(:createdAt as bigint), cast(:expiresAt as bigint)
          from soft_bounce
         where account_id = :accountId and address = :address and sandbox = :sandbox and bounces >= :limit
        on conflict (account_id, address, origin, topic, sandbox) do update
          set id = excluded.id, source_id = excluded.source_id, reason = excluded.reason,
              created_at = excluded.created_at, expires_at = excluded.expires_at
          where suppression.expires_at <= excluded.created_at`,
  params: {
    ...key(scope, entry.address),
    id: newId('sup', entry.createdAt),
    origin: entry.origin,
    sourceId: entry.sourceId,
    reason: entry.reason,
    createdAt: entry.createdAt,
    expiresAt: entry.expiresAt ?? null,
    limit,
  },
})
