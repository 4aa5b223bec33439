import { scopeParams, type AccountScope } from '../account/account-scope.ts'
import { newId } from '../id.ts'
import type { Statement } from '../store/database.ts'
import { suppressionAddress } from './suppression-address.ts'
import type { SuppressionOrigin } from './suppression-origin.ts'

/** An entry to be made. */
export interface NewSuppression {
  address: string
  origin: SuppressionOrigin
  /** Of origin `unsubscribe`: the mail that it is from; '', mail without a topic, unless given. */
  topic?: string
  /** The message that it came of. */
  sourceId: string | null
  reason: string | null
  /** Epoch, ms. */
  createdAt: number
  /** From when on it counts no more, epoch ms; null or left out: never. */
  expiresAt?: number | null
}

/** An entry on the list; one that is there already, of the same origin, stays as it is while it counts. */
export const insertSuppression = (scope: AccountScope, entry: NewSuppression): Statement => ({
  sql: `insert into suppression (id, account_id, address, origin, topic, sandbox, source_id, reason, created_at, expires_at)
        values (:id, :accountId, :address, :origin, :topic, :sandbox, :sourceId, :reason, :createdAt, :expiresAt)
        on conflict (account_id, address, origin, topic, sandbox) do update
          set id = excluded.id, source_id = excluded.source_id, reason = excluded.reason,
              created_at = excluded.created_at, expires_at = excluded.expires_at
          where suppression.expires_at <= excluded.created_at`,
  params: { ...paramsOf(scope, entry), expiresAt: entry.expiresAt ?? null },
})

/** The same, and the id of the entry, be it new or not. */
export const ensureSuppression = (scope: AccountScope, entry: NewSuppression): Statement => ({
  sql: `insert into suppression (id, account_id, address, origin, topic, sandbox, source_id, reason, created_at)
        values (:id, :accountId, :address, :origin, :topic, :sandbox, :sourceId, :reason, :createdAt)
        on conflict (account_id, address, origin, topic, sandbox) do update set address = excluded.address
        returning id`,
  params: paramsOf(scope, entry),
  expect: 1,
})

const paramsOf = (scope: AccountScope, { address, origin, topic = '', sourceId, reason, createdAt }: NewSuppression) => ({
  // Its time is that of the entry, so that a list by id is one by time, also where entries were brought along.
  id: newId('sup', createdAt),
  ...scopeParams(scope),
  address: suppressionAddress(address),
  origin,
  topic,
  sourceId,
  reason,
  createdAt,
})
