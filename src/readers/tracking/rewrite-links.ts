import { spliced } from '../../mail/message/spliced.ts'
import { findLinks, type LinkValue } from './link-values.ts'
import { htmlSource, type HtmlSource } from './html-source.ts'
import { decodeAttribute } from '../../mail/message/html-entities.ts'

/** A link that can be rewritten: the position of its attribute's value in the bytes, without quotes, and its target. */
interface TrackableLink {
  start: number
  end: number
  target: string
}

/** Bytes to replace with ASCII text; an insertion has length 0. */
export interface Edit {
  start: number
  end: number
  text: string
}

/** The links of an HTML part that can be followed; `charset` is the part's. */
export function trackableLinks(html: Uint8Array, charset: string): TrackableLink[] {
  const source = htmlSource(html, charset)
  return source ? linksAmong(source, findLinks(source.text).links) : []
}

/**
 * The same HTML with other targets; only the bytes of the rewritten values change.
 * @param urlFor what replaces a target, ASCII that needs no quotes or references in HTML; `links`: how many are rewritten
 */
export function rewriteLinks(html: Uint8Array, charset: string, urlFor: (target: string, links: number) => string): Uint8Array {
  const source = htmlSource(html, charset)
  if (!source) return html
  const links = linksAmong(source, findLinks(source.text).links)
  return edited(
    html,
    source,
    links.map(({ start, end, target }) => ({ start, end, text: urlFor(target, links.length) })),
  )
}

/** Applies the edits, which are in order. */
export const edited = (html: Uint8Array, { encode }: Pick<HtmlSource, 'encode'>, edits: readonly Edit[]): Buffer =>
  spliced(
    html,
    edits.map(({ start, end, text }) => ({ start, end, bytes: encode(text) })),
  )

/** Those of the values that can be followed. */
export function linksAmong({ unit, decode }: HtmlSource, values: readonly LinkValue[]): TrackableLink[] {
  const found: TrackableLink[] = []
  for (const { start, end } of values) {
    const value = decode(start, end)
    const target = value === null ? null : linkTarget(value)
    if (target !== null) found.push({ start: start * unit, end: end * unit, target })
  }
  return found
}

/** characters of a URL; servers and proxies refuse longer ones */
const maxTargetLength = 5500

/**
 * Where the value of an `href` leads, as a browser reads it (WHATWG HTML 2.4.4, URL 4.4): references decoded once, surrounding blanks and
 * inner line ends removed. Null unless that is an `http` or `https` URL with a host, short enough to be followed.
 */
function linkTarget(value: string): string | null {
  const target = decodeAttribute(value).replace(/^[\0-\x20]+|[\0-\x20]+$|[\t\r\n]+/g, '')
  if (target.length > maxTargetLength || !/^https?:/i.test(target)) return null
  const url = URL.parse(target)
  return url && url.href.length <= maxTargetLength ? target.toWellFormed() : null
}
