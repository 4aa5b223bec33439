import type { Database } from '../../src/platform/store/database.ts'
import { isOnPostgres } from './tests-on-postgres.ts'

const ofSqlite = `select s.name as table_name, i.name as column_name from sqlite_schema s join pragma_table_info(s.name) i
                   where s.type = 'table' and s.name not like 'sqlite_%'`
/** Without the tables that are this engine's own. */
const ofPostgres = `select table_name, column_name from information_schema.columns
                     where table_schema = 'public' and table_name not in ('schema_version', 'event_order')`

/** The columns of each table of the schema. */
export async function columnsByTable(db: Database): Promise<Record<string, string[]>> {
  const columns = await db.slowRead<{ table_name: string; column_name: string }>(isOnPostgres ? ofPostgres : ofSqlite)
  const byTable = Map.groupBy(columns, (column) => column.table_name)
  return Object.fromEntries(Array.from(byTable, ([table, of]) => [table, of.map((column) => column.column_name).toSorted()]))
}
