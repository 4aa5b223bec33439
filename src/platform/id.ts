import { randomFillSync } from 'node:crypto'

/** The prefix of an id says what it names. */
type IdPrefix =
  | 'acc'
  | 'key'
  | 'dom'
  | 'dk'
  | 'em'
  | 'rcp'
  | 'att'
  | 'evt'
  | 'wh'
  | 'whd'
  | 'wha'
  | 'sup'
  | 'req'
  | 'usr'
  | 'ses'
  | 'pky'
  | 'aud'
  | 'tpl'
  | 'tplv'
  | 'rep'
  | 'drp'
  | 'era'
  | 'hit'
  | 'node'
  | 'tik'
  | 'prv'
  | 'use'
  | 'tlr'
  | 'sh'
  | 'rt'

/** Crockford's base 32, lower case: no i, l, o, u. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
/** Two digits at a time: each message has several ids. */
const pairs = Array.from(alphabet, (first) => Array.from(alphabet, (second) => first + second)).flat()

const pool = Buffer.alloc(10 * 400)
let used = pool.length

/** A millisecond, the head of its ids, and the counter in their last 40 bits. */
interface Moment {
  at: number
  head: string
  count: number
}

/**
 * An id that sorts by creation time, even within a millisecond of this process: prefix, `_`, and a ULID (48 bits of epoch ms, then 80
 * random bits that count up within the millisecond) as 26 characters of Crockford's base 32, lower case. It contains no `.`, as Standard
 * Webhooks requires. Not a secret: the next one can be guessed.
 */
export const newId = idSequence()

/** Makes ids that sort among themselves. */
export function idSequence(): (prefix: IdPrefix, now: number) => string {
  /** The latest time that ids were made for, and the last one before it: whoever comes with an earlier time disturbs no ids of the latest. */
  let latest: Moment = { at: -1, head: '', count: 0 }
  let earlier = latest
  const momentOf = (now: number): Moment => {
    if (now === latest.at) return latest
    if (now === earlier.at) return earlier
    const moment = { at: now, head: inBase32(now, 10) + inBase32(random40(), 8), count: Math.floor(random40() / 2) }
    if (now < latest.at) return (earlier = moment)
    earlier = latest
    return (latest = moment)
  }
  return (prefix, now) => {
    const moment = momentOf(now)
    return `${prefix}_${moment.head}${inBase32(moment.count++, 8)}`
  }
}

/** 40 random bits. A call to randomBytes() costs 2.5 µs, so many are fetched at a time. */
function random40(): number {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += 5
  return pool.readUIntBE(used - 5, 5)
}

/** Sorts before every id made at this time or later, and after every earlier one. */
export const idFloor = (prefix: IdPrefix, at: number): string => `${prefix}_${inBase32(Math.max(at, 0), 10)}`

/** When an id was created: epoch, ms. */
export function timeOfId(id: string): number {
  const start = id.indexOf('_') + 1
  return numberOf(id.slice(start, start + 10))
}

/** A whole number in the alphabet of ids, with leading zeros. @param digits an even number */
export function inBase32(value: number, digits: number): string {
  let text = ''
  for (let rest = value, i = 0; i < digits; i += 2) {
    text = pairs[rest % 1024] + text
    rest = Math.floor(rest / 1024)
  }
  return text
}

/** True if `text` has the form of such an id. The object need not exist. */
export const isId = (prefix: IdPrefix, text: string): boolean =>
  text.startsWith(`${prefix}_`) && /^[0-9a-hjkmnp-tv-z]{26}$/.test(text.slice(prefix.length + 1))

/** The form of an id, whatever it names. */
export const idForm = /^[a-z]{2,5}_[0-9a-z]{26}$/

/** An id without its prefix, as 16 bytes: 48 bits of time, then 80 others. */
export function bytesOfId(id: string): Buffer {
  const digits = id.slice(id.indexOf('_') + 1)
  const bytes = Buffer.alloc(16)
  bytes.writeUIntBE(numberOf(digits.slice(0, 10)), 0, 6)
  bytes.writeUIntBE(numberOf(digits.slice(10, 18)), 6, 5)
  bytes.writeUIntBE(numberOf(digits.slice(18)), 11, 5)
  return bytes
}

/** The id for these 16 bytes. */
export const idOfBytes = (prefix: IdPrefix, bytes: Buffer): string =>
  `${prefix}_${inBase32(bytes.readUIntBE(0, 6), 10)}${inBase32(bytes.readUIntBE(6, 5), 8)}${inBase32(bytes.readUIntBE(11, 5), 8)}`

/** An id as a UUID, for services that identify objects this way. */
export const uuidOfId = (id: string): string =>
  bytesOfId(id)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')

/** The epoch of `numberOfId`. Its 40 bits last until 2054. */
const numbersFrom = Date.UTC(2020, 0)
const countedInNumber = 2 ** 13

/**
 * An id as an integer that fits into JSON, for services that identify objects this way: 40 bits of its time and the last 13 of its counter,
 * which distinguish thousands of ids within a millisecond.
 */
export const numberOfId = (id: string): number =>
  Math.max(timeOfId(id) - numbersFrom, 0) * countedInNumber + (numberOf(id.slice(-8)) % countedInNumber)

/** When the id with this number was created: epoch, ms. */
export const timeOfNumber = (number: number): number => Math.floor(number / countedInNumber) + numbersFrom

/** Encodes bytes in the alphabet of ids, 8 characters for 5 bytes. Their number must be a multiple of 5. */
export function base32(bytes: Buffer): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += 5) text += inBase32(bytes.readUIntBE(at, 5), 8)
  return text
}

/** Decodes what `base32` encoded; null for anything else. */
export function bytesOfBase32(text: string): Buffer | null {
  if (text.length % 8 !== 0 || !/^[0-9a-hjkmnp-tv-z]+$/.test(text)) return null
  const bytes = Buffer.alloc((text.length / 8) * 5)
  for (let at = 0; at < text.length; at += 8) bytes.writeUIntBE(numberOf(text.slice(at, at + 8)), (at / 8) * 5, 5)
  return bytes
}

export function numberOf(digits: string): number {
  let value = 0
  for (const digit of digits) value = value * 32 + alphabet.indexOf(digit)
  return value
}
