/** bytes; a smaller body needs no room, and may be worked on here */
export const smallBody = 64 * 1024

/** Whether what is made of it takes so little that it is done on this thread. */
export const isSmall = (source: object, most = smallBody): boolean =>
  Buffer.isBuffer(source) ? source.length <= most : textLength(source, most) <= most

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
