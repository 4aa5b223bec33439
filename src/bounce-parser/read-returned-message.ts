import { isUtf8 } from 'node:buffer'
import { mimeLeaves, type MimeLeaf } from '../message/mime-leaves.ts'
import { repairedMail } from '../message/repaired-mail.ts'
import { textFromHtml } from '../message/text-from-html.ts'
import { decodeHeaderText } from '../smtp/encoded-word.ts'
import { hasNullReversePath, isAutomatic, isFromMailSystem } from './automatic-reply.ts'
import { ReturnedMessage, type ReturnedPart, type Vocabulary } from './returned-message.ts'

/** A dozen is a lot for a bounce. */
const mostParts = 64
/** Characters of one part. No bounce needs more. */
const mostContent = 128 * 1024

/** How deeply a forwarded bounce may be nested. */
const mostForwards = 3

/** These declarations are wrong so often that we try UTF-8 first, which seldom matches by chance. */
const guessed = new Set(['', 'us-ascii', 'ascii', 'utf-8', 'utf8', 'unknown-8bit', '7bit', '8bit', 'iso-8859-1', 'windows-1252'])

/** Names that the WHATWG encoding list lacks. The ISO-2022-JP aliases need none. */
const otherNames = new Map(
  'cp932 shift_jis, ms932 shift_jis, cp936 gbk, cp949 euc-kr, cp950 big5, eucjp euc-jp, euckr euc-kr'
    .split(', ')
    .map((pair) => pair.split(' ') as [string, string]),
)
/** The escapes at the start of ISO-2022-JP (RFC 1468), declared or not. */
const toJapanese = ['\x1b$B', '\x1b$@']

function decodeText(bytes: Buffer, charset: string | null): string {
  const label = (charset ?? '').trim().toLowerCase()
  if (guessed.has(label)) return utf8OrLatin1(bytes)
  try {
    return new TextDecoder(otherNames.get(label) ?? label).decode(bytes)
  } catch {
    return utf8OrLatin1(bytes)
  }
}

/** By line where necessary, because bounces quote replies of several hosts as they came. */
function utf8OrLatin1(bytes: Buffer): string {
  if (toJapanese.some((escape) => bytes.includes(escape))) return new TextDecoder('iso-2022-jp').decode(bytes)
  if (isUtf8(bytes)) return bytes.toString('utf8')
  let next = 0
  // Maps each byte to one character.
  const lines = new TextDecoder('windows-1252').decode(bytes).split('\n')
  const decoded = lines.map((line) => {
    const own = bytes.subarray(next, next + line.length)
    next += line.length + 1
    return isUtf8(own) ? own.toString('utf8') : line
  })
  return decoded.join('\n')
}

const withLineFeeds = (text: string): string => text.replace(/\r\n?/g, '\n')

function partOf({ contentType, charset, content }: MimeLeaf): ReturnedPart {
  const text = decodeText(content.subarray(0, mostContent), charset)
  const lines = withLineFeeds(text)
  return { contentType, content: (contentType === 'text/html' ? textFromHtml(lines) : lines).slice(0, mostContent) }
}

/** Everything after the header, for a message whose parts cannot be found. */
function bodyOf(document: Buffer): ReturnedPart {
  const text = withLineFeeds(utf8OrLatin1(document.subarray(0, 2 * mostContent)))
  const start = text.indexOf('\n\n')
  return { contentType: 'text/plain', content: start < 0 ? '' : text.slice(start + 2, start + 2 + mostContent) }
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

/** True for mail from a system whose header is not a bounce's. */
const isBySystem = (header: ReturnedMessage): boolean =>
  !/^multipart\/report\b/i.test(header.field('content-type')) &&
  (isFromMailSystem(header) || isAutomatic(header) || hasNullReversePath(header))

const headerOf = (content: Buffer): string => withLineFeeds(content.toString('latin1', 0, 32 * 1024)).split('\n\n', 1)[0] ?? ''

/**
 * Parses a returned message. Accepts LF and CRLF, and parts without an end. Text with a wrong or unknown charset is read as UTF-8, else
 * windows-1252. If a bounce is the only content of another mail, it replaces that mail. Run it in a process that may be killed.
 * @throws Error if the mail cannot be parsed
 */
export async function readReturnedMessage(bytes: Buffer, vocabulary: Vocabulary, forwards = 0): Promise<ReturnedMessage> {
  const document = repairedMail(bytes)
  const { fields, leaves } = await mimeLeaves(document)
  const headers = fields.map(({ name, line }) => ({
    name: name.trim(),
    value: decodeHeaderText(line.slice(line.indexOf(':') + 1).replace(/\r?\n/g, '')).trim(),
  }))
  const inner = forwards < mostForwards ? forwardedReport(new ReturnedMessage(headers, [], vocabulary), leaves) : undefined
  if (inner) return readReturnedMessage(inner, vocabulary, forwards + 1)
  const parts = leaves.length > 0 ? leaves.slice(0, mostParts).map(partOf) : [bodyOf(document)]
  return new ReturnedMessage(headers, parts, vocabulary)
}
