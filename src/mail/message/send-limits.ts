import { parseIsoTime } from '../../platform/iso-time.ts'
import { headerTextFault } from './check-headers.ts'

// Send options come as JSON members over HTTP and as header fields over SMTP, with the same limits.

/** Lengths in characters, times in seconds. */
export const sendLimits = { tags: 20, metadataKeys: 20, metadataKey: 64, metadataValue: 500, minExpiry: 60, maxExpiry: 432_000 }

export interface Tag {
  name: string
  value: string
}

/** Names of tags. */
export const tagName = /^[A-Za-z0-9_-]{1,256}$/

/** characters */
export const maxTagValueLength = 256

/** Whether a tag may have this value: printable text, not blank. */
export const isTagValue = (value: string): boolean =>
  value.trim() !== '' && value.length <= maxTagValueLength && headerTextFault(value) === null

/** Any text in the characters of a tag's name, others as `_`; null if none is left. */
export function asTagName(text: string): string | null {
  const name = text.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, 256)
  return /[A-Za-z0-9]/.test(name) ? name : null
}

/** The tag of a label, for services whose tags have no name and value. Only a label that is no name stands in the value. */
export const labelTag = (label: string): Tag =>
  tagName.test(label) ? { name: label, value: 'true' } : { name: asTagName(label) ?? 'label', value: label }

/** What a tag is where tags are labels: the label that it was made of, or `name=value`. */
export const labelOf = ({ name, value }: Tag): string => {
  if (value === 'true') return name
  return labelTag(value).name === name ? value : `${name}=${value}`
}

/** Why these tags are invalid; null if they are valid. */
export function tagsFault(tags: readonly Tag[]): string | null {
  if (tags.length > sendLimits.tags) return `An email can have at most ${sendLimits.tags} tags.`
  const seen = new Set<string>()
  for (const { name, value } of tags) {
    if (!tagName.test(name)) return 'The name of a tag is 1 to 256 characters of A-Z, a-z, 0-9, _ and -.'
    if (!isTagValue(value)) return `The value of a tag is 1 to ${maxTagValueLength} printable characters.`
    if (seen.has(name)) return `The tag ${name} is given twice.`
    seen.add(name)
  }
  return null
}

/** Why this is not a valid unsubscribe topic; null if it is. */
export const topicFault = (topic: string): string | null =>
  /^(?!(?:true|false)$)[A-Za-z0-9_-]{1,64}$/i.test(topic)
    ? null
    : 'A topic must be 1 to 64 characters of A-Z, a-z, 0-9, _ and -, and cannot be true or false.'

/** Why this metadata is invalid; null if it is valid. */
export function metadataFault(metadata: Record<string, string>): string | null {
  const entries = Object.entries(metadata)
  if (entries.length > sendLimits.metadataKeys) return `Metadata can have at most ${sendLimits.metadataKeys} keys.`
  for (const [key, value] of entries) {
    if (key === '' || key.length > sendLimits.metadataKey) return `A metadata key must have 1 to ${sendLimits.metadataKey} characters.`
    if (value.length > sendLimits.metadataValue) {
      return `The metadata value of ${JSON.stringify(key)} has more than ${sendLimits.metadataValue} characters.`
    }
    if (!key.isWellFormed() || !value.isWellFormed()) return 'Metadata must be valid Unicode.'
  }
  return null
}

/** How far ahead mail can be scheduled, ms. */
export const maxAheadMs = 30 * 24 * 3600_000

/** Epoch ms; null if the time is past (send at once); or a fault. Also accepts `t` or a space for `T`, and `+0100`. */
export function parseScheduledAt(text: string, now: number): number | null | { fault: string; code: 'invalid_format' | 'too_large' } {
  const usual = text
    .replace(' ', 'T')
    .replace(/([+-]\d\d)(\d\d)$/, '$1:$2')
    .toUpperCase()
  const at = usual.includes('T') ? parseIsoTime(usual) : null
  if (at === null) return { fault: 'The time must be ISO 8601 with a time zone, such as 2026-11-21T08:00:00Z.', code: 'invalid_format' }
  if (at - now > maxAheadMs) return { fault: 'The time can be at most 30 days ahead.', code: 'too_large' }
  return at <= now ? null : at
}

/** Why this expiry is invalid; null if it is valid. */
export const expiresInFault = (seconds: number): string | null =>
  Number.isInteger(seconds) && seconds >= sendLimits.minExpiry && seconds <= sendLimits.maxExpiry
    ? null
    : `It must be a whole number of seconds from ${sendLimits.minExpiry} to ${sendLimits.maxExpiry}.`

export const idempotencyKeyFault = (key: string): string | null =>
  /^[\x21-\x7e](?:[\x20-\x7e]{0,254}[\x21-\x7e])?$/.test(key) ? null : 'An idempotency key must be 1 to 256 printable ASCII characters.'
