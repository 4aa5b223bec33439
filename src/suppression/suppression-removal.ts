import type { Database } from '../store/database.ts'

/** Rows that one batch removes, so that no commit gets long. */
const rowsAtOnce = 500

/** Removes every suppression of an account, as it ends. */
export async function removeSuppressionsOf(accountId: string, db: Pick<Database, 'write'>): Promise<void> {
  for (let removed = rowsAtOnce; removed >= rowsAtOnce; ) {
    const [written] = await db.write([
      {
        sql: 'delete from suppression where id in (select id from suppression where account_id = :accountId limit :rows)',
        params: { accountId, rows: rowsAtOnce },
      },
    ])
    removed = written?.changes ?? 0
  }
}
