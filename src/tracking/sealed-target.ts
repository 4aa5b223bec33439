import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto'
import type { TrackingKeys } from './tracking-token.ts'

/** Where a link of a message led before it was rewritten. */
export interface LinkTarget {
  /** Its place among the links of the message, from 0. */
  link: number
  /** How many there are. */
  links: number
  url: string
}

/** Where a link belongs. */
export interface LinkPlace {
  messageTag: Uint8Array
  /** '' at `base_url`. */
  trackingHost: string
}

const boundTo = ({ messageTag, trackingHost }: LinkPlace): Buffer => Buffer.concat([messageTag, Buffer.from(trackingHost)])

const nonceBytes = 12
const tagBytes = 12
const shortest = nonceBytes + tagBytes

/**
 * The target of a link, sealed (AES-256-GCM), so that nobody can make or change one: the server leads only where mail of its own
 * led. The nonce is an HMAC of the content. It belongs to its message and its tracking host: with the token of another message, or
 * at the host of somebody else, it does not open.
 */
export function sealTarget({ link, links, url }: LinkTarget, place: LinkPlace, keys: TrackingKeys): string {
  const bound = boundTo(place)
  const plain = Buffer.from(`${link} ${links} ${url}`)
  const nonce = createHmac('sha256', keys.mac).update('target ').update(bound).update(plain).digest().subarray(0, nonceBytes)
  const cipher = createCipheriv('aes-256-gcm', keys.cipher, nonce, { authTagLength: tagBytes }).setAAD(bound)
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString('base64url')
}

/** What was sealed; null where it was changed, or belongs to another message. */
export function openTarget(sealed: string, place: LinkPlace, keys: TrackingKeys): LinkTarget | null {
  if (!/^[\w-]+$/.test(sealed)) return null
  const bytes = Buffer.from(sealed, 'base64url')
  // Another spelling of the same bytes is not the one that we made.
  if (bytes.length < shortest || bytes.toString('base64url') !== sealed) return null
  const plain = opened(bytes, boundTo(place), keys)
  if (plain === null) return null
  const [link, links, ...url] = plain.split(' ')
  return { link: Number(link), links: Number(links), url: url.join(' ') }
}

function opened(bytes: Buffer, bound: Uint8Array, { cipher }: TrackingKeys): string | null {
  const decipher = createDecipheriv('aes-256-gcm', cipher, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
  decipher.setAAD(bound).setAuthTag(bytes.subarray(-tagBytes))
  try {
    return decipher.update(bytes.subarray(nonceBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8')
  } catch {
    // The tag does not fit.
    return null
  }
}
