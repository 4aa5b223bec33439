import { parseAddress } from './address.ts'
import { isPiece, tokensOf, type Piece, type Token } from './address-tokens.ts'
import { decodeHeaderText } from './encoded-word.ts'

/** A mailbox (RFC 5322 3.4): an address, by the grammar of `parseAddress`, and perhaps a name. */
export interface Mailbox {
  /** `local@domain`, domain in A-labels and lower case. */
  address: string
  /** Display name, decoded; null if there is none. */
  name: string | null
}

type Refused = { ok: false; fault: string }
export type ParsedMailbox = { ok: true; mailbox: Mailbox } | Refused
/** `isPlain`: every reader takes the text as we do; if false, write it anew. */
export type ParsedMailboxList = { ok: true; mailboxes: Mailbox[]; isPlain: boolean } | Refused

const refuse = (fault: string): Refused => ({ ok: false, fault })

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

interface ListRules {
  /** Takes groups, empty elements and `;` between addresses; if false, refuses them. */
  lenient: boolean
  /** Whether to decode encoded words in display names. */
  decode: boolean
}

type ReadMailbox = { ok: true; mailbox: Mailbox; isPlain: boolean } | Refused

/** The pieces as one text, with a blank where a comment stood: an address that is joined across one is no longer an address. */
const joined = (pieces: readonly Piece[], textOf: (piece: Piece, place: number) => string): string =>
  pieces.map((piece, i) => (i === 0 || pieces[i - 1]?.end === piece.start ? '' : ' ') + textOf(piece, i)).join('')

/** An @ in an unquoted name that cannot be that of an address: blanks before it, and no domain name behind it. */
const harmlessAt = /(?<![^ \t])@(?![ \t]*[^ \t@]*\.[^ \t.])/g

/** Why this name, whose pieces are given as they are written, could be taken for another address; null if it cannot. */
function addressInName(text: string, pieces: Piece[], address: string): string | null {
  // What stands in quotation marks is a name in any case.
  const unquoted = trimmed(joined(pieces, ({ kind, start, end }) => (kind === 'quoted' ? 'x' : text.slice(start, end))))
  if (!unquoted.replace(harmlessAt, '').includes('@')) return null
  const named = parseAddress(unquoted)
  if (named.ok && named.address.toLowerCase() === address.toLowerCase()) return null
  return 'A display name with an address in it must be in quotation marks: "a@example.com" <b@example.com>.'
}

type ReadName = { ok: true; name: string | null } | Refused

function nameOf(pieces: Piece[], rules: ListRules): ReadName {
  const text = joined(pieces, ({ kind, text: said }, i) => {
    if (kind !== 'text') return said
    const blanks = said.replace(/[ \t]+/g, ' ')
    const start = i === 0 && blanks.startsWith(' ') ? 1 : 0
    return blanks.slice(start, i === pieces.length - 1 && blanks.endsWith(' ') ? -1 : undefined)
  })
  // Unfolding a quoted name may leave a tab.
  const raw = rules.decode ? text.replaceAll('\t', ' ') : text
  const name = rules.decode ? decodeHeaderText(raw) : raw
  const fault = /\p{Cc}/u.test(raw) ? displayNameFault(raw) : displayNameFault(name)
  return fault === null ? { ok: true, name: name === '' ? null : name } : refuse(fault)
}

/** What serves as a name if there is no other, as in mail programs: `root@example.com (Cron Daemon)`. */
function nameInComments(comments: Piece[], rules: ListRules): ReadName {
  const named = comments.length === 0 ? null : nameOf(comments, rules)
  const name = named?.ok ? trimmed(named.name ?? '') : ''
  return { ok: true, name: name === '' || /[@<>]/.test(name) ? null : name }
}

/** Punctuation that belongs into quotation marks; a dot may stand behind a word (RFC 5322 4.1). */
const unclearName = /[@:>)[\]\\]|(?:^|[ \t.])\./
const plainComment = /^[A-Za-z0-9 .!#$%&'*+/=^_`{|}~-]*$/

/** One mailbox: the tokens between two commas. */
function mailboxOf(text: string, given: Piece[], rules: ListRules): ReadMailbox {
  const comments = given.filter(({ kind }) => kind === 'comment')
  const pieces = given.filter(({ kind }) => kind !== 'comment')
  const last = pieces.at(-1)
  if (!last) return refuse('An address is missing.')
  // Simple readers take the first address that they see.
  if (!rules.lenient && comments.some((comment) => /[@<>]/.test(comment.text))) {
    return refuse('A comment in parentheses may not contain an address. Leave it out, or put it in quotation marks as the name.')
  }
  const hasAngle = last.kind === 'angle'
  const angles = pieces.filter(({ kind }) => kind === 'angle').length
  if (angles > 1) return refuse('There is more than one address in angle brackets. Put a comma between addresses.')
  if (!hasAngle && angles > 0) return refuse('There is text after the address in angle brackets. Write Name <address>.')
  const parsed = parseAddress(trimmed(hasAngle ? last.text : joined(pieces, ({ start, end }) => text.slice(start, end))))
  if (!parsed.ok)
    return comments.length === 0 ? parsed : refuse(`${parsed.fault} A comment may stand before or behind an address, not in it.`)
  const before = hasAngle ? pieces.slice(0, -1) : []
  const named = before.length === 0 ? nameInComments(comments, rules) : nameOf(before, rules)
  if (!named.ok) return named
  const fault = before.some((piece) => piece.kind === 'text' && piece.text.includes('@'))
    ? addressInName(text, before, parsed.address)
    : null
  if (fault !== null) return refuse(fault)
  const isPlain =
    (!hasAngle || last.text === trimmed(last.text)) &&
    !before.some((piece) => piece.kind === 'text' && unclearName.test(piece.text)) &&
    (rules.lenient || comments.every((comment) => plainComment.test(comment.text)))
  return { ok: true, mailbox: { address: parsed.address, name: named.name }, isPlain }
}

const maxQuoteLength = 60

/** What stands between commas without an address is most often a part of a name, as in `Lee, Ann <ann@example.com>`. */
const unquotedComma = (part: string): string =>
  `There is no address in "${part.slice(0, maxQuoteLength)}". If it is part of a name, put the whole name in quotation marks: ` +
  '"Lee, Ann" <ann@example.com>.'

/** A list without groups, where a `:` is part of a name, and a `;` is meant for a comma. */
function parsePlainList(text: string, tokens: Token[], rules: ListRules): ParsedMailboxList {
  const elements: Piece[][] = [[]]
  for (const token of tokens) {
    if (token.kind === ',' || token.kind === ';') elements.push([])
    else elements.at(-1)?.push(isPiece(token) ? token : { ...token, kind: 'text' })
  }
  const given = rules.lenient ? elements.filter(({ length }) => length > 0) : elements
  if (given.length === 0) return refuse('An address is missing.')
  const mailboxes: Mailbox[] = []
  let isPlain = given.length === elements.length && !tokens.some(({ kind }) => kind === ';')
  for (const pieces of given) {
    const parsed = mailboxOf(text, pieces, rules)
    if (!parsed.ok) {
      const isPartOfName = given.length > 1 && pieces.length > 0 && !pieces.some((piece) => piece.text.includes('@'))
      return isPartOfName ? refuse(unquotedComma(trimmed(text.slice(pieces[0]?.start, pieces.at(-1)?.end)))) : parsed
    }
    mailboxes.push(parsed.mailbox)
    isPlain &&= parsed.isPlain
  }
  return { ok: true, mailboxes, isPlain }
}

function parseGroups(text: string, tokens: Token[], rules: ListRules): ParsedMailboxList {
  const mailboxes: Mailbox[] = []
  let pieces: Piece[] = []
  let group: 'none' | 'open' | 'closed' = 'none'
  for (const token of [...tokens, { kind: 'end' as const }]) {
    if (token.kind !== 'end' && isPiece(token)) {
      pieces.push(token)
      continue
    }
    const isGroup = token.kind === ':' || token.kind === ';'
    if (isGroup && (token.kind === ':') === (group === 'open')) return refuse('A group of addresses is not written correctly.')
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
  // A list of mailboxes would lose the groups.
  return group === 'open' ? refuse('A group of addresses is not closed.') : { ok: true, mailboxes, isPlain: true }
}

/** None of these: the text is nothing but an address. */
const punctuation = /[\s"(),:;<>[\]\\]/

function parseList(text: string, rules: ListRules): ParsedMailboxList {
  if (text !== '' && !punctuation.test(text)) {
    const parsed = parseAddress(text)
    return parsed.ok ? { ok: true, mailboxes: [{ address: parsed.address, name: null }], isPlain: true } : parsed
  }
  if (!text.isWellFormed()) return refuse('The address is not valid Unicode.')
  const tokens = tokensOf(text)
  if (typeof tokens === 'string') return refuse(tokens)
  const isThere = (kind: ';' | ':'): boolean => text.includes(kind) && tokens.some((token) => token.kind === kind)
  if (!isThere(';')) return parsePlainList(text, tokens, rules)
  if (!rules.lenient) return refuse('A ; is not accepted here: put commas between addresses, and a name with a ; in quotation marks.')
  return isThere(':') ? parseGroups(text, tokens, rules) : parsePlainList(text, tokens, rules)
}

/** Parses exactly one mailbox: `a@b`, `Name <a@b>`, `"Quoted, Name" <a@b>` or `a@b (Name)`. Does not decode the name. */
export function parseMailbox(text: string): ParsedMailbox {
  const parsed = parseList(text, { lenient: false, decode: false })
  if (!parsed.ok) return parsed
  const [mailbox, second] = parsed.mailboxes
  if (!mailbox || second) return refuse('There is more than one address; only one is expected here.')
  return { ok: true, mailbox }
}

/** The address in what somebody pasted: as `parseMailbox`, with blanks of any kind around it. */
export function parsePasted(text: string): ReturnType<typeof parseAddress> {
  const parsed = parseMailbox(text.trim())
  return parsed.ok ? parseAddress(parsed.mailbox.address) : parsed
}

/**
 * Parses the unfolded value of an address field (RFC 5322 3.4), and decodes encoded words in names. A comment is no part of a name, but serves
 * as one if there is no other. Punctuation in a name without quotation marks is part of it, unless it could make another address of it.
 * Lenient (for To and Cc, which decide nothing) flattens groups and skips empty elements; strict (for From and Sender) refuses both.
 */
export const parseMailboxList = (value: string, strictness: 'strict' | 'lenient'): ParsedMailboxList =>
  parseList(value, { lenient: strictness === 'lenient', decode: true })
