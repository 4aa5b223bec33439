import { createCipheriv, createDecipheriv, createHmac, timingSafeEqual } from 'node:crypto'
import type { TrackingKeys } from './tracking-token.ts'

/** Where a link of a message led before it was rewritten. */
export interface LinkTarget {
  /** Its position among the links of the message, from 0. */
  link: number
  /** How many there are. */
  links: number
  url: string
}

/** Where a link belongs. */
interface LinkPlace {
  messageTag: Uint8Array
  /** '' at `base_url`. */
  trackingHost: string
}

/** 128 bits */
const sivBytes = 16

/**
 * The target of a link, sealed (a synthetic IV, RFC 5297 in small), so that nobody can create or change one: the server redirects only to
 * targets of its own mail. It belongs to its message and its tracking host: it does not open with another message's token, or at another
 * host.
 */
export function sealTarget({ link, links, url }: LinkTarget, place: LinkPlace, keys: TrackingKeys): string {
  const plain = Buffer.from(`${link} ${links} ${url}`)
  const siv = sivOf(plain, place, keys)
  return Buffer.concat([siv, createCipheriv('aes-256-ctr', keys.cipher, siv).update(plain)]).toString('base64url')
}

/** The sealed target; null if it was changed, or belongs to another message. */
export function openTarget(sealed: string, place: LinkPlace, keys: TrackingKeys): LinkTarget | null {
  if (!/^[\w-]+$/.test(sealed)) return null
  const bytes = Buffer.from(sealed, 'base64url')
  // Another spelling of the same bytes is not one that we made.
  if (bytes.length < sivBytes || bytes.toString('base64url') !== sealed) return null
  const siv = bytes.subarray(0, sivBytes)
  const plain = createDecipheriv('aes-256-ctr', keys.cipher, siv).update(bytes.subarray(sivBytes))
  if (!timingSafeEqual(siv, sivOf(plain, place, keys))) return null
  const [link, links, ...url] = plain.toString().split(' ')
  return { link: Number(link), links: Number(links), url: url.join(' ') }
}

const sivOf = (plain: Uint8Array, { messageTag, trackingHost }: LinkPlace, { mac }: TrackingKeys): Buffer =>
  createHmac('sha256', mac).update('target ').update(messageTag).update(`${trackingHost} `).update(plain).digest().subarray(0, sivBytes)
