import { maxBodyLength } from '../../resource/email-schema.ts'
import { bodyLimit } from '../../operation/body-limits.ts'

/** What all emails of a request may have replaced; with more, other connections would have to wait for it. */
const maxReplacements = 200_000
/** characters */
const maxKeyLength = 200
/** Of one email. */
export const maxKeys = 1000

/** Counts what is replaced in all emails of a request, and by how much text: a value of megabytes may be named a thousand times. */
export class ReplacementBudget {
  #left = maxReplacements
  #characters = bodyLimit

  /** One more, by so many characters; false where it is too much. */
  take(length: number): boolean {
    this.#characters -= length
    return --this.#left >= 0 && this.#characters >= 0
  }
}

/** Whether there are more or longer keys than can be looked for in a text without others having to wait. */
export const areTooMuch = (keys: readonly string[]): boolean => keys.length > maxKeys || keys.some((key) => key.length > maxKeyLength)

/**
 * Replaces every key by its value, all at once: a value is never searched for keys. Where two keys begin at the same
 * place the longer one counts. Null where the text or the result is longer than a body may be, or `budget` is used up.
 */
export function substitute(text: string, values: ReadonlyMap<string, string>, budget = new ReplacementBudget()): string | null {
  if (text.length > maxBodyLength) return null
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
    if (length > maxBodyLength || !budget.take(value.length)) return null
  }
  return length + text.length - end > maxBodyLength ? null : pieces.join('') + text.slice(end)
}
