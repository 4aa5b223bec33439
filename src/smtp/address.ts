import { parseDomain } from './domain-name.ts'
import { decodeHeaderText } from './encoded-word.ts'

/** An address in the envelope or in a header field, by this file's grammar. */
export interface Mailbox {
  /** `local@domain`, domain in A-labels and lower case. */
  address: string
  /** Display name, decoded; null if there is none. */
  name: string | null
}

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
export type ParsedMailbox = { ok: true; mailbox: Mailbox } | Refused
type ParsedMailboxList = { ok: true; mailboxes: Mailbox[] } | Refused
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
 * Parses one bare address, `local@domain` (RFC 5321 4.1.2, RFC 6531 3.3). Stricter than the RFCs where programs disagree about the
 * domain: no comments, routes, address literals, encoded words or trailing dots, and no @, space, quotation mark, backslash or
 * control character in a quoted local part.
 */
export function parseAddress(text: string): ParsedAddress {
  if (text === '') return refuse('The address is empty.')
  if (text.length > 512) return refuse('An address has at most 254 octets.')
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

/** A mailbox for display. Not for a header field, where names are quoted or encoded. */
export const mailboxText = ({ name, address }: Mailbox): string => (name === null ? address : `${name} <${address}>`)

/** Why this display name is refused; null if it is valid. */
export function displayNameFault(name: string): string | null {
  if (!name.isWellFormed()) return 'The display name is not valid Unicode.'
  if (/[\p{Cc}\u2028\u2029]/u.test(name)) return 'A display name may not contain line breaks or control characters.'
  return name.length > 320 ? 'A display name has at most 320 characters.' : null
}

/** Without leading and trailing spaces and tabs; `trim` would remove line breaks and Unicode spaces too. */
function trimmed(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && (text[start] === ' ' || text[start] === '\t')) start++
  while (end > start && (text[end - 1] === ' ' || text[end - 1] === '\t')) end--
  return text.slice(start, end)
}

type Token =
  { kind: 'text' | 'quoted' | 'angle'; text: string; start: number; end: number } | { kind: ',' | ';' | ':'; start: number; end: number }

interface ListRules {
  /** Skips comments and groups; if false, refuses them. */
  lenient: boolean
  /** Whether to decode encoded words in display names. */
  decode: boolean
}

/** Where the quoted string or comment that begins at `start` ends; -1 if it does not. */
function closeOf(text: string, start: number): number {
  const isQuoted = text[start] === '"'
  let depth = 0
  for (let i = start; i < text.length; i++) {
    const character = text[i]
    if (character === '\\') i++
    else if (isQuoted && character === '"' && i > start) return i
    else if (!isQuoted && character === '(') depth++
    else if (!isQuoted && character === ')' && --depth === 0) return i
  }
  return -1
}

/** Where the `<` at `start` is closed; -1 if it is not. A `>` inside quotation marks does not count. */
function angleCloseOf(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    if (text[i] === '>') return i
    if (text[i] === '<') return -1
    if (text[i] === '"') {
      i = closeOf(text, i)
      if (i < 0) return -1
    }
  }
  return -1
}

const special = /["(<,;:]/g

function tokensOf(text: string, rules: ListRules): Token[] | Refused {
  const tokens: Token[] = []
  for (let i = 0; i < text.length;) {
    const character = text.charAt(i)
    let end = i + 1
    if (character === '"') {
      end = closeOf(text, i) + 1
      if (end === 0) return refuse('A quotation mark is not closed.')
      tokens.push({ kind: 'quoted', text: text.slice(i + 1, end - 1).replace(/\\(.)/gsu, '$1'), start: i, end })
    } else if (character === '(') {
      if (!rules.lenient) return refuse('A comment in parentheses is not accepted; put a name in quotation marks.')
      end = closeOf(text, i) + 1
      if (end === 0) return refuse('A parenthesis is not closed.')
    } else if (character === '<') {
      end = angleCloseOf(text, i) + 1
      if (end === 0) return refuse('An angle bracket is not closed.')
      tokens.push({ kind: 'angle', text: text.slice(i + 1, end - 1), start: i, end })
    } else if (character === ',' || character === ';' || character === ':') {
      tokens.push({ kind: character, start: i, end })
    } else {
      special.lastIndex = i
      end = special.exec(text)?.index ?? text.length
      const run = text.slice(i, end)
      if (/[^ \t]/.test(run)) tokens.push({ kind: 'text', text: run, start: i, end })
    }
    i = end
  }
  return tokens
}

type Piece = Extract<Token, { text: string }>

function nameOf(pieces: Piece[], rules: ListRules): { ok: true; name: string | null } | Refused {
  for (const piece of pieces) {
    if (piece.kind === 'angle') return refuse('There is more than one address; only one is expected here.')
    const isPlain = piece.kind === 'text'
    if (isPlain && piece.text.includes('@')) return refuse('A display name with an @ must be in quotation marks.')
    if (isPlain && /[>)[\]\\]/.test(piece.text)) return refuse('A display name with punctuation must be in quotation marks.')
  }
  const words = pieces.map(({ kind, text }) => (kind === 'text' ? trimmed(text.replace(/[ \t]+/g, ' ')) : text))
  const text = words.join(' ')
  // Unfolding a quoted name may leave a tab.
  const raw = rules.decode ? text.replaceAll('\t', ' ') : text
  const name = rules.decode ? decodeHeaderText(raw) : raw
  const fault = /\p{Cc}/u.test(raw) ? displayNameFault(raw) : displayNameFault(name)
  return fault === null ? { ok: true, name: name === '' ? null : name } : refuse(fault)
}

/** One mailbox: the tokens between two commas. */
function mailboxOf(text: string, pieces: Piece[], rules: ListRules): ParsedMailbox {
  const last = pieces.at(-1)
  if (!last) return refuse('An address is missing.')
  const hasAngle = last.kind === 'angle'
  // Removed comments left a gap here, so an address joined across one is no longer an address.
  const source = pieces.map((piece, i) => (pieces[i - 1]?.end === piece.start ? '' : ' ') + text.slice(piece.start, piece.end))
  if (!hasAngle && pieces.some(({ kind }) => kind === 'angle')) {
    return refuse('There is text after the address in angle brackets.')
  }
  const parsed = parseAddress(hasAngle ? last.text : trimmed(source.join('')))
  if (!parsed.ok) return parsed
  if (!hasAngle) return { ok: true, mailbox: { address: parsed.address, name: null } }
  const named = nameOf(pieces.slice(0, -1), rules)
  return named.ok ? { ok: true, mailbox: { address: parsed.address, name: named.name } } : named
}

function parseList(text: string, rules: ListRules): ParsedMailboxList {
  if (!text.isWellFormed()) return refuse('The address is not valid Unicode.')
  const tokens = tokensOf(text, rules)
  if (!Array.isArray(tokens)) return tokens
  const mailboxes: Mailbox[] = []
  let pieces: Piece[] = []
  let group: 'none' | 'open' | 'closed' = 'none'
  for (const token of [...tokens, { kind: 'end' as const }]) {
    if (token.kind === 'text' || token.kind === 'quoted' || token.kind === 'angle') {
      pieces.push(token)
      continue
    }
    if (token.kind === ':' || token.kind === ';') {
      if (!rules.lenient) return refuse(`A ${token.kind} is not accepted here; a name that contains one must be in quotation marks.`)
      if ((token.kind === ':') === (group === 'open')) return refuse('A group of addresses is not written correctly.')
    }
    if (token.kind === ':') {
      group = 'open'
    } else if (pieces.length > 0 || (group === 'none' && token.kind !== ';')) {
      const parsed = mailboxOf(text, pieces, rules)
      if (!parsed.ok) return parsed
      mailboxes.push(parsed.mailbox)
    }
    if (token.kind === ';') group = 'closed'
    else if (token.kind === ',' && group === 'closed') group = 'none'
    pieces = []
  }
  return group === 'open' ? refuse('A group of addresses is not closed.') : { ok: true, mailboxes }
}

/** Parses exactly one mailbox: `a@b`, `Name <a@b>` or `"Quoted, Name" <a@b>`. Does not decode the name. */
export function parseMailbox(text: string): ParsedMailbox {
  const parsed = parseList(text, { lenient: false, decode: false })
  if (!parsed.ok) return parsed
  const [mailbox, second] = parsed.mailboxes
  if (!mailbox || second) return refuse('There is more than one address; only one is expected here.')
  return { ok: true, mailbox }
}

/**
 * Parses the unfolded value of an address field (RFC 5322 3.4), and decodes encoded words in names. Lenient (for To and Cc, which decide
 * nothing) skips comments and flattens groups; strict (for From and Sender) refuses both.
 */
export const parseMailboxList = (value: string, strictness: 'strict' | 'lenient'): ParsedMailboxList =>
  parseList(value, { lenient: strictness === 'lenient', decode: true })
