/** A tag as it is written. */
export interface Tag {
  /** In lower case. */
  readonly name: string
  readonly isEnd: boolean
  /** What follows the name; at most 4 KiB of the tag. */
  readonly attributes: string
}

interface HtmlReader {
  tag(tag: Tag): void
  /** Text that is shown, not decoded. */
  text?(text: string): void
  /** What a `<style>` says. */
  style?(tag: Tag, css: string): void
}

/** Elements whose content is neither text nor tags; only their own end tag ends them. */
const hidden = new Set(['script', 'style', 'title', 'template', 'xml', 'iframe', 'noembed', 'noframes'])
/** Elements whose content is text, whatever it looks like. */
const raw = new Set(['textarea', 'xmp'])

const maxTagLength = 4096
const [exclamationMark, slash, questionMark] = [33, 47, 63]
const greaterThan = 62
const equals = 61
const doubleQuote = 34
const singleQuote = 39

/**
 * Reads the tags and the text of a page, without comments, scripts and whatever else is not shown. Reads the input once without building
 * a tree, so that any input, however nested or broken, takes only linear time.
 */
export function readHtml(html: string, reader: HtmlReader): void {
  const told = (start: number, end: number): void => {
    if (end > start) reader.text?.(html.slice(start, end))
  }
  let textStart = 0
  let i = html.indexOf('<')
  while (i >= 0) {
    const next = html.charCodeAt(i + 1)
    const isMarkup = next === exclamationMark || next === questionMark
    if (!isMarkup && next !== slash && !isLetter(next)) {
      i = html.indexOf('<', i + 1)
      continue
    }
    told(textStart, i)
    if (isMarkup) textStart = endOfMarkup(html, i)
    else {
      const end = endOfTag(html, i + 1)
      // An unfinished tag: browsers show nothing of it.
      if (end < 0) return
      const tag = tagAt(html, i, end)
      reader.tag(tag)
      textStart = end
      if (!tag.isEnd && hidden.has(tag.name)) {
        textStart = endOfContent(html, tag.name, end)
        if (tag.name === 'style') reader.style?.(tag, html.slice(end, textStart))
      } else if (!tag.isEnd && raw.has(tag.name)) told(end, (textStart = endOfContent(html, tag.name, end)))
    }
    i = html.indexOf('<', textStart)
  }
  told(textStart, html.length)
}

/**
 * Where the script that starts at `start` ends: at its end tag, or at the end of the page. Between `<!--` and `-->`, a script may contain
 * another one with its end tag (HTML 13.2.5.15 to 31, "script data double escaped").
 */
export function endOfScript(html: string, start: number): number {
  const marks = /<!--|-->|<(\/?)script(?=[\t\n\f\r />])/gi
  marks.lastIndex = start
  let state: 'plain' | 'escaped' | 'twice escaped' = 'plain'
  for (let mark = marks.exec(html); mark; mark = marks.exec(html)) {
    const [found, end] = mark
    if (found === '-->') state = 'plain'
    else if (found === '<!--') {
      if (state === 'plain') state = 'escaped'
      // Its dashes may be those of `-->`.
      marks.lastIndex -= 2
    } else if (end === '') state = state === 'plain' ? 'plain' : 'twice escaped'
    else if (state !== 'twice escaped') return mark.index
    else state = 'escaped'
  }
  return html.length
}

function tagAt(html: string, start: number, end: number): Tag {
  const insideEnd = Math.min(end - 1, start + maxTagLength)
  let nameEnd = start + 1
  let packed = 0
  for (let code = html.charCodeAt(nameEnd); nameEnd < insideEnd; code = html.charCodeAt(++nameEnd)) {
    if (isSpace(code) || (code === slash && nameEnd > start + 1)) break
    packed = code < 128 && packed < maxPacked ? (packed << 7) | code : notPacked
  }
  const plain = (packed !== notPacked && plainTags.get(packed)) || plainTag(html.slice(start + 1, nameEnd), packed)
  return nameEnd === insideEnd ? plain : { ...plain, attributes: html.slice(nameEnd, insideEnd) }
}

/**
 * Tags without attributes by what is written of them, such as `TABLE` or `/td`: a page has few, each many times. Up to four characters of
 * ASCII are packed into a number, so that no string is made of most tags.
 */
const plainTags = new Map<string | number, Tag>()
/** As many as HTML has, and more; the longest is `/blockquote`. A piece of more than 12 characters would keep its whole page in memory. */
const [maxPlainTags, maxPlainLength] = [500, 12]
/** A packed number below this has room for one more character. */
const maxPacked = 2 ** 21
const notPacked = Infinity

function plainTag(written: string, packed: number): Tag {
  const key = packed === notPacked ? written : packed
  const known = plainTags.get(key)
  if (known) return known
  const isEnd = written.startsWith('/')
  const tag = { name: written.slice(isEnd ? 1 : 0).toLowerCase(), isEnd, attributes: '' }
  if (written.length > maxPlainLength) return tag
  // One page of invented names must not keep out those of all others.
  if (plainTags.size >= maxPlainTags) plainTags.clear()
  plainTags.set(key, tag)
  return tag
}

/** The end of the tag that starts at `start`, after its `>`; quoted attribute values may contain one. */
function endOfTag(html: string, start: number): number {
  let quote = 0
  // A quotation mark opens a value only after `=`; elsewhere it is part of a broken name.
  let isValue = false
  for (let i = start; i < html.length; i++) {
    const code = html.charCodeAt(i)
    if (quote !== 0) {
      if (code === quote) quote = 0
      continue
    }
    if (code === greaterThan) return i + 1
    if (isValue && (code === doubleQuote || code === singleQuote)) quote = code
    if (code === equals) isValue = true
    else if (isValue && !isSpace(code)) isValue = false
  }
  return -1
}

const isLetter = (code: number): boolean => (code | 32) >= 97 && (code | 32) <= 122
const isSpace = (code: number): boolean => (code < 128 ? code === 32 || (code >= 9 && code <= 13) : /\s/.test(String.fromCharCode(code)))

/** Where the content of such an element ends: at its end tag, or at the end of the page. */
function endOfContent(html: string, name: string, start: number): number {
  if (name === 'script') return endOfScript(html, start)
  const close = new RegExp(`</${name}(?=[\\t\\n\\f\\r />])`, 'gi')
  close.lastIndex = start
  return close.exec(html)?.index ?? html.length
}

/** Where the comment or declaration that starts at `start` ends; `<![CDATA[` is one that the first `>` ends. */
function endOfMarkup(html: string, start: number): number {
  if (!html.startsWith('<!--', start)) {
    const found = html.indexOf('>', start + 2)
    return found < 0 ? html.length : found + 1
  }
  const close = /--!?>/g
  // `<!-->` is a whole comment, but `<!--!>` is not.
  close.lastIndex = start + 2
  let found = close.exec(html)
  while (found && found[0] === '--!>' && found.index < start + 4) found = close.exec(html)
  return found ? close.lastIndex : html.length
}
