import type { Database } from '../store/database.ts'

/** Rows that one batch removes, so that no commit gets long. */
const rowsAtOnce = 500

const removals = [
  'delete from suppression where id in (select id from suppression where account_id = :accountId limit :rows)',
  `delete from soft_bounce where (account_id, address, sandbox) in (
     select account_id, address, sandbox from soft_bounce where account_id = :accountId limit :rows)`,
]

/** Removes every suppression of an account, and what might have led to one, as it ends. */
export async function removeSuppressionsOf(accountId: string, db: Pick<Database, 'write'>): Promise<void> {
  for (const sql of removals) {
    for (let removed = rowsAtOnce; removed >= rowsAtOnce; ) {
      const [written] = await db.write([{ sql, params: { accountId, rows: rowsAtOnce } }])
      removed = written?.changes ?? 0
    }
  }
}
