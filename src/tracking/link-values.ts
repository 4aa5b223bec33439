import { QuoteType, Tokenizer } from 'htmlparser2'

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
  const found = scan(text, 0, links, false)
  return { links, ...found }
}

function scan(text: string, base: number, links: LinkValue[], isOutlook: boolean): Omit<Markup, 'links'> {
  let tag = ''
  let attribute = ''
  let href: LinkValue | null = null
  let isOff = false
  let value: LinkValue = { start: 0, end: 0 }
  let bodyStart: number | null = null
  let bodyEnd: number | null = null
  let textEnd = 0
  const endTag = (end: number): void => {
    textEnd = end + 1
    if (tag === 'body') bodyStart ??= end + 1
    if (href && !isOff && (tag === 'a' || tag === 'area' || (isOutlook && tag.startsWith('v:')))) links.push(href)
  }
  const tokenizer = new Tokenizer(
    { decodeEntities: false },
    {
      onopentagname(start, end) {
        tag = end - start > longestName || !countsBy.test(text[start] ?? '') ? '' : text.slice(start, end).toLowerCase()
        href = null
        isOff = false
      },
      onattribname(start, end) {
        if (tag === '') return
        attribute = end - start > longestName ? '' : text.slice(start, end).toLowerCase()
        value = { start: end, end }
      },
      onattribdata(start, end) {
        value = { start, end }
      },
      onattribend(quote) {
        if (tag === '') return
        if (attribute === 'href' && quote !== QuoteType.NoValue) href ??= { start: base + value.start, end: base + value.end }
        const off = optOut.get(attribute)
        if (
          off?.test(
            text
              .slice(value.start, Math.min(value.end, value.start + longestName))
              .trim()
              .toLowerCase(),
          )
        )
          isOff = true
      },
      onopentagend: endTag,
      onselfclosingtag: endTag,
      onclosetag(start, end) {
        const close = text.indexOf('>', end)
        textEnd = close === -1 ? end : close + 1
        if (end - start === 4 && text.slice(start, end).toLowerCase() === 'body') bodyEnd = start - 2
      },
      oncomment(start, end, offset) {
        textEnd = end + 1
        const opening = isOutlook ? null : conditional.exec(text.slice(start, Math.min(end, start + longestCondition)))
        if (opening) scan(text.slice(start + opening[0].length, end - offset), base + start + opening[0].length, links, true)
      },
      ontext(_start, end) {
        textEnd = end
      },
      oncdata(_start, end) {
        textEnd = end
      },
      ondeclaration(_start, end) {
        textEnd = end + 1
      },
      onprocessinginstruction: () => {},
      ontextentity: () => {},
      onattribentity: () => {},
      onend: () => {},
    },
  )
  tokenizer.write(text)
  const endsInText = textEnd === text.length || text.length === 0
  tokenizer.end()
  return { bodyStart, bodyEnd, endsInText }
}

/** characters; no longer name matters */
const longestName = 64
const longestCondition = 256
/** How the relevant tags begin: a, area, body, v:… */
const countsBy = /[abv]/i
