import { parseDomain } from './domain-name.ts'

export interface Address {
  /** A dot-atom if possible, else a quoted string. NFC. */
  localPart: string
  /** A-labels, lower case. */
  domain: string
  /** `localPart@domain` */
  address: string
}

type Refused = { ok: false; fault: string }
type ParsedAddress = ({ ok: true } & Address) | Refused
/** `address` is null for the null reverse-path `<>`. */
type ParsedPath = { ok: true; address: Address | null } | Refused

const refuse = (fault: string): Refused => ({ ok: false, fault })

const dotAtom = /^[a-z0-9!#$%&'*+/=?^_`{|}~\x80-\u{10ffff}-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~\x80-\u{10ffff}-]+)*$/iu
// Spaces, controls, format characters (bidi, zero width), surrogates, private use, unassigned.
const forbiddenUnicode = /[\p{Z}\p{C}]/u

/** Why this local part, unquoted or with its quotes removed, is refused; null if it is valid. */
function localPartFault(text: string): string | null {
  if (text === '') return 'The part before the @ is empty.'
  if (text.includes('\0')) return 'An address may not contain a NUL character.'
  if (/\p{Cc}/u.test(text)) return 'An address may not contain control characters.'
  if (/\s/.test(text)) return 'An address may not contain spaces.'
  if (text.includes('=?')) return 'An encoded word is not accepted inside an address.'
  if (text.includes('@')) return 'An address has exactly one @.'
  if (/[<>"\\]/.test(text)) return 'The part before the @ may not contain <, >, quotation marks or backslashes.'
  if (forbiddenUnicode.test(text)) return 'An address may not contain invisible or unassigned characters.'
  // Programs that normalise compatibility forms would read ＠ or ， as another address.
  if (/[^\x21-\x7e]/.test(text) && /[\s@<>(),:;"[\]\\]/.test(text.replace(/[\x21-\x7e]/g, '').normalize('NFKC'))) {
    return 'The part before the @ contains a character that looks like punctuation of an address.'
  }
  return null
}

function parseLocalPart(text: string): { ok: true; localPart: string } | Refused {
  const isQuoted = text.length > 1 && text.startsWith('"') && text.endsWith('"')
  const bare = (isQuoted ? text.slice(1, -1) : text).normalize('NFC')
  if (!isQuoted && bare.includes('(')) return refuse('A comment in parentheses is not accepted in an address.')
  const fault = localPartFault(bare)
  if (fault !== null) return refuse(fault)
  const isAtom = dotAtom.test(bare)
  if (!isAtom && !isQuoted) return refuse('The part before the @ has a character or a dot where none is allowed.')
  const localPart = isAtom ? bare : `"${bare}"`
  return Buffer.byteLength(localPart) > 64 ? refuse('The part before the @ has at most 64 octets.') : { ok: true, localPart }
}

/**
 * What nearly all addresses look like, so that `parseAddress` need not look closely: ASCII, a dot-atom, and a domain whose labels are not
 * encoded and whose last one is no number.
 */
const plainAddress =
  /^([a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*)@((?:(?!xn--)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?!xn--)[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?)$/i

function parsePlainAddress(text: string): ParsedAddress | null {
  const [, localPart = '', written = ''] = plainAddress.exec(text) ?? []
  if (localPart === '' || localPart.length > 64 || text.length > 254 || localPart.includes('=?')) return null
  const domain = written.toLowerCase()
  return { ok: true, localPart, domain, address: `${localPart}@${domain}` }
}

/**
 * Parses one bare address, `local@domain` (RFC 5321 4.1.2, RFC 6531 3.3). Stricter than the RFCs where programs disagree about the
 * domain: no comments, routes, address literals, encoded words or trailing dots, and no @, space, quotation mark, backslash or
 * control character in a quoted local part.
 */
export function parseAddress(text: string): ParsedAddress {
  if (text === '') return refuse('The address is empty.')
  if (text.length > 512) return refuse('An address has at most 254 octets.')
  const plain = parsePlainAddress(text)
  if (plain) return plain
  if (!text.isWellFormed()) return refuse('The address is not valid Unicode.')
  if (text.startsWith('@')) {
    return refuse(text.includes(':') ? 'A source route is not accepted.' : 'The part before the @ is empty.')
  }
  // In a quoted local part, the last @ may not be the separator, but such an address is refused anyway.
  const at = text.lastIndexOf('@')
  if (at < 0) return refuse('An address needs an @ and a domain.')
  const local = parseLocalPart(text.slice(0, at))
  if (!local.ok) return local
  const rest = text.slice(at + 1)
  if (rest.includes('(')) return refuse('A comment in parentheses is not accepted in an address.')
  const parsed = parseDomain(rest)
  if (!parsed.ok) return parsed
  const address = `${local.localPart}@${parsed.domain}`
  if (Buffer.byteLength(address) > 254) return refuse('An address has at most 254 octets.')
  return { ok: true, localPart: local.localPart, domain: parsed.domain, address }
}

/**
 * The form in which addresses are compared: two with the same one are one recipient, because providers ignore the case of local parts, whatever
 * RFC 5321 2.4 allows. Mail is sent to the spelling that was given. Non-ASCII letters are unchanged, because the databases' `lower` ignores
 * them.
 */
export const comparedAddress = (address: string): string =>
  /[A-Z]/.test(address) ? address.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()) : address

/** The addresses without those that are another spelling of an earlier one. */
export const distinctAddresses = (addresses: readonly string[]): string[] =>
  [...new Map(addresses.toReversed().map((address) => [comparedAddress(address), address])).values()].toReversed()

/** True if it has characters beyond ASCII, so that it needs SMTPUTF8 (RFC 6531). */
// oxlint-disable-next-line no-control-regex
export const isInternational = (address: string): boolean => /[^\x00-\x7f]/.test(address)

/** The domain of an address from `parseAddress`. */
export const domainOf = (address: string): string => address.slice(address.lastIndexOf('@') + 1)

/** Parses the argument of MAIL FROM or RCPT TO, with or without angle brackets (RFC 5321 4.1.2). */
export function parsePath(text: string): ParsedPath {
  const isBracketed = text.startsWith('<') && text.endsWith('>')
  const inner = isBracketed ? text.slice(1, -1) : text
  if (inner === '') return { ok: true, address: null }
  const parsed = parseAddress(inner)
  if (!parsed.ok) return parsed
  return { ok: true, address: { localPart: parsed.localPart, domain: parsed.domain, address: parsed.address } }
}
