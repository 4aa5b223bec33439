/** Gives the browser a file that was made on the page. */
export function download(name: string, type: string, content: string | Blob): void {
  const url = URL.createObjectURL(new Blob([content], { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

/** CSV (RFC 4180) for spreadsheets: a cell that one would take for a formula begins with an apostrophe. */
export const csvOf = (rows: readonly (readonly string[])[]): string => exactCsvOf(rows.map((row) => row.map(withoutFormula)))

/** CSV to be read by programs: every text as it is. */
export const exactCsvOf = (rows: readonly (readonly string[])[]): string => rows.map((row) => `${row.map(cell).join(',')}\r\n`).join('')

const withoutFormula = (value: string): string => (/^[=+\-@\t\r]/.test(value) ? `'${value}` : value)

function cell(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
