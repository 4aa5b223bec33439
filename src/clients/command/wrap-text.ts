/** Characters of a line of help: what a narrow terminal shows. */
const lineWidth = 100

/**
 * Breaks a text into lines of at most `lineWidth` characters.
 * @param indent spaces before every line but the first
 * @param taken characters that stand before the first line
 */
export const wrapText = (text: string, indent = 0, taken = 0): string => wrapWords(text.split(' '), indent, taken)

/** The same for words that hold spaces of their own, such as `--account ACCOUNT`. */
export function wrapWords(words: readonly string[], indent: number, taken = 0): string {
  const lines: string[] = []
  let line = ''
  for (const word of words) {
    const longer = line === '' ? word : `${line} ${word}`
    const room = lineWidth - (lines.length === 0 ? taken : indent)
    if (line === '' || longer.length <= room) {
      line = longer
      continue
    }
    lines.push(line)
    line = word
  }
  return [...lines, line].join(`\n${' '.repeat(indent)}`)
}

/** Names in one column and what they mean in another, two spaces from the left. */
export function definitions(rows: readonly (readonly [name: string, meaning: string])[]): string {
  const width = Math.max(0, ...rows.map(([name]) => name.length))
  const indent = width + 4
  return rows.map(([name, meaning]) => `  ${name.padEnd(width)}  ${wrapText(meaning, indent, indent)}\n`).join('')
}
