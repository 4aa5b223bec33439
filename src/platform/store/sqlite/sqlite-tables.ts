import { messageOf, SternaError } from '../../errors.ts'
import type { TableShape } from '../copy-sides.ts'
import { RowEncoder, type ColumnType, type ExactValue, type RowPiece } from '../row-codec.ts'
import type { Connection } from './sqlite-connection.ts'

const types: Readonly<Record<string, ColumnType>> = { bigint: 'bigint', integer: 'bigint', blob: 'blob', text: 'text' }

/** Every table of the schema, as both engines have it. */
export function tablesOf(connection: Connection): TableShape[] {
  const names = connection.prepare("select name from sqlite_master where type = 'table' and name not like 'sqlite%'").pluck().all()
  return (names as string[]).toSorted().map((table) => shapeOf(connection, table))
}

function shapeOf(connection: Connection, table: string): TableShape {
  const found = connection.pragma(`table_info(${table})`) as { name: string; type: string; pk: number }[]
  const columns = found
    .map(({ name, type }) => ({ name, type: columnType(table, name, type) }))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
  const key = found
    .filter(({ pk }) => pk > 0)
    .toSorted((one, other) => one.pk - other.pk)
    .map(({ name }) => name)
  return { table, columns, key: key.length > 0 ? key : columns.map(({ name }) => name) }
}

function columnType(table: string, column: string, declared: string): ColumnType {
  const type = types[declared.toLowerCase()]
  if (type === undefined) throw new Error(`the column ${column} of ${table} has the type ${declared}, which cannot be copied`)
  return type
}

export const columnNames = ({ columns }: Pick<TableShape, 'columns'>): string => columns.map(({ name }) => `"${name}"`).join(', ')

/** Reads a table piece by piece. The connection does nothing else meanwhile. */
export async function* rowsOf(
  connection: Connection,
  shape: TableShape,
  onReplaced: (values: number) => void = () => {},
): AsyncGenerator<RowPiece> {
  const { table, columns, key } = shape
  const order = key.map((name) => `"${name}"`).join(', ')
  const read = connection
    .prepare(`select ${columnNames(shape)} from ${table} order by ${order}`)
    .raw()
    .safeIntegers()
  const encoder = new RowEncoder(columns)
  let count = 0
  try {
    for (const row of read.iterate() as IterableIterator<ExactValue[]>) {
      encoder.add(row)
      count++
      if (encoder.isFull) yield encoder.take()
    }
  } catch (error) {
    throw new SternaError(
      'invalid_state',
      `The table ${table} cannot be copied: in row ${count + 1}, in the order of ${key.join(', ')}, ${messageOf(error)}. Nothing was kept.`,
      { cause: error },
    )
  }
  onReplaced(encoder.replaced)
  yield encoder.take()
}
