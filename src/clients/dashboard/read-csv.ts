/** A row of a CSV file, with the line at which it begins. */
interface CsvRow {
  line: number
  cells: string[]
}

/**
 * Reads CSV (RFC 4180), also with semicolons or tabs between cells, as spreadsheets write them in many countries. Empty lines are left
 * out. A quote that is never closed reaches to the end.
 */
export function readCsv(text: string): CsvRow[] {
  const content = text.startsWith('\u{feff}') ? text.slice(1) : text
  const separator = separatorIn(content)
  const rows: CsvRow[] = []
  let [cells, cell, isQuoted, line, begun] = [[] as string[], '', false, 1, 1]
  const endRow = (): void => {
    cells.push(cell)
    if (cells.some((each) => each.trim() !== '')) rows.push({ line: begun, cells })
    cells = []
    cell = ''
    begun = line
  }
  for (let at = 0; at < content.length; at++) {
    const character = content[at] as string
    if (character === '\n') line++
    if (isQuoted) {
      if (character !== '"') cell += character
      else if (content[at + 1] === '"') cell += content[++at]
      else isQuoted = false
    } else if (character === '"' && cell.trim() === '') {
      isQuoted = true
      cell = ''
    } else if (character === separator) {
      cells.push(cell)
      cell = ''
    } else if (character === '\n') endRow()
    else if (character !== '\r') cell += character
  }
  endRow()
  return rows
}

/** The one that the first line has most of. */
function separatorIn(content: string): string {
  const first = content.slice(0, content.search(/[\r\n]|$/))
  const counts = [',', ';', '\t'].map((separator) => ({ separator, count: first.split(separator).length }))
  return counts.reduce((one, other) => (other.count > one.count ? other : one)).separator
}

/** How the column of addresses is called in the files of most services. */
const addressHeads = /^(?:e-?mail(?:[ _-]?address)?|address|recipient|adresse|empfänger)$/i

/** The addresses of a file: from the column that is headed so, or else the first that has any. */
export function addressesIn(rows: readonly CsvRow[]): { line: number; address: string }[] {
  const heads = rows[0]?.cells.map((cell) => cell.trim()) ?? []
  const headed = heads.findIndex((head) => addressHeads.test(head))
  const column = headed === -1 ? firstWithAddress(rows) : headed
  const hasHead = headed !== -1 || !(heads[column] ?? '').includes('@')
  return rows
    .slice(hasHead && rows.length > 1 ? 1 : 0)
    .map(({ line, cells }) => ({ line, address: (cells[column] ?? '').trim() }))
    .filter(({ address }) => address !== '')
}

const firstWithAddress = (rows: readonly CsvRow[]): number => {
  const found = rows.find(({ cells }) => cells.some((cell) => cell.includes('@')))
  return Math.max(0, found?.cells.findIndex((cell) => cell.includes('@')) ?? 0)
}
