import { scopeParams, type AccountScope } from '../../senders/account/account-scope.ts'
import { newId } from '../../platform/id.ts'
import type { Statement } from '../../platform/store/database.ts'
import { suppressionAddress } from './suppression-address.ts'
import type { SuppressionOrigin } from './suppression-origin.ts'

/** An entry to create. */
export interface NewSuppression {
  address: string
  origin: SuppressionOrigin
  /** For origin `unsubscribe`: the topic; default: '', mail without a topic. */
  topic?: string
  /** The message that caused it. */
  sourceId: string | null
  reason: string | null
  /** Epoch, ms. */
  createdAt: number
  /** When it expires, epoch ms; null or absent: never. */
  expiresAt?: number | null
}

/** Adds an entry; an existing one of the same origin stays unchanged while it is in force. */
export const insertSuppression = (scope: AccountScope, entry: NewSuppression): Statement => ({
  sql: `insert into suppression (id, account_id, address, origin, topic, sandbox, source_id, reason, created_at, expires_at)
        values (:id, :accountId, :address, :origin, :topic, :sandbox, :sourceId, :reason, :createdAt, :expiresAt)
        on conflict (account_id, address, origin, topic, sandbox) do update
          set id = excluded.id, source_id = excluded.source_id, reason = excluded.reason,
              created_at = excluded.created_at, expires_at = excluded.expires_at
          where suppression.expires_at <= excluded.created_at`,
  params: { ...paramsOf(scope, entry), expiresAt: entry.expiresAt ?? null },
})

/** The same, and returns the entry's id, new or not. */
export const ensureSuppression = (scope: AccountScope, entry: NewSuppression): Statement => ({
  sql: `insert into suppression (id, account_id, address, origin, topic, sandbox, source_id, reason, created_at)
        values (:id, :accountId, :address, :origin, :topic, :sandbox, :sourceId, :reason, :createdAt)
        on conflict (account_id, address, origin, topic, sandbox) do update set address = excluded.address
        returning id`,
  params: paramsOf(scope, entry),
  expect: 1,
})

const paramsOf = (scope: AccountScope, { address, origin, topic = '', sourceId, reason, createdAt }: NewSuppression) => ({
  // Derived from the entry's time, so a list by id is also one by time, even for imported entries.
  id: newId('sup', createdAt),
  ...scopeParams(scope),
  address: suppressionAddress(address),
  origin,
  topic,
  sourceId,
  reason,
  createdAt,
})
