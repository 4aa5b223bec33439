import type { TableShape } from '../copy-sides.ts'
import type { ColumnType, RowPiece } from '../row-codec.ts'
import { copyOut } from './copy-stream.ts'
import type { PostgresConnection } from './postgres-connection.ts'
import { engineTables } from './postgres-schema.ts'

const types: Readonly<Record<string, ColumnType>> = { bigint: 'bigint', bytea: 'blob', text: 'text' }

/** Every table that both engines have. */
export async function tablesOn(connection: PostgresConnection): Promise<TableShape[]> {
  const { rows } = await connection.run(
    `select c.relname as name, a.attname as column, format_type(a.atttypid, null) as type,
            coalesce(array_position(k.conkey::int[], a.attnum::int), 0) as place
       from pg_class c
       join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
       left join pg_constraint k on k.conrelid = c.oid and k.contype = 'p'
      where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'
      order by c.relname collate "C", a.attname collate "C"`,
  )
  const byTable = Map.groupBy(rows ?? [], ({ name }) => String(name))
  return [...byTable].filter(([table]) => !engineTables.has(table)).map(([table, found]) => shapeOf(table, found))
}

function shapeOf(table: string, found: readonly Record<string, unknown>[]): TableShape {
  const columns = found.map(({ column, type }) => ({ name: String(column), type: columnType(table, String(column), String(type)) }))
  const key = found
    .filter(({ place }) => Number(place) > 0)
    .toSorted((one, other) => Number(one['place']) - Number(other['place']))
    .map(({ column }) => String(column))
  return { table, columns, key: key.length > 0 ? key : columns.map(({ name }) => name) }
}

function columnType(table: string, column: string, found: string): ColumnType {
  const type = types[found]
  if (type === undefined) throw new Error(`the column ${column} of ${table} has the type ${found}, which cannot be copied`)
  return type
}

const quoted = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ')

export const columnsOf = ({ columns }: Pick<TableShape, 'columns'>): string => quoted(columns.map(({ name }) => name))

/** Reads a table piece by piece, in the order in which SQLite has its keys. */
export function rowsOn(connection: PostgresConnection, shape: TableShape): AsyncIterable<RowPiece> {
  const order = shape.key.map((name) => `"${name}" nulls first`).join(', ')
  const hasKey = shape.key.length < shape.columns.length
  // The index of a key has its nulls last, and there are none.
  const by = hasKey ? quoted(shape.key) : order
  return copyOut(connection, `copy (select ${columnsOf(shape)} from ${shape.table} order by ${by}) to stdout (format binary)`)
}
