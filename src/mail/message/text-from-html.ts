import { decodeEntities } from './html-entities.ts'
import { attributesOf } from './html-attributes.ts'
import { readHtml, type Tag } from './html-tags.ts'
import { ShownElements } from './shown-elements.ts'
import { withoutPadding } from './invisible-padding.ts'

/** Elements that start and end a line. */
const block = new Set(
  (
    'address article aside body center dd details div dl dt fieldset figcaption figure footer ' +
    'form header html legend main nav section summary tbody tfoot thead tr'
  ).split(' '),
)
/** Elements with an empty line before and after. */
const paragraph = new Set(['blockquote', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'hr', 'ol', 'p', 'pre', 'table', 'ul'])

/** Deeper lists are not indented further, so that nesting cannot make the text grow. */
const deepestIndent = 8

/** Most text between two tags has only single spaces, and needs no change. */
const hasMuchSpace = /[\t\r\n\f]| {2}/

/** A run is processed in pieces: a run of several megabytes would exceed the stack of the regular expression. */
function singleSpaced(text: string): string {
  const shorter = text.replace(/[ \t\r\n\f]{1,1000}/g, ' ')
  return shorter.includes('  ') ? singleSpaced(shorter) : shorter
}

/** Collects text and treats white space as a browser does. */
class TextOutput {
  readonly #pieces: string[] = []
  #newlines = 2
  #space = false
  #hasText = false

  /** At least `count` line ends before the next text. */
  breakLine(count: 1 | 2): void {
    this.#newlines = Math.max(this.#newlines, count)
    this.#space = false
  }

  lineEnd(): void {
    this.#newlines++
    this.#space = false
  }

  word(text: string): void {
    if (this.#newlines > 0) {
      if (this.#hasText) this.#pieces.push('\n'.repeat(Math.min(this.#newlines, 2)))
    } else if (this.#space) {
      this.#pieces.push(' ')
    }
    this.#pieces.push(text)
    this.#newlines = 0
    this.#space = false
    this.#hasText = true
  }

  flowed(text: string): void {
    const trimmed = hasMuchSpace.test(text) ? singleSpaced(text) : text
    if (trimmed === '') return
    if (trimmed.startsWith(' ')) this.#space = true
    const inner = trimmed.slice(trimmed.startsWith(' ') ? 1 : 0, trimmed.length > 1 && trimmed.endsWith(' ') ? -1 : undefined)
    if (inner === '') return
    this.word(inner)
    this.#space = trimmed.endsWith(' ')
  }

  preformatted(text: string): void {
    const lines = text.split(/\r\n|\r|\n/)
    lines.forEach((line, i) => {
      if (i > 0) this.lineEnd()
      if (line !== '') this.word(line)
    })
  }

  space(): void {
    this.#space = true
  }

  toString(): string {
    return this.#pieces.join('')
  }
}

class TextExtractor {
  readonly #out = new TextOutput()
  readonly #lists: { isOrdered: boolean; count: number }[] = []
  #link: { url: string; text: string } | null = null
  #preDepth = 0

  /** Text that is shown, decoded. */
  text(given: string): void {
    const text = withoutPadding(given)
    if (this.#link && this.#link.text.length < 2048) this.#link.text += text.slice(0, 2048)
    if (this.#preDepth > 0) this.#out.preformatted(text)
    else this.#out.flowed(text)
  }

  tag(tag: Tag): void {
    const { name, isEnd } = tag
    if (name === 'a') this.#anchor(tag)
    else if (name === 'br') this.#out.lineEnd()
    else if (name === 'li') this.#item(isEnd)
    else if (name === 'td' || name === 'th') this.#out.space()
    else if (name === 'img' && !isEnd) this.text(attributesOf(tag).get('alt')?.trim() ?? '')
    else if (block.has(name)) this.#out.breakLine(1)
    else if (paragraph.has(name)) this.#paragraph(name, isEnd)
  }

  end(): string {
    this.#closeLink()
    return this.#out.toString()
  }

  #paragraph(name: string, isEnd: boolean): void {
    const isList = name === 'ul' || name === 'ol'
    this.#out.breakLine(isList && this.#lists.length > (isEnd ? 1 : 0) ? 1 : 2)
    if (name === 'pre') this.#preDepth = Math.max(0, this.#preDepth + (isEnd ? -1 : 1))
    if (isList && isEnd) this.#lists.pop()
    else if (isList) this.#lists.push({ isOrdered: name === 'ol', count: 0 })
    if (name === 'hr' && !isEnd) {
      this.#out.word('-----')
      this.#out.breakLine(2)
    }
  }

  #item(isEnd: boolean): void {
    this.#out.breakLine(1)
    if (isEnd) return
    const list = this.#lists.at(-1)
    const indent = '  '.repeat(Math.min(Math.max(this.#lists.length - 1, 0), deepestIndent))
    if (list) list.count++
    this.#out.word(`${indent}${list?.isOrdered ? `${list.count}.` : '*'}`)
    this.#out.space()
  }

  #anchor(tag: Tag): void {
    this.#closeLink()
    const url = tag.isEnd ? '' : (attributesOf(tag).get('href')?.trim() ?? '')
    if (/^(?:https?:|mailto:|tel:|\{\{)/i.test(url)) this.#link = { url, text: '' }
  }

  #closeLink(): void {
    const link = this.#link
    this.#link = null
    if (!link) return
    const text = link.text.trim()
    const plain = link.url.replace(/^(?:mailto|tel):/i, '')
    if (text === link.url || text === plain) return
    if (text !== '') this.#out.space()
    this.#out.word(text === '' ? link.url : `[${link.url}]`)
  }
}

/**
 * Plain text for a piece of HTML: what a mail program would show of it, links as `text [url]`, lists with marks. Any input, however nested
 * or broken, takes only linear time.
 */
export function textFromHtml(html: string): string {
  const extractor = new TextExtractor()
  const elements = new ShownElements()
  readHtml(html, {
    style: (tag, css) => elements.addStyles(tag, css),
    tag: (tag) => {
      if (elements.shows(tag)) extractor.tag(tag)
    },
    text: (text) => {
      if (elements.showText) extractor.text(decodeEntities(text))
    },
  })
  return extractor.end()
}
