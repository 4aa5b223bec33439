/** An open element in SVG or MathML, or in HTML within them. */
interface OpenElement {
  name: string
  isForeign: boolean
}

const namesIn = (names: string): ReadonlySet<string> => new Set(names.split(' '))

/** Elements of SVG and MathML that contain HTML (HTML 13.2.6, integration points). */
const integrationPoints = namesIn('foreignobject desc title mi mo mn ms mtext')
/** HTML elements that end SVG and MathML (HTML 13.2.6.5). */
const breakouts = namesIn(
  'b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta nobr ol p pre ruby s ' +
    'small span strong strike sub sup table tt u ul var',
)
const voids = namesIn('area base br col embed hr img input link meta source track wbr')

/** Browsers do not nest deeper either. */
const deepest = 512

/** Follows, tag by tag, where a page is in SVG or MathML, whose rules for what is markup differ. Exact for elements that are closed. */
export class ForeignContent {
  readonly #open: OpenElement[] = []

  /** Whether the current element is SVG or MathML: only there, `<![CDATA[` is one. */
  get isCurrent(): boolean {
    return this.#open.at(-1)?.isForeign === true
  }

  /** Whether tags are read as SVG or MathML: not directly in an element that contains HTML. */
  get takesTags(): boolean {
    const current = this.#open.at(-1)
    return current?.isForeign === true && !integrationPoints.has(current.name)
  }

  opened(name: string, isSelfClosing: boolean): void {
    if (this.takesTags && breakouts.has(name)) while (this.takesTags) this.#open.pop()
    const isForeign = this.takesTags || name === 'svg' || name === 'math'
    const isKept = isForeign ? !isSelfClosing : this.#open.length > 0 && !voids.has(name)
    if (isKept && this.#open.length < deepest) this.#open.push({ name, isForeign })
  }

  /** An end tag without its start tag here is that of an element around SVG or MathML. */
  closed(name: string): void {
    const at = this.#open.findLastIndex((element) => element.name === name)
    this.#open.length = Math.max(at, 0)
  }
}
