import { findLinks } from './link-values.ts'
import { htmlSource } from './html-source.ts'
import type { HtmlSource } from './html-source.ts'
import { linkTarget } from './link-target.ts'

/** A link that can be rewritten: where the value of its attribute lies in the bytes, quotes excluded, and where it leads. */
export interface TrackableLink {
  start: number
  end: number
  target: string
}

/** The links of an HTML part that can be followed; `charset` is that of the part. */
export function trackableLinks(html: Uint8Array, charset: string): TrackableLink[] {
  const source = htmlSource(html, charset)
  return source ? linksOf(source) : []
}

/**
 * The same HTML with other targets; every byte but those of the rewritten values stays as it is.
 * @param urlFor what stands in place of a target, ASCII that needs no quotes or references in HTML; `links`: how many are rewritten
 * @param isLeft true of targets that stay
 */
export function rewriteLinks(html: Uint8Array, charset: string, urlFor: (target: string, links: number) => string, isLeft: (target: string) => boolean = () => false): Uint8Array {
  const source = htmlSource(html, charset)
  if (!source) return html
  const pieces: Uint8Array[] = []
  let copied = 0
  const links = linksOf(source).filter(({ target }) => !isLeft(target))
  for (const { start, end, target } of links) {
    pieces.push(html.subarray(copied, start), source.encode(urlFor(target, links.length)))
    copied = end
  }
  return copied === 0 ? html : Buffer.concat([...pieces, html.subarray(copied)])
}

function linksOf({ text, unit, decode }: HtmlSource): TrackableLink[] {
  const found: TrackableLink[] = []
  for (const { start, end } of findLinks(text).links) {
    const value = decode(start, end)
    const target = value === null ? null : linkTarget(value)
    if (target !== null) found.push({ start: start * unit, end: end * unit, target })
  }
  return found
}
