/** What a rule or a `style` attribute says about one property. */
interface Declaration {
  property: string
  value: string
  isImportant: boolean
}

/** The properties by which something is not shown, or is shown again. */
const known = new Set([
  'display',
  'visibility',
  'opacity',
  'font',
  'font-size',
  'overflow',
  'overflow-x',
  'overflow-y',
  'height',
  'max-height',
  'width',
  'max-width',
])

const comments = /\/\*[^]*?(?:\*\/|$)/g

/** The declarations that decide whether something is shown, in their order. */
function declarationsIn(css: string): Declaration[] {
  const found: Declaration[] = []
  for (const declaration of css.split(';')) {
    const colon = declaration.indexOf(':')
    const property = declaration.slice(0, Math.max(colon, 0)).trim().toLowerCase()
    if (!known.has(property)) continue
    const value = declaration
      .slice(colon + 1, colon + 200)
      .trim()
      .toLowerCase()
    const isImportant = value.endsWith('important')
    found.push({ property, value: isImportant ? value.replace(/!\s*important$/, '').trimEnd() : value, isImportant })
  }
  return found
}

/** A value and what decides between it and others for the same property: importance, then specificity, then order (CSS Cascade 6.1). */
interface Weighted {
  value: string
  weight: number
  order: number
}

type Winners = Map<string, Weighted>

/** What a property is set to; undefined where nothing is said of it. */
export type Style = (property: string) => string | undefined

/** `p`, `.preheader`, `#preview` or `span.preheader`. Other selectors are about something else, such as a state or a place. */
const simpleSelector = /^(?:[a-z][a-z0-9]*|(?:[a-z][a-z0-9]*)?\.[\w-]+|#[\w-]+)$/i
const weights = { element: 0, class: 1, elementAndClass: 2, id: 3, inline: 4, important: 8 }

function weightOf(selector: string): number {
  if (selector.startsWith('#')) return weights.id
  const dot = selector.indexOf('.')
  return dot < 0 ? weights.element : dot === 0 ? weights.class : weights.elementAndClass
}

/** Classes of one element that are looked up. */
const maxClasses = 16

/** The rules of a page's style sheets that apply on a wide screen, by selector. Rules in `@media` and other blocks are left out. */
export class StyleRules {
  readonly #bySelector = new Map<string, Winners>()
  #order = 0

  add(css: string): void {
    // Inside a <style>, the marks of a comment of HTML mean nothing.
    const text = css.replace(comments, ' ').replace(/<!--|-->/g, ' ')
    let depth = 0
    let start = 0
    let selectors = ''
    for (const { 0: mark, index } of text.matchAll(/[{};]/g)) {
      if (mark === '{' && depth++ === 0) {
        selectors = text.slice(start, index).trim()
        start = index + 1
      } else if (mark === '}' && depth > 0 && --depth === 0) {
        if (!selectors.startsWith('@')) this.#addRule(selectors, text.slice(start, index))
        start = index + 1
      } else if (depth === 0) {
        start = index + 1
      }
    }
  }

  /** What applies to an element. */
  of(name: string, attributes: ReadonlyMap<string, string>): Style {
    const winners: Winners = new Map()
    const [classes, id, style] = [attributes.get('class'), attributes.get('id'), attributes.get('style')]
    this.#apply(winners, name)
    for (const one of classes?.split(/\s+/, maxClasses) ?? []) {
      this.#apply(winners, `.${one}`)
      this.#apply(winners, `${name}.${one}`)
    }
    if (id !== undefined) this.#apply(winners, `#${id}`)
    for (const declaration of style === undefined ? [] : declarationsIn(style.replace(comments, ' '))) {
      settle(winners, declaration.property, weighted(declaration, weights.inline, Infinity))
    }
    return (property) => winners.get(property)?.value
  }

  #addRule(selectors: string, css: string): void {
    // One for each property, so that many selectors with many declarations take linear time.
    const winners: Winners = new Map()
    this.#order++
    for (const one of declarationsIn(css)) settle(winners, one.property, weighted(one, 0, this.#order))
    if (winners.size === 0) return
    for (const part of selectors.split(',')) {
      const selector = part.trim()
      if (!simpleSelector.test(selector)) continue
      const key = selector.replace(/^[a-z0-9]+/i, (name) => name.toLowerCase())
      const own: Winners = this.#bySelector.get(key) ?? new Map()
      this.#bySelector.set(key, own)
      for (const [property, one] of winners) settle(own, property, { ...one, weight: one.weight + weightOf(selector) })
    }
  }

  #apply(winners: Winners, key: string): void {
    this.#bySelector.get(key)?.forEach((one, property) => settle(winners, property, one))
  }
}

const weighted = ({ value, isImportant }: Declaration, weight: number, order: number): Weighted => ({
  value,
  weight: weight + (isImportant ? weights.important : 0),
  order,
})

function settle(winners: Winners, property: string, one: Weighted): void {
  const other = winners.get(property)
  if (!other || one.weight > other.weight || (one.weight === other.weight && one.order >= other.order)) winners.set(property, one)
}
