import { isAscii, isUtf8 } from 'node:buffer'
import { lastUsed } from '../../platform/last-used.ts'
import { SternaError } from '../../platform/errors.ts'
import { domainOf } from '../../platform/smtp/address.ts'
import { mailboxText, parseMailboxList, type Mailbox, type ParsedMailboxList } from '../../platform/smtp/mailbox.ts'
import { decodeHeaderText } from '../../platform/smtp/encoded-word.ts'
import type { RecipientType } from './envelope.ts'
import { formatDate } from './format-field.ts'
import { fieldNamed, fieldsNamed, type HeaderField, headerBytesOf, parseHeaderBlock } from './header-block.ts'
import { signaturesIn } from './mime-structure.ts'
import type { HeaderSummary } from './header-summary.ts'
import { authorField, outgoingField, signedField, type ReadMailboxes } from './outgoing-field.ts'
import { randomText } from './random-text.ts'
import { optionFieldNames, readOptionFields, type SendOptions } from './send-options.ts'
import { mustStay } from './seven-bit.ts'
import { maxLineLength } from './transfer-encoding.ts'

export interface Completed {
  ok: true
  /** The new header, with the empty line that ends it. */
  header: Buffer
  /** Where the body begins in the given bytes. */
  bodyOffset: number
  summary: HeaderSummary
  options: SendOptions
  idempotencyKey: string | null
  /** Which header field names this address. It gets the message in any case. */
  addressedAs(address: string): RecipientType
  /** Hosts that relayed the message before us. */
  receivedCount: number
  /** True if it came signed or encrypted: we may not re-encode its lines. */
  mustStay: boolean
  /** True if the header contains bytes above 127, which need SMTPUTF8 (RFC 6532). */
  smtputf8: boolean
}

type Completion = Completed | { ok: false; fault: string }

/** RFC 5322 3.6 and RFC 2045 allow these fields once, each with a bit of its own. Given two, mail clients disagree about which one counts. */
const single = new Map(
  ['From', 'Sender', 'Reply-To', 'To', 'Cc', 'Subject', 'Date', 'Message-ID', 'Content-Type', 'Content-Transfer-Encoding'].map(
    (name, place) => [name.toLowerCase(), { name, bit: 1 << place }],
  ),
)
const removed = new Set(['bcc', 'resent-bcc', 'return-path', ...optionFieldNames])

/** A message relayed by more hosts than this is in a loop (RFC 5321 6.3). */
export const maxReceived = 50

/** Relays break long lines, and any signature over them, so a signed or encrypted message with such a line is refused. */
export const signedLongLine =
  `The message is signed or encrypted and has a line of more than ${maxLineLength} bytes, which is too long to be delivered (RFC 5321 4.5.3.1.6) ` +
  'and cannot be re-encoded now. Use quoted-printable or base64 before signing'

/** Each author's domain is looked up. */
const maxAuthors = 100
/** Characters kept of an address list for display. */
const maxListLength = 10_000

/** The value of a field that can occur only once; '' if it is absent. */
const valueOf = (fields: readonly HeaderField[], key: string): string => fieldNamed(fields, key)?.value ?? ''

/** A program sends its mail from few authors. Longer fields are not worth their memory. */
const knownAuthors = lastUsed<ParsedMailboxList>(500)
const maxRememberedLength = 200

function authorsIn(value: string): ParsedMailboxList {
  const known = knownAuthors.get(value)
  if (known) return known
  const parsed = parseMailboxList(value, 'strict')
  if (value.length <= maxRememberedLength) knownAuthors.set(value, parsed)
  return parsed
}

/** Parses each address field once, however often it is asked for: a field may list twenty thousand addresses. */
function mailboxReader(): ReadMailboxes {
  const known = new Map<HeaderField, ParsedMailboxList>()
  return (field) => {
    const before = known.get(field)
    if (before) return before
    const parsed = authorField.test(field.key) ? authorsIn(field.value) : parseMailboxList(field.value, 'lenient')
    known.set(field, parsed)
    return parsed
  }
}

type Authors = Pick<HeaderSummary, 'from' | 'sender' | 'resentBy'>

function authorsOf(fields: readonly HeaderField[], read: ReadMailboxes): Authors | { fault: string } {
  const fromField = fieldNamed(fields, 'from')
  if (!fromField) return { fault: 'The From field is missing.' }
  if (!isUtf8(fromField.raw)) return { fault: 'The From field is not valid UTF-8. Write it in UTF-8, or with encoded words (RFC 2047).' }
  const from = read(fromField)
  if (!from.ok) return { fault: `From: ${from.fault}` }
  if (from.mailboxes.length > maxAuthors) return { fault: `The From field has more than ${maxAuthors} mailboxes.` }
  const senderField = fieldNamed(fields, 'sender')
  const resentBy = resendersOf(fields, read)
  if ('fault' in resentBy) return resentBy
  if (!senderField || senderField.value === '') {
    // RFC 5322 3.6.2
    if (from.mailboxes.length > 1) return { fault: 'A From field with several mailboxes needs a Sender field.' }
    return { from: from.mailboxes, sender: null, resentBy }
  }
  const sender = read(senderField)
  if (!sender.ok) return { fault: `Sender: ${sender.fault}` }
  if (sender.mailboxes.length > 1) return { fault: 'The Sender field has more than one mailbox.' }
  return { from: from.mailboxes, sender: sender.mailboxes[0] ?? null, resentBy }
}

/** The mailboxes of Resent-From and Resent-Sender, which can occur several times (RFC 5322 3.6.6). */
function resendersOf(fields: readonly HeaderField[], read: ReadMailboxes): Mailbox[] | { fault: string } {
  const resenders: Mailbox[] = []
  for (const field of fields) {
    if (field.key !== 'resent-from' && field.key !== 'resent-sender') continue
    const parsed = read(field)
    if (!parsed.ok) return { fault: `${field.name}: ${parsed.fault}` }
    resenders.push(...parsed.mailboxes)
    if (resenders.length > maxAuthors) return { fault: `The Resent fields name more than ${maxAuthors} mailboxes.` }
  }
  return resenders
}

/**
 * The authors of a message accepted earlier; `bytes` start with its whole header.
 * @throws SternaError `invalid_state` if it was accepted under rules that are stricter now
 */
export function headerAuthors(bytes: Uint8Array): Authors {
  const block = parseHeaderBlock(bytes)
  if (!block.ok) throw new Error(`the header of a stored message cannot be read: ${block.fault}`)
  const authors = authorsOf(block.fields, mailboxReader())
  if ('fault' in authors) throw new SternaError('invalid_state', `This email cannot be sent again as it is. ${authors.fault}`)
  return authors
}

/** Shortens text that is stored with the message and repeated in each of its events. */
const shortened = (text: string): string => (text.length > maxLineLength ? `${text.slice(0, maxLineLength - 1).toWellFormed()}…` : text)

/** The start of an address list, for display. A field that cannot be parsed is kept as one text. */
function addressTexts(fields: readonly HeaderField[], key: string, read: ReadMailboxes): string[] {
  const field = fieldNamed(fields, key)
  if (!field || field.value === '') return []
  const parsed = read(field)
  if (!parsed.ok) return [shortened(decodeHeaderText(field.value))]
  const texts: string[] = []
  let left = maxListLength
  for (const mailbox of parsed.mailboxes) {
    const text = mailboxText(mailbox)
    left -= text.length
    if (left < 0) break
    texts.push(text)
  }
  return texts
}

const nobody = new Set<string>()

function addressedAs(fields: readonly HeaderField[], read: ReadMailboxes): Completed['addressedAs'] {
  const named = (key: string): Set<string> => {
    const field = fieldNamed(fields, key)
    const parsed = field && read(field)
    return parsed?.ok ? new Set(parsed.mailboxes.map(({ address }) => address.toLowerCase())) : nobody
  }
  return typeAmong(named('to'), named('cc'))
}

/** A separate closure, which does not keep the fields in memory while the message is being written. */
const typeAmong =
  (to: Set<string>, cc: Set<string>): Completed['addressedAs'] =>
  (address) => {
    const lower = address.toLowerCase()
    return to.has(lower) ? 'to' : cc.has(lower) ? 'cc' : 'bcc'
  }

/** RFC 5322 3.6 does not allow these to be empty. We add them, or they may be missing. */
const added = new Set(['date', 'message-id'])
const mayBeMissing = new Set(['sender', 'reply-to', 'to', 'cc', 'in-reply-to', 'references'])

/** The fields that stay, as they leave. */
function keptFields(fields: readonly HeaderField[], read: ReadMailboxes): (HeaderField | string)[] | { fault: string } {
  const signatures = signaturesIn(fields)
  const kept: (HeaderField | string)[] = []
  for (const field of fields) {
    const isSigned = signatures.length > 0
    const isNothing = field.value === '' && (added.has(field.key) || (!isSigned && mayBeMissing.has(field.key)))
    if (removed.has(field.key) || isNothing) continue
    const outgoing = isSigned ? signedField(field, signatures, read) : outgoingField(field, read)
    if (typeof outgoing === 'object' && 'fault' in outgoing) return outgoing
    kept.push(outgoing)
  }
  return kept
}

/** The name of the first field that may be there only once, but is there before. */
function firstRepeated(fields: readonly HeaderField[]): string | undefined {
  let seen = 0
  for (const { key } of fields) {
    const field = single.get(key)
    if (field === undefined) continue
    if ((seen & field.bit) !== 0) return field.name
    seen |= field.bit
  }
  return undefined
}

/**
 * Completes the header of a submitted message (RFC 6409 section 8): adds Received, and Date and Message-ID if they are
 * missing; removes Bcc, Return-Path and the option fields, and returns what the option fields say.
 *
 * `bytes` start with the whole header; `received` is the Received field, folded, without its final CRLF. A fault is
 * worded for the submitter (550 5.6.0). The caller decides whether the submitter may use the domains in From.
 */
export function complete(bytes: Uint8Array, parts: { received: string; now: number }): Completion {
  const block = parseHeaderBlock(bytes)
  if (!block.ok) return block
  const { fields, bodyOffset } = block
  const repeated = firstRepeated(fields)
  if (repeated !== undefined) return { ok: false, fault: `The header has more than one ${repeated} field.` }
  const read = mailboxReader()
  const authors = authorsOf(fields, read)
  if ('fault' in authors) return { ok: false, fault: authors.fault }
  const options = readOptionFields(fields, parts.now)
  if ('fault' in options) return { ok: false, fault: options.fault }

  const given = valueOf(fields, 'message-id')
  if (given.length > maxLineLength) return { ok: false, fault: `The Message-ID field has more than ${maxLineLength} characters.` }
  const messageIdHeader = given === '' ? `<${randomText(16, 'hex')}@${domainOf(authors.from[0]?.address ?? '')}>` : given
  const added = [parts.received]
  if (given === '') added.push(`Message-ID: ${messageIdHeader}`)
  if (valueOf(fields, 'date') === '') added.push(`Date: ${formatDate(parts.now)}`)
  const kept = keptFields(fields, read)
  if ('fault' in kept) return { ok: false, fault: kept.fault }
  const header = headerBytesOf([...added, ...kept])
  return {
    ok: true,
    header,
    bodyOffset,
    summary: {
      from: authors.from,
      sender: authors.sender,
      resentBy: authors.resentBy,
      fromText: addressTexts(fields, 'from', read).join(', '),
      toText: addressTexts(fields, 'to', read),
      ccText: addressTexts(fields, 'cc', read),
      replyToText: addressTexts(fields, 'reply-to', read),
      subject: shortened(decodeHeaderText(valueOf(fields, 'subject'))),
      messageIdHeader,
    },
    addressedAs: addressedAs(fields, read),
    receivedCount: fieldsNamed(fields, 'received').length,
    mustStay: mustStay(fields),
    smtputf8: !isAscii(header),
    options: options.options,
    idempotencyKey: options.idempotencyKey,
  }
}
