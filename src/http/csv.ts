import { choiceParameter } from './query.ts'

/** A response as a table: the first line names the columns. */
export interface Table {
  columns: readonly string[]
  rows: readonly Record<string, string | number | null | undefined>[]
  /** The name of the downloaded file, without `.csv`. */
  name: string
}

/** The parameter that requests a table from endpoints that offer one; `Accept: text/csv` is the same. */
export const formatParameter = choiceParameter(['json', 'csv']).meta({
  description:
    'csv: the rows as a table, as with `Accept: text/csv`. A text that a spreadsheet would take for a formula starts ' +
    'with an apostrophe there.',
})

/** The text of a table (RFC 4180). */
export const csvText = ({ columns, rows }: Table): string => lineOf(columns) + rows.map((row) => csvLine(columns, row)).join('')

/** One row of it, with its end. */
export const csvLine = (columns: readonly string[], row: Table['rows'][number]): string =>
  lineOf(columns.map((column) => row[column] ?? ''))

const lineOf = (cells: readonly (string | number)[]): string => `${cells.map(cell).join(',')}\r\n`

/** A spreadsheet would execute a cell that starts like this (OWASP, CSV injection). */
const formula = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/

function cell(value: string | number): string {
  if (typeof value === 'number') return String(value)
  const text = formula.test(value) ? `'${value}` : value
  return /[",;\t\r\n']|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
