import type { Database } from '../../platform/store/database.ts'
import { removeInPieces } from '../../platform/store/remove-in-pieces.ts'

const removals = [
  'delete from suppression where id in (select id from suppression where account_id = :accountId limit :rows offset :skip)',
  `delete from soft_bounce where (account_id, address, sandbox) in (
     select account_id, address, sandbox from soft_bounce where account_id = :accountId limit :rows offset :skip)`,
]

/** Removes an account's suppressions and soft bounce counts when it is closed. */
export async function removeSuppressionsOf(accountId: string, db: Pick<Database, 'write'>): Promise<void> {
  for (const sql of removals) await removeInPieces(db, [{ sql, params: { accountId } }])
}
