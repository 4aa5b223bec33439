import { attributesOf } from './html-attributes.ts'
import type { Tag } from './html-tags.ts'
import { StyleRules, type Style } from './style-rules.ts'

/** Why an element is not shown. Nothing inside it can undo the first; the others are inherited until an element says otherwise. */
const gone = 1
const invisible = 2
/** Its text is too small to be seen; pictures in it are not. */
const tiny = 4

const voids = new Set('area base br col embed hr img input link meta param source track wbr'.split(' '))
/** `overflow` does not clip them: they grow with their content. */
const tableParts = new Set('table thead tbody tfoot tr td th'.split(' '))
/** No end tag of something else reaches beyond them (HTML 13.2.4.2, "in scope"). */
const scopes = new Set('table caption td th marquee object'.split(' '))
const table = new Set(['table'])
const endsParagraph = new Set(
  (
    'address article aside blockquote center details div dl dd dt fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p ' +
    'pre section table ul'
  ).split(' '),
)
/** Elements whose start ends others that have no end tag, as far as the second set. */
const impliedEnds = new Map<string, [ended: Set<string>, within: Set<string>]>([
  ['li', [new Set(['li']), new Set(['ul', 'ol', ...scopes])]],
  ['dt', [new Set(['dt', 'dd']), new Set(['dl', ...scopes])]],
  ['dd', [new Set(['dt', 'dd']), new Set(['dl', ...scopes])]],
  ['td', [new Set(['td', 'th']), new Set(['tr', 'table'])]],
  ['th', [new Set(['td', 'th']), new Set(['tr', 'table'])]],
  ['tr', [new Set(['tr']), table]],
  ['tbody', [new Set(['thead', 'tbody', 'tfoot']), table]],
  ['tfoot', [new Set(['thead', 'tbody', 'tfoot']), table]],
])
const paragraph = new Set(['p'])

/** How far up an element is looked for, so that any input takes linear time. */
const maxOpen = 50

/** The attributes that decide where no rules are, and where there are some. */
const mayHide = /style|hidden|data-skip-in-text|size/i
const mayBeRuled = /style|hidden|data-skip-in-text|size|class|id/i
const noAttributes: ReadonlyMap<string, string> = new Map()

/** Which elements of a page a mail program shows. Follows its tags in their order; a `<style>` counts for what stands behind it. */
export class ShownElements {
  readonly #rules = new StyleRules()
  #hasRules = false
  /** The open elements. What is behind `#depth` was closed: shorter arrays would be made anew each time. */
  readonly #names: string[] = []
  readonly #states: number[] = []
  #depth = 0
  #state = 0

  addStyles(tag: Tag, css: string): void {
    const media = attributesOf(tag).get('media') ?? ''
    if (!/^(?:all|screen)?$/i.test(media.trim())) return
    this.#rules.add(css)
    this.#hasRules = true
  }

  /** Whether text that comes now is shown. */
  get showText(): boolean {
    return this.#state === 0
  }

  /** Takes the next tag. False if what begins or ends with it is not shown. */
  shows(tag: Tag): boolean {
    const state = tag.isEnd ? this.#end(tag.name) : this.#start(tag)
    return (state & (gone | invisible)) === 0
  }

  #start(tag: Tag): number {
    const { name } = tag
    // What is shown needs no exact end.
    if (this.#state !== 0) this.#endImplied(name)
    const state = this.#stateOf(tag)
    if (voids.has(name)) return state
    this.#names[this.#depth] = name
    this.#states[this.#depth++] = state
    this.#state = state
    return state
  }

  #endImplied(name: string): void {
    if (endsParagraph.has(name)) this.#popTo(this.#find(paragraph, scopes))
    const implied = impliedEnds.get(name)
    if (implied) this.#popTo(this.#find(...implied))
  }

  /** What holds for the element that ends, or for what is around if there is none. */
  #end(name: string): number {
    // What follows them still belongs to the body.
    if (name === 'body' || name === 'html') return this.#state
    const found = this.#find(name, tableParts.has(name) ? table : scopes)
    const state = found < 0 ? this.#state : this.#states[found]!
    this.#popTo(found)
    return state
  }

  /** The place of the innermost open element of this name, or of these; -1 if there is none within. */
  #find(names: string | ReadonlySet<string>, within: ReadonlySet<string>): number {
    for (let i = this.#depth - 1; i >= 0 && i >= this.#depth - maxOpen; i--) {
      const name = this.#names[i]!
      if (typeof names === 'string' ? name === names : names.has(name)) return i
      if (within.has(name)) return -1
    }
    return -1
  }

  #popTo(place: number): void {
    if (place < 0) return
    this.#depth = place
    this.#state = place === 0 ? 0 : this.#states[place - 1]!
  }

  #stateOf(tag: Tag): number {
    // A table starts with the usual size (HTML 15.3.10, quirks mode), as in most mail programs.
    const inherited = tag.name === 'table' ? this.#state & ~tiny : this.#state
    if (inherited & gone) return inherited
    const isDecisive = tag.attributes !== '' && (this.#hasRules ? mayBeRuled : mayHide).test(tag.attributes)
    if (!isDecisive && !this.#hasRules) return inherited
    const attributes = isDecisive ? attributesOf(tag) : noAttributes
    const style = this.#rules.of(tag.name, attributes)
    if (isGone(tag.name, attributes, style)) return gone
    return withSize(withVisibility(inherited, style), tag.name === 'font' && attributes.has('size') ? 'medium' : sizeIn(style))
  }
}

function isGone(name: string, attributes: ReadonlyMap<string, string>, style: Style): boolean {
  const display = style('display')
  if (display === 'none' || (attributes.has('hidden') && display === undefined)) return true
  // React Email's mark of what its own text leaves out.
  if (attributes.get('data-skip-in-text')?.toLowerCase() === 'true') return true
  if (isNone(style('opacity'))) return true
  return !tableParts.has(name) && isClipped(style)
}

const isNone = (value: string | undefined): boolean => value !== undefined && Number.parseFloat(value) === 0

function isClipped(style: Style): boolean {
  const clips = (way: 'x' | 'y'): boolean => /hidden|clip/.test(style(`overflow-${way}`) ?? style('overflow') ?? '')
  const isEmpty = (property: string): boolean => isTiny(style(property) ?? '')
  return (clips('y') && (isEmpty('max-height') || isEmpty('height'))) || (clips('x') && (isEmpty('max-width') || isEmpty('width')))
}

/** No length, or one pixel, in which nothing can be read. */
function isTiny(value: string): boolean {
  const length = Number.parseFloat(value)
  return length === 0 || (length > 0 && length <= 1 && /\dp[xt]$/.test(value))
}

function withVisibility(state: number, style: Style): number {
  const visibility = style('visibility')
  if (visibility === 'hidden' || visibility === 'collapse') return state | invisible
  return visibility === 'visible' || visibility === 'initial' ? state & ~invisible : state
}

/** The size of the text; '' if nothing is said. */
function sizeIn(style: Style): string {
  const inFont = /(?:^|\s)(?:(\.?\d[\d.]*(?:[a-z]+|%))|(0)(?=[\s/]))/.exec(style('font') ?? '')
  return style('font-size') ?? inFont?.[1] ?? inFont?.[2] ?? style('font') ?? ''
}

function withSize(state: number, size: string): number {
  if (size === '' || size === 'inherit' || size === 'smaller' || size === 'larger') return state
  if (isTiny(size)) return state | tiny
  // A part of nothing is nothing.
  return /\d(?:em|ex|ch|%)$/.test(size) && !size.endsWith('rem') ? state : state & ~tiny
}
