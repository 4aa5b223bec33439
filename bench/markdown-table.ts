/** Rows of a table, aligned for people and fit for a document; the first is its heading. */
export function markdownTable(rows: readonly (readonly string[])[]): string {
  const [heading = []] = rows
  const widths = heading.map((_, column) => Math.max(3, ...rows.map((row) => (row[column] ?? '').length)))
  const line = (cells: readonly string[]): string => `| ${widths.map((width, column) => (cells[column] ?? '').padEnd(width)).join(' | ')} |`
  return [line(heading), line(widths.map((width) => '-'.repeat(width))), ...rows.slice(1).map(line)].join('\n')
}
