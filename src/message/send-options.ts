import type { Tag } from './submission.ts'

// The options of a send that both doors know, HTTP as JSON members and SMTP as header fields: one rule for both.

/** Why these tags are refused; null where they are fine. */
export function tagsFault(tags: readonly Tag[]): string | null {
  if (tags.length > 20) return 'An email has at most 20 tags.'
  const seen = new Set<string>()
  for (const { name, value } of tags) {
    if (!/^[A-Za-z0-9_-]{1,256}$/.test(name) || !/^[A-Za-z0-9_-]{1,256}$/.test(value)) {
      return 'Names and values of tags are 1 to 256 characters of A-Z, a-z, 0-9, _ and -.'
    }
    if (seen.has(name)) return `The tag ${name} is given twice.`
    seen.add(name)
  }
  return null
}

/** Why this metadata is refused; null where it is fine. */
export function metadataFault(metadata: Record<string, string>): string | null {
  const entries = Object.entries(metadata)
  if (entries.length > 20) return 'Metadata has at most 20 keys.'
  for (const [key, value] of entries) {
    if (key === '' || key.length > 64) return 'A metadata key has 1 to 64 characters.'
    if (value.length > 500) return `The metadata value of ${JSON.stringify(key)} has more than 500 characters.`
    if (!key.isWellFormed() || !value.isWellFormed()) return 'Metadata must be valid Unicode.'
  }
  return null
}

const isoTime = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)$/i
const maxAheadMs = 30 * 24 * 3600_000

/** Epoch ms, null where the time has come already (send at once), or the text of a fault. */
export function parseScheduledAt(text: string, now: number): number | null | { fault: string } {
  const at = isoTime.test(text) ? Date.parse(text.replace(' ', 'T').replace(/([+-]\d\d)(\d\d)$/, '$1:$2').toUpperCase()) : NaN
  if (Number.isNaN(at)) return { fault: 'The time must be ISO 8601 with a time zone, such as 2026-11-21T08:00:00Z.' }
  if (at - now > maxAheadMs) return { fault: 'The time may be at most 30 days ahead.' }
  return at <= now ? null : at
}

/** `seconds` after which an undelivered recipient is given up. */
export const expiresInFault = (seconds: number): string | null =>
  Number.isInteger(seconds) && seconds >= 60 && seconds <= 432_000
    ? null
    : 'It must be a whole number of seconds from 60 to 432000.'

export const idempotencyKeyFault = (key: string): string | null =>
  /^[\x21-\x7e](?:[\x20-\x7e]{0,254}[\x21-\x7e])?$/.test(key)
    ? null
    : 'An idempotency key is 1 to 256 printable ASCII characters.'
