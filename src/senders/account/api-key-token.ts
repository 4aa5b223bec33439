import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

// 43 digits of base 62 hold 256 bits, and 6 hold a CRC-32.
const secretLength = 43
const checksumLength = 6
const wellFormed = new RegExp(`^sterna_(?:live|test)_[0-9A-Za-z]{${secretLength + checksumLength}}$`)

/** How many leading characters of a token may be shown, so that people can tell keys apart. */
const shownLength = 'sterna_live_'.length + 6

/**
 * A new API key, as its owner sees it once: `sterna_live_` or `sterna_test_`, 256 random bits in base 62, and a checksum that lets
 * secret scanners tell a key from a random string. It needs no escaping in a header, a URL or a shell.
 */
export function newToken(sandbox: boolean): string {
  const secret = BigInt(`0x${randomBytes(32).toString('hex')}`)
  const unchecked = `${sandbox ? 'sterna_test_' : 'sterna_live_'}${base62(secret, secretLength)}`
  return unchecked + checksumOf(unchecked)
}

/** Whether `token` has the form of an API key, so that a mistyped one costs no look-up. */
export const isWellFormed = (token: string): boolean =>
  wellFormed.test(token) && checksumOf(token.slice(0, -checksumLength)) === token.slice(-checksumLength)

/** What is stored instead of the token: SHA-256, hex. For 256 random bits, a slow hash would add nothing. */
export const digestOf = (token: string): string => hash('sha256', token, 'hex')

/** What is kept of a token. */
export interface StoredToken {
  digest: string
  /** The part that may be shown and logged. */
  prefix: string
}

export const storedToken = (token: string): StoredToken => ({ digest: digestOf(token), prefix: token.slice(0, shownLength) })

const checksumOf = (text: string): string => base62(BigInt(crc32(text)), checksumLength)

function base62(value: bigint, length: number): string {
  let text = ''
  for (let rest = value, i = 0; i < length; i++) {
    text = digits[Number(rest % 62n)] + text
    rest /= 62n
  }
  return text
}
