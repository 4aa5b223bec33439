/** bytes; a smaller body needs no room, and no thread of its own */
export const smallBody = 64 * 1024

/** Whether an email, or a list of them, can be composed quickly enough to do it on this thread. */
export const isSmall = (source: object): boolean =>
  Buffer.isBuffer(source) ? source.length <= smallBody : textLength(source, smallBody) <= smallBody

/** The characters of all strings in a value, plus one for each value; stops soon after `most`. */
function textLength(value: unknown, most: number): number {
  if (typeof value === 'string') return value.length + 1
  if (typeof value !== 'object' || value === null) return 1
  let length = 1
  for (const member of Object.values(value)) {
    length += textLength(member, most - length)
    if (length > most) break
  }
  return length
}
