import type { Database } from './database.ts'

/** A piece of a table: the rows whose key is behind `after`, up to `upto`. */
export interface TableWindow<Key extends string | number> {
  after: Key
  upto: Key
}

/** Rows of a window, about: those with one key are in one. */
const rowsAtOnce = 2_000

/**
 * The pieces of a table in the order of a key that has an index, from `start` on, so that it can be looked through without
 * holding anybody up. Uses the connection for slow reads.
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
