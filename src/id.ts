import { randomFillSync } from 'node:crypto'

/** What the first letters of an id say about the thing it names. */
type IdPrefix = 'acc' | 'key' | 'dom' | 'dk' | 'em' | 'rcp' | 'att' | 'evt' | 'wh' | 'whd' | 'wha' | 'sup' | 'req' | 'usr' | 'ses' | 'aud' | 'tpl' | 'tplv' | 'rep' | 'drp' | 'era'

/** Crockford's base 32 in lower case: no i, l, o, u. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

const pool = Buffer.alloc(10 * 400)
let used = pool.length

/** The millisecond of the last id, what its ids begin with, and how far their last 40 bits have been counted up. */
let last = { at: -1, head: '', count: 0 }

/**
 * An identifier that sorts by time of creation, also within a millisecond of this process: prefix, `_`, and a ULID (48
 * bits of epoch ms, 80 random bits that are counted up within the millisecond) as 26 characters of lower-case Crockford
 * base 32. It contains no `.`, which Standard Webhooks demands. Not a secret: the next one can be guessed.
 */
export function newId(prefix: IdPrefix, now: number): string {
  if (now !== last.at) last = { at: now, head: inBase32(now, 10) + inBase32(random40(), 8), count: Math.floor(random40() / 2) }
  return `${prefix}_${last.head}${inBase32(last.count++, 8)}`
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

/** What sorts before every id made at this time or later, and after every earlier one. */
export const idFloor = (prefix: IdPrefix, at: number): string => `${prefix}_${inBase32(Math.max(at, 0), 10)}`

/** When an id was made: epoch, ms. */
export function timeOfId(id: string): number {
  const start = id.indexOf('_') + 1
  let at = 0
  for (const digit of id.slice(start, start + 10)) at = at * 32 + alphabet.indexOf(digit)
  return at
}

function inBase32(value: number, digits: number): string {
  let text = ''
  for (let rest = value, i = 0; i < digits; i++) {
    text = alphabet[rest % 32] + text
    rest = Math.floor(rest / 32)
  }
  return text
}

/** True where `text` has the form of an id of this kind; it need not exist. */
export const isId = (prefix: IdPrefix, text: string): boolean =>
  text.startsWith(`${prefix}_`) && /^[0-9a-hjkmnp-tv-z]{26}$/.test(text.slice(prefix.length + 1))
