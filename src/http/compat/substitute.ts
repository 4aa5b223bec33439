/** bytes; a body may not be longer, so there is no point in making it */
const longestResult = 5 * 1024 * 1024

/**
 * Replaces every key by its value, all at once: a value is never searched for keys. Where two keys begin at the same
 * place the longer one counts. Null where the result would be longer than a body may be.
 */
export function substitute(text: string, values: ReadonlyMap<string, string>): string | null {
  const keys = [...values.keys()].filter((key) => key !== '').toSorted((a, b) => b.length - a.length)
  if (keys.length === 0) return text
  const pattern = new RegExp(keys.map((key) => key.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')).join('|'), 'g')
  const pieces: string[] = []
  let length = 0
  let end = 0
  for (const { 0: key, index } of text.matchAll(pattern)) {
    const value = values.get(key) ?? ''
    pieces.push(text.slice(end, index), value)
    length += index - end + value.length
    end = index + key.length
    if (length > longestResult) return null
  }
  return length + text.length - end > longestResult ? null : pieces.join('') + text.slice(end)
}
