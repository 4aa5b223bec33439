import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const file = 'docs/standards.md'

const cellsOf = (line: string): string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.replaceAll('`', '').trim())

/** The rows of the table of docs/standards.md that has these columns, as they stand there. Throws if there is none. */
export function documentedTable<Column extends string>(...columns: Column[]): Record<Column, string>[] {
  const lines = readFileSync(join(import.meta.dirname, '../..', file), 'utf8').split('\n')
  const head = lines.findIndex((line) => cellsOf(line).join('|') === columns.join('|'))
  if (head < 0) throw new Error(`${file} has no table with the columns ${columns.join(', ')}`)
  const rows = lines.slice(head + 2)
  const end = rows.findIndex((line) => !line.startsWith('|'))
  return rows
    .slice(0, end < 0 ? undefined : end)
    .map((line) => Object.fromEntries(cellsOf(line).map((cell, place) => [columns[place], cell])) as Record<Column, string>)
}
