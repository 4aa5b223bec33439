import { mimeLeaves, type MimeLeaf } from '../message/mime-leaves.ts'
import { repairedMail } from '../message/repaired-mail.ts'
import { textFromHtml } from '../message/text-from-html.ts'
import { decodeHeaderText } from '../../platform/smtp/encoded-word.ts'
import { hasNullReversePath, isAutomatic, isFromMailSystem } from './automatic-reply.ts'
import { senderKind, type SenderKind } from './sender-kind.ts'
import { decodeText, usefulCharsets } from './text-charset.ts'
import { ReturnedMessage, type ReturnedPart, type Vocabulary } from './returned-message.ts'

/** A dozen is a lot for a bounce. */
const maxParts = 64
/** Characters of one part. No bounce needs more. */
const maxContent = 128 * 1024

/** How deeply a forwarded bounce may be nested. */
const maxForwards = 3

/** The charsets of a field's encoded words (RFC 2047). */
const encodedCharsets = (line: string): string[] =>
  Array.from(line.slice(0, 1000).matchAll(/=\?([\w-]{1,40})[?*]/g), ([, name = '']) => name)

const withLineFeeds = (text: string): string => text.replace(/\r\n?/g, '\n')

function partOf({ contentType, charset, content }: MimeLeaf, others: readonly string[]): ReturnedPart {
  const text = decodeText(content.subarray(0, maxContent), charset, others)
  const lines = withLineFeeds(text)
  return { contentType, content: (contentType === 'text/html' ? textFromHtml(lines) : lines).slice(0, maxContent) }
}

/** Everything after the header, for a message whose parts cannot be found. */
function bodyOf(document: Buffer): ReturnedPart {
  const text = withLineFeeds(decodeText(document.subarray(0, 2 * maxContent), null))
  const start = text.indexOf('\n\n')
  return { contentType: 'text/plain', content: start < 0 ? '' : text.slice(start + 2, start + 2 + maxContent) }
}

const messageTypes = /^message\/(?:rfc822|global)$/
const startsAsReport = /^content-type:\s*multipart\/report\b/im

/**
 * The bounce inside a mail that merely forwards it: as an attachment, perhaps with a few words from a mail system. If a person wrote text
 * beside it, then the person's mail is what came back.
 */
function forwardedReport(header: ReturnedMessage, leaves: readonly MimeLeaf[]): Buffer | undefined {
  const [wrapped, ...more] = leaves.filter(
    ({ contentType, content }) => messageTypes.test(contentType) && startsAsReport.test(headerOf(content)),
  )
  if (!wrapped || more.length > 0) return undefined
  const others = leaves.filter((leaf) => leaf !== wrapped && leaf.content.toString('latin1', 0, 4096).trim() !== '')
  const isText = others.every(({ contentType }) => contentType.startsWith('text/'))
  const isWrapping = others.length === 0 || (isText && isBySystem(header))
  return isWrapping ? wrapped.content : undefined
}

const peoples: ReadonlySet<SenderKind> = new Set(['person', 'desk'])

/** True for mail from a system whose header is not a bounce's. */
const isBySystem = (header: ReturnedMessage): boolean =>
  !/^multipart\/report\b/i.test(header.field('content-type')) &&
  !peoples.has(senderKind(header)) &&
  (isFromMailSystem(header) || isAutomatic(header) || hasNullReversePath(header))

const headerOf = (content: Buffer): string => withLineFeeds(content.toString('latin1', 0, 32 * 1024)).split('\n\n', 1)[0] ?? ''

/**
 * Parses a returned message. Accepts LF and CRLF, and parts without an end. Text with a wrong or unknown charset is read as `decodeText`
 * says. If a bounce is the only content of another mail, it replaces that mail. Run it in a process that may be killed.
 * @throws Error if the mail cannot be parsed
 */
export async function readReturnedMessage(bytes: Buffer, vocabulary: Vocabulary, forwards = 0): Promise<ReturnedMessage> {
  const document = repairedMail(bytes)
  const { fields, leaves } = await mimeLeaves(document)
  const others = usefulCharsets([...leaves.map(({ charset }) => charset), ...fields.flatMap(({ line }) => encodedCharsets(line))])
  const headers = fields.map(({ name, line }) => {
    const value = line.slice(line.indexOf(':') + 1).replace(/\r?\n/g, '')
    // Each character is a byte.
    return { name: name.trim(), value: decodeHeaderText(decodeText(Buffer.from(value, 'latin1'), null, others)).trim() }
  })
  const inner = forwards < maxForwards ? forwardedReport(new ReturnedMessage(headers, [], vocabulary), leaves) : undefined
  if (inner) return readReturnedMessage(inner, vocabulary, forwards + 1)
  const parts = leaves.length > 0 ? leaves.slice(0, maxParts).map((leaf) => partOf(leaf, others)) : [bodyOf(document)]
  return new ReturnedMessage(headers, parts, vocabulary)
}
