import { QuoteType, Tokenizer, type TokenizerCallbacks } from 'htmlparser2'
import { endOfScript } from '../../mail/message/html-tags.ts'
import { ForeignContent } from './foreign-content.ts'

/** The value of a link attribute: its position in the text, without quotes, end excluded. */
export interface LinkValue {
  start: number
  end: number
}

/** What a text of HTML contains. */
export interface Markup {
  /** In their order. */
  links: LinkValue[]
  /** Where the opening tag of the body ends; null if there is none. */
  bodyStart: number | null
  /** Where the last closing tag of the body begins; null if there is none. */
  bodyEnd: number | null
  /** Whether text added at the end is still part of the page, and not of a comment or of a tag that never ends. */
  endsInText: boolean
}

/** How a link says that it must not be tracked: our attribute, and other services' names for it. */
const optOut = new Map([
  ['data-sterna-track', /^(?:off|false)$/],
  ['clicktracking', /^off$/],
  ['data-ph-no-track', /^/],
  ['data-pm-no-track', /^/],
  ['ses:no-track', /^/],
])

/** Outlook for Windows renders such a comment, and often nothing else. */
const conditional = /^\[if\s[^\]]*mso[^\]]*\]>/i

/**
 * Finds the links of a page as a browser without scripts does: `href` of `a` and `area`, the first if repeated, and none in comments,
 * titles, scripts or styles. In comments for Outlook, `href` of its `v:` shapes counts too. Reads the text once.
 */
export function findLinks(text: string): Markup {
  const links: LinkValue[] = []
  return { links, ...new LinkScan(text, 0, links, false).run() }
}

/** What the tokenizer calls while it goes through a page, or a comment for Outlook in it. */
class LinkScan implements TokenizerCallbacks {
  readonly #text: string
  /** Where the text begins in the page. */
  readonly #base: number
  readonly #links: LinkValue[]
  readonly #isOutlook: boolean
  readonly #foreign = new ForeignContent()
  /** Whether it has something that the tokenizer does not read as a browser does. */
  readonly #isPeculiar: boolean
  /** Where the script ends that the tokenizer is in, or was in last. */
  #scriptEnd = 0
  #tag = ''
  #attribute = ''
  #value: LinkValue = { start: 0, end: 0 }
  #href: LinkValue | null = null
  #isOff = false
  #bodyStart: number | null = null
  #bodyEnd: number | null = null
  #textEnd = 0

  constructor(text: string, base: number, links: LinkValue[], isOutlook: boolean) {
    this.#text = text
    this.#base = base
    this.#links = links
    this.#isOutlook = isOutlook
    this.#isPeculiar = peculiar.test(text)
  }

  run(): Omit<Markup, 'links'> {
    const text = this.#text
    const tokenizer = new Tokenizer({ decodeEntities: false }, this)
    if (this.#isPeculiar) this.#writePieces(tokenizer)
    else tokenizer.write(text)
    const endsInText = this.#textEnd === text.length || text.length === 0
    tokenizer.end()
    return { bodyStart: this.#bodyStart, bodyEnd: this.#bodyEnd, endsInText }
  }

  /** The tokenizer takes `<![CDATA[` for one in HTML too, and the first end tag of a script for its end: it gets to see something else. */
  #writePieces(tokenizer: Tokenizer): void {
    let at = 0
    for (const { 0: mark, index } of this.#text.matchAll(misread)) {
      tokenizer.write(this.#text.slice(at, index))
      const isMisread = mark.startsWith('<!') ? !this.#foreign.isCurrent : index < this.#scriptEnd
      tokenizer.write(isMisread ? mark.toLowerCase().replace('/', '!') : mark)
      at = index + mark.length
    }
    tokenizer.write(this.#text.slice(at))
  }

  isInForeignContext(): boolean {
    return this.#foreign.takesTags
  }

  onopentagname(start: number, end: number): void {
    const isRelevant = end - start <= maxNameLength && (this.#isPeculiar || countsBy.test(this.#text[start] ?? ''))
    this.#tag = isRelevant ? this.#nameAt(start, end) : ''
    this.#href = null
    this.#isOff = false
  }

  onattribname(start: number, end: number): void {
    if (this.#tag === '') return
    this.#attribute = end - start > maxNameLength ? '' : this.#nameAt(start, end)
    this.#value = { start: -1, end }
  }

  onattribdata(start: number, end: number): void {
    this.#value = { start: this.#value.start < 0 ? start : this.#value.start, end }
  }

  onattribend(quote: QuoteType): void {
    if (this.#tag === '') return
    const { end } = this.#value
    const start = this.#value.start < 0 ? end : this.#value.start
    if (this.#attribute === 'href' && quote !== QuoteType.NoValue) this.#href ??= { start: this.#base + start, end: this.#base + end }
    const off = optOut.get(this.#attribute)
    if (off?.test(this.#nameAt(start, Math.min(end, start + maxNameLength)).trim())) this.#isOff = true
  }

  onopentagend(end: number, isSelfClosing = false): void {
    this.#textEnd = end + 1
    const tag = this.#tag
    if (tag === 'body') this.#bodyStart ??= end + 1
    const isLink = tag === 'a' || tag === 'area' || (this.#isOutlook && tag.startsWith('v:'))
    if (isLink && this.#href && !this.#isOff) this.#links.push(this.#href)
    if (!this.#isPeculiar) return
    if (tag === 'script' && !this.#foreign.takesTags) this.#scriptEnd = endOfScript(this.#text, end + 1)
    this.#foreign.opened(tag, isSelfClosing)
  }

  onselfclosingtag(end: number): void {
    this.onopentagend(end, true)
  }

  onclosetag(start: number, end: number): void {
    const close = this.#text.indexOf('>', end)
    this.#textEnd = close === -1 ? end : close + 1
    if (this.#isPeculiar) this.#foreign.closed(end - start <= maxNameLength ? this.#nameAt(start, end) : '')
    if (end - start === 4 && this.#nameAt(start, end) === 'body') this.#bodyEnd = start - 2
  }

  oncomment(start: number, end: number, offset: number): void {
    this.#textEnd = end + 1
    if (this.#isOutlook) return
    const opening = conditional.exec(this.#text.slice(start, Math.min(end, start + maxConditionLength)))
    if (!opening) return
    const inside = start + opening[0].length
    new LinkScan(this.#text.slice(inside, end - offset), this.#base + inside, this.#links, true).run()
  }

  ontext(_start: number, end: number): void {
    this.#textEnd = end
  }

  oncdata(_start: number, end: number): void {
    this.#textEnd = end
  }

  ondeclaration(_start: number, end: number): void {
    this.#textEnd = end + 1
  }

  onprocessinginstruction(): void {}
  ontextentity(): void {}
  onattribentity(): void {}
  onend(): void {}

  #nameAt(start: number, end: number): string {
    return this.#text.slice(start, end).toLowerCase()
  }
}

const peculiar = /<!\[CDATA\[|<(?:script|svg|math)/i
const misread = /<!\[CDATA\[|<\/script/gi
/** characters; no longer name matters */
const maxNameLength = 64
const maxConditionLength = 256
/** How the relevant tags begin: a, area, body, v:… */
const countsBy = /[abv]/i
