import { smallBody } from '../body-room.ts'
import type { EmailSource } from './email-request.ts'

/** Whether an email, or a list of them, is composed so quickly that it can be done here. */
export const isSmall = (source: EmailSource): boolean =>
  Buffer.isBuffer(source) ? source.length <= smallBody : textLength(source, smallBody) <= smallBody

/** The characters of all texts in a value, each value counted as one more; stops counting soon beyond `most`. */
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
