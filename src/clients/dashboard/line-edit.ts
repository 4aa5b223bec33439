/** A replacement of a text from one position to another, and what is selected after it. */
interface LineEdit {
  from: number
  to: number
  text: string
  selectFrom: number
  selectTo: number
}

const step = '  '

/**
 * What the Tab key does to a text in which something is selected: spaces at the place of writing, or one step more, or `back`, less of
 * indentation for every line of the selection. Null where there is nothing to take away.
 */
export function indent(text: string, { from, to, back }: { from: number; to: number; back: boolean }): LineEdit | null {
  if (!back && from === to) return { from, to, text: step, selectFrom: from + step.length, selectTo: from + step.length }
  const lineStart = text.lastIndexOf('\n', from - 1) + 1
  // A selection that ends at the beginning of a line does not include that line.
  const lastAt = to > from && text[to - 1] === '\n' ? to - 1 : to
  const nextBreak = text.indexOf('\n', lastAt)
  const lineEnd = nextBreak === -1 ? text.length : nextBreak
  const lines = text.slice(lineStart, lineEnd).split('\n')
  const moved = lines.map((line) => (back ? line.replace(/^(?:\t| {1,2})/, '') : line === '' ? line : step + line))
  const replaced = moved.join('\n')
  const change = replaced.length - (lineEnd - lineStart)
  if (change === 0) return null
  const first = (moved[0] as string).length - (lines[0] as string).length
  const selectFrom = Math.max(lineStart, from + first)
  return { from: lineStart, to: lineEnd, text: replaced, selectFrom, selectTo: Math.max(selectFrom, to + change) }
}
