import type { Database } from './database.ts'

/** A piece of a table: the rows with keys from `after` (exclusive) to `upto` (inclusive). */
interface TableWindow<Key extends string | number> {
  after: Key
  upto: Key
}

/** Approximate number of rows in a window: rows with the same key are in the same window. */
const rowsAtOnce = 2_000

/**
 * The pieces of a table in the order of an indexed key, from `start` on, so that it can be scanned without holding anybody up. Uses the
 * connection for slow reads.
 */
export async function* tableWindows<Key extends string | number>(
  db: Pick<Database, 'slowRead'>,
  { table, key, start }: { table: string; key: string; start: Key },
): AsyncGenerator<TableWindow<Key>> {
  const sql = `select max(${key}) as last from (select ${key} from ${table} where ${key} > :after order by ${key} limit ${rowsAtOnce}) as piece`
  for (let after = start; ;) {
    const [end] = await db.slowRead<{ last: Key | null }>(sql, { after })
    if (end === undefined || end.last === null) return
    yield { after, upto: end.last }
    after = end.last
  }
}
