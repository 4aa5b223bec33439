import { newId } from '../id.ts'
import type { Statement } from '../store/database.ts'
import { suppressionAddress } from './suppression-address.ts'
import type { SuppressionOrigin } from './suppression-origin.ts'

/** Whose list, and which of its two: live mail and the sandbox know nothing of each other. */
export interface SuppressionScope {
  accountId: string
  sandbox: boolean
}

/** An entry to be made. */
export interface NewSuppression {
  address: string
  origin: SuppressionOrigin
  /** The message that it came of. */
  sourceId: string | null
  reason: string | null
  /** Epoch, ms. */
  createdAt: number
}

/** An entry on the list; one that is there already, of the same origin, stays as it is. */
export const insertSuppression = (scope: SuppressionScope, entry: NewSuppression): Statement => ({
  sql: `insert into suppression (id, account_id, address, origin, topic, sandbox, source_id, reason, created_at)
        values (:id, :accountId, :address, :origin, '', :sandbox, :sourceId, :reason, :createdAt)
        on conflict (account_id, address, origin, topic, sandbox) do nothing`,
  params: paramsOf(scope, entry),
})

/** The same, and the id of the entry, be it new or not. */
export const ensureSuppression = (scope: SuppressionScope, entry: NewSuppression): Statement => ({
  sql: `insert into suppression (id, account_id, address, origin, topic, sandbox, source_id, reason, created_at)
        values (:id, :accountId, :address, :origin, '', :sandbox, :sourceId, :reason, :createdAt)
        on conflict (account_id, address, origin, topic, sandbox) do update set address = excluded.address
        returning id`,
  params: paramsOf(scope, entry),
  expect: 1,
})

const paramsOf = ({ accountId, sandbox }: SuppressionScope, { address, origin, sourceId, reason, createdAt }: NewSuppression) => ({
  // Its time is that of the entry, so that a list by id is one by time, also where entries were brought along.
  id: newId('sup', createdAt),
  accountId,
  address: suppressionAddress(address),
  origin,
  sandbox: sandbox ? 1 : 0,
  sourceId,
  reason,
  createdAt,
})
