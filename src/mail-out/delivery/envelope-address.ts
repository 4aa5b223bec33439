import { domainToASCII } from 'node:url'

// Narrower than RFC 5321 4.1.2: no space, angle bracket or backslash, so nothing in it can end a command's argument.
const dotString = /^(?:[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~.]|[^\0-\x7f\p{C}\p{Z}])+$/u
const quotedString = /^"(?:[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~.@,;:()[\]]|[^\0-\x7f\p{C}\p{Z}])*"$/u
const domainName = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/i
const asciiOnly = /^[\0-\x7f]*$/
/** octets, RFC 5321 4.5.3.1.1 */
const maxLocalPartLength = 64

/** An address as it may appear between the angle brackets of MAIL and RCPT. */
export interface WireAddress {
  text: string
  /** RFC 6531: the local part is not ASCII. */
  needsSmtputf8: boolean
}

/** Checks that we may write an address, and converts its domain to A-labels; null if we must not. */
export function wireAddress(address: string): WireAddress | null {
  const at = address.lastIndexOf('@')
  if (at < 1) return null
  const localPart = address.slice(0, at)
  const given = address.slice(at + 1)
  const domain = asciiOnly.test(given) ? given : domainToASCII(given)
  if (!dotString.test(localPart) && !quotedString.test(localPart)) return null
  if (Buffer.byteLength(localPart) > maxLocalPartLength || !domainName.test(domain)) return null
  return { text: `${localPart}@${domain}`, needsSmtputf8: !asciiOnly.test(localPart) }
}
