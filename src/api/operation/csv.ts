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
  description: 'csv: the rows as a table, as with `Accept: text/csv`.',
})

/** The parameter that guards a table against spreadsheets. What is guarded no longer says what was there, so nothing is by itself. */
export const spreadsheetParameter = choiceParameter(['true', 'false']).meta({
  description:
    'true: for a table that is opened in a spreadsheet, which would carry out a text that looks like a formula: such a text begins with an ' +
    'apostrophe. Default: false, every text as it is.',
})

/** The text of a table (RFC 4180). */
export const csvText = ({ columns, rows }: Table, guard: Guard = asItIs): string =>
  lineOf(columns) + rows.map((row) => csvLine(columns, row, guard)).join('')

/** One row of it, with its end. */
export const csvLine = (columns: readonly string[], row: Table['rows'][number], guard: Guard = asItIs): string =>
  lineOf(columns.map((column) => guard(row[column] ?? '')))

/** What happens to a cell before it is written. */
type Guard = (value: string | number) => string | number

const asItIs: Guard = (value) => value

/** What `spreadsheetParameter` asks for. */
export const guardOf = ({ spreadsheet }: { spreadsheet?: unknown }): Guard => (spreadsheet === 'true' ? withoutFormula : asItIs)

const lineOf = (cells: readonly (string | number)[]): string => `${cells.map(cell).join(',')}\r\n`

/** A spreadsheet would execute a cell that starts like this (OWASP, CSV injection). */
const formula = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/

const withoutFormula: Guard = (value) => (typeof value === 'string' && formula.test(value) ? `'${value}` : value)

function cell(value: string | number): string {
  const text = String(value)
  return /[",;\t\r\n']|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
