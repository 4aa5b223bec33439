import { fieldsNamed, parseHeaderBlock } from '../../mail/message/header-block.ts'
import { htmlParts, type HtmlPart } from '../../mail/message/html-parts.ts'
import { spliced, type Splice } from '../../mail/message/spliced.ts'
import { decodeTransfer, encodeTransfer, isPlainBase64 } from '../../mail/message/transfer-encoding.ts'
import { htmlSource, type HtmlSource } from './html-source.ts'
import { findLinks, type Markup } from './link-values.ts'
import { messageLinks, type MessageLinks } from './message-links.ts'
import { edited, linksAmong, type Edit } from './rewrite-links.ts'
import { markOf, recipientToken, type MessageMark, type TrackingKeys } from './tracking-token.ts'

/** What is tracked in a message, and how. */
export interface TrackingPlan {
  opens: boolean
  clicks: boolean
  /** Whether to add a link that only machines follow. */
  hiddenLink: boolean
  /** Where tracking links are, such as `https://track.example/t`. */
  base: string
  /** The tracking host of the links, the only one at which they work; '' at `base_url`. */
  trackingHost: string
  /** URLs with this prefix are the server's own, and stay. */
  ownUrls: string[]
  keys: TrackingKeys
}

/** An HTML part with rewritten links, and a placeholder for the recipient's token. */
interface TrackedPart extends HtmlPart {
  html: Buffer
  /** Where the placeholders are, and how the part's charset writes a token. */
  places: number[]
  encode(ascii: string): Buffer
}

/** bytes; Gmail clips what follows, and the picture with it (102 KB) */
const clippedAt = 100_000

/**
 * A message whose links are rewritten once, with a placeholder where each recipient's token goes. Everything outside its HTML parts stays
 * byte for byte; inside them only the values of links change, and the insertion is added.
 */
export class TrackedMessage {
  readonly #message: Buffer
  readonly #parts: TrackedPart[]
  readonly #tag: Buffer
  readonly #keys: TrackingKeys

  private constructor(message: Buffer, parts: TrackedPart[], context: { tag: Buffer; keys: TrackingKeys }) {
    this.#message = message
    this.#parts = parts
    this.#tag = context.tag
    this.#keys = context.keys
  }

  /** Null if there is nothing to track in the message, or it may not be changed. */
  static of(messageId: string, content: Uint8Array, plan: TrackingPlan): TrackedMessage | null {
    const message = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
    const { keys } = plan
    const mark = markOf(messageId, keys)
    const links = messageLinks({ mark, ...plan })
    const isLeft = leftAlone(message, plan)
    const parts = htmlParts(message).flatMap((part, place) => {
      const html = trackedHtml(part, message, { plan, mark, links, isLeft, isFirst: place === 0 })
      return html ? [html] : []
    })
    return parts.length === 0 ? null : new TrackedMessage(message, parts, { tag: mark.tag, keys })
  }

  /** The message as this recipient gets it. */
  contentFor(recipientId: string): Uint8Array {
    const token = recipientToken({ recipientId, messageTag: this.#tag }, this.#keys)
    const changes = this.#parts.flatMap((part): Splice[] => {
      const { encoding, bytes } = encodeTransfer(withToken(part, token), part.encoding)
      // The last line of a message ends with CRLF, whatever the encoding does to it.
      const isOpen = part.bodyEnd === this.#message.length && !bytes.subarray(-2).equals(crlf)
      const body = { start: part.bodyStart, end: part.bodyEnd, bytes: isOpen ? Buffer.concat([bytes, crlf]) : bytes }
      if (encoding === part.encoding) return [body]
      const header = this.#message.subarray(part.headerStart, part.bodyStart)
      return [{ start: part.headerStart, end: part.bodyStart, bytes: headerWithEncoding(header, encoding) }, body]
    })
    return spliced(this.#message, changes)
  }
}

const crlf = Buffer.from('\r\n')

interface HtmlContext {
  plan: TrackingPlan
  mark: MessageMark
  links: MessageLinks
  isLeft(target: string): boolean
  /** True for the part that gets the picture. */
  isFirst: boolean
}

function trackedHtml(part: HtmlPart, message: Buffer, context: HtmlContext): TrackedPart | null {
  const body = message.subarray(part.bodyStart, part.bodyEnd)
  if (part.encoding === 'base64' && !isPlainBase64(body)) return null
  const given = decodeTransfer(body, part.encoding)
  const source = htmlSource(given, part.charset)
  const edits = source ? editsOf(source, given.length, context) : []
  if (!source || edits.length === 0) return null
  const html = edited(given, source, edits)
  return { ...part, html, places: placesOf(html, source.encode(context.mark.placeholder)), encode: (ascii) => source.encode(ascii) }
}

/** The rewritten links and the insertion, in order. */
function editsOf(source: HtmlSource, size: number, { plan, links, isLeft, isFirst }: HtmlContext): Edit[] {
  const markup = findLinks(source.text)
  const followed = plan.clicks ? linksAmong(source, markup.links).filter(({ target }) => !isLeft(target)) : []
  const edits: Edit[] = followed.map(({ start, end, target }) => ({ start, end, text: links.clickUrl(target, followed.length) }))
  const insertion = isFirst ? insertionsOf(plan, links) : ''
  const place = insertion === '' ? null : placeOf(markup, source.text.length, size)
  if (place === null) return edits
  return [...edits, { start: place * source.unit, end: place * source.unit, text: insertion }].toSorted(
    (one, other) => one.start - other.start,
  )
}

/** Where to insert: at the end of the page, or at its beginning if mail programs would clip the end. */
function placeOf({ bodyStart, bodyEnd, endsInText }: Markup, length: number, size: number): number | null {
  const end = bodyEnd ?? (endsInText ? length : null)
  return size > clippedAt ? (bodyStart ?? end) : end
}

const picture = (url: string): string =>
  `<img src="${url}" width="1" height="1" alt="" style="display:block;width:1px;height:1px;border:0">`
const hiddenLink = (url: string): string => `<a href="${url}" aria-hidden="true" tabindex="-1" style="display:none"></a>`

const insertionsOf = ({ opens, clicks, hiddenLink: isWanted }: TrackingPlan, { openUrl, hiddenUrl }: MessageLinks): string =>
  (isWanted && clicks ? hiddenLink(hiddenUrl) : '') + (opens ? picture(openUrl) : '')

function placesOf(html: Buffer, placeholder: Buffer): number[] {
  const places: number[] = []
  for (let at = html.indexOf(placeholder); at !== -1; at = html.indexOf(placeholder, at + placeholder.length)) places.push(at)
  return places
}

function withToken({ html, places, encode }: TrackedPart, token: string): Buffer {
  const copy = Buffer.from(html)
  const bytes = encode(token)
  for (const place of places) bytes.copy(copy, place)
  return copy
}

/** Recognises links that are not rewritten: our unsubscribe links, and those in the message's own List-Unsubscribe field. */
function leftAlone(message: Buffer, { ownUrls }: TrackingPlan): (target: string) => boolean {
  const block = parseHeaderBlock(message)
  const fields = block.ok ? fieldsNamed(block.fields, 'list-unsubscribe') : []
  const listed = new Set(fields.flatMap(({ value }) => Array.from(value.matchAll(/<\s*([^<>\s]{1,8000})\s*>/g), ([, url]) => url)))
  return (target) => listed.has(target) || ownUrls.some((url) => target.startsWith(url))
}

function headerWithEncoding(header: Buffer, encoding: string): Buffer {
  const block = parseHeaderBlock(header)
  if (!block.ok) throw new Error(`the header of a part can no longer be parsed: ${block.fault}`)
  const kept = block.fields.filter(({ key }) => key !== 'content-transfer-encoding').map(({ raw }) => raw)
  return Buffer.concat([...kept, Buffer.from(`Content-Transfer-Encoding: ${encoding}\r\n\r\n`)])
}
