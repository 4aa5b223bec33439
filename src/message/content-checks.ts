import { readHtml, type Tag } from './html-tags.ts'

/** What readers and their mail programs will make of a message. Pure; meant for the process that reads untrusted messages. */

export interface CheckedContent {
  html: string | null
  text: string | null
  subject: string
  /** Names in lower case. */
  headers: { name: string; value: string }[]
  /** Whether the server adds List-Unsubscribe when the message leaves. */
  addsUnsubscribe: boolean
}

export const contentCheckNames = ['text_part', 'pictures', 'size', 'unsubscribe', 'placeholders', 'support', 'links'] as const

export interface ContentFinding {
  check: (typeof contentCheckNames)[number]
  /** `skipped`: it does not apply. */
  status: 'ok' | 'warning' | 'skipped'
  what: string
  advice: string | null
}

export interface ContentReport {
  findings: ContentFinding[]
  /** Where its links lead, each once: http and https only. */
  links: string[]
}

/** bytes of HTML after which Gmail cuts a message off */
const clippedAfter = 102 * 1024
const mostLinks = 200
const mostNamed = 5

/** What surrounds what only Outlook shows. */
const conditions = /<!--\[if [^\]\n]{1,100}\]>|<!\[endif\]-->/gi
const placeholders = /\{\{[^{}\n]{1,80}\}\}|\{%[^%\n]{1,80}%\}|\*\|[A-Z_:]{2,40}\|\*|\$\{[\w.]{1,60}\}|<%[^%\n]{1,80}%>|\[object Object\]/g

/** What mail programs leave out, and which; after caniemail.com. */
const unsupported: [name: string, found: RegExp, by: string][] = [
  ['<script>', /<script\b/i, 'all mail programs remove it'],
  ['<form>', /<(?:form|input|textarea|select)\b/i, 'Gmail and Outlook disable it'],
  ['<iframe>, <object>, <embed>', /<(?:iframe|object|embed)\b/i, 'nearly all mail programs remove it'],
  ['<video>, <audio>', /<(?:video|audio)\b/i, 'only Apple Mail plays it'],
  ['<svg>', /<svg\b/i, 'Gmail and Outlook leave it out'],
  ['a linked style sheet', /<link\b[^<>]{0,500}stylesheet|@import\b/i, 'Gmail and Outlook do not load it'],
  ['pictures in data: URLs', /\bsrc\s{0,5}=\s{0,5}["']?data:/i, 'Gmail and Outlook block them'],
  ['display: flex or grid', /display\s{0,5}:\s{0,5}(?:inline-)?(?:flex|grid)\b/i, 'Outlook on Windows ignores it'],
  ['position: absolute or fixed', /position\s{0,5}:\s{0,5}(?:absolute|fixed|sticky)\b/i, 'Gmail and Outlook remove it'],
  ['custom properties of CSS', /var\(\s{0,5}--/i, 'Gmail and Outlook do not know them'],
  ['web fonts', /@font-face\b/i, 'Gmail and Outlook use another font'],
  ['background pictures', /background(?:-image)?\s{0,5}:[^;"'{}]{0,200}url\(/i, 'Outlook on Windows does not show them'],
]

/** Examines what a message says and how. */
export function checkContent(content: CheckedContent): ContentReport {
  const html = content.html ?? ''
  const elements: Tag[] = []
  readHtml(html.replace(conditions, ''), { tag: (tag) => void (tag.isEnd || elements.push(tag)) })
  const hrefs = elements.flatMap(({ name, attributes }) => (name === 'a' ? [attributeOf(attributes, 'href')] : []))
  return {
    findings: [
      textPart(content),
      pictures(elements),
      size(html),
      unsubscribe(content),
      leftPlaceholders(content),
      support(html),
      ...deadLinks(hrefs),
    ],
    links: [...new Set(hrefs.flatMap((href) => (href !== null && /^https?:\/\//i.test(href) ? [href] : [])))].slice(0, mostLinks),
  }
}

const ok = (check: ContentFinding['check'], what: string): ContentFinding => ({ check, status: 'ok', what, advice: null })
const skipped = (check: ContentFinding['check'], what: string): ContentFinding => ({ check, status: 'skipped', what, advice: null })
const warning = (check: ContentFinding['check'], what: string, advice: string): ContentFinding => ({
  check,
  status: 'warning',
  what,
  advice,
})

/** The value of an attribute; '' if it has none, null if there is no such attribute. */
function attributeOf(attributes: string, name: string): string | null {
  const found = new RegExp(`(?:^|[\\s"'/])${name}(?:\\s{0,5}=\\s{0,5}(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+)))?(?=[\\s/]|$)`, 'i').exec(
    attributes,
  )
  if (!found) return null
  return (found[1] ?? found[2] ?? found[3] ?? '').replaceAll('&amp;', '&').trim()
}

function textPart({ html, text }: CheckedContent): ContentFinding {
  if (html === null) return ok('text_part', 'It is plain text.')
  if (text !== null && text.trim() !== '') return ok('text_part', 'It has a text part beside the HTML.')
  return warning(
    'text_part',
    'It has no text part.',
    'Send the same as text, too: some readers see nothing else, and filters trust such mail more.',
  )
}

function pictures(elements: { name: string; attributes: string }[]): ContentFinding {
  const shown = elements.filter(({ name }) => name === 'img')
  if (shown.length === 0) return skipped('pictures', 'It has no pictures.')
  const mute = shown.filter(({ attributes }) => attributeOf(attributes, 'alt') === null)
  if (mute.length === 0) return ok('pictures', 'All pictures have an alternative text.')
  const what = `${mute.length} of ${shown.length} pictures have no alternative text.`
  return warning('pictures', what, 'Give each an `alt`, an empty one if it only decorates: many readers do not load pictures.')
}

function size(html: string): ContentFinding {
  const bytes = Buffer.byteLength(html)
  if (bytes <= clippedAfter) return ok('size', `The HTML has ${Math.ceil(bytes / 1024)} KB.`)
  const what = `The HTML has ${Math.ceil(bytes / 1024)} KB, and Gmail cuts off what is beyond 102 KB.`
  return warning('size', what, 'Shorten it: remove unused styles, and link to what is long.')
}

function unsubscribe({ headers, addsUnsubscribe }: CheckedContent): ContentFinding {
  const has = (name: string): boolean => headers.some((field) => field.name === name)
  if (addsUnsubscribe) return ok('unsubscribe', 'Readers can unsubscribe with one click: Sterna adds the fields.')
  if (!has('list-unsubscribe')) {
    const what = 'It has no List-Unsubscribe. That is right for mail that somebody waits for, such as a receipt.'
    const isBulk = has('list-id') || headers.some(({ name, value }) => name === 'precedence' && /bulk|list/i.test(value))
    return isBulk ? warning('unsubscribe', 'It goes to a list, but has no List-Unsubscribe.', oneClick) : skipped('unsubscribe', what)
  }
  if (has('list-unsubscribe-post')) return ok('unsubscribe', 'Readers can unsubscribe with one click.')
  return warning('unsubscribe', 'It has List-Unsubscribe, but not List-Unsubscribe-Post.', oneClick)
}
const oneClick = 'Gmail and Yahoo require one click (RFC 8058). Send it with a topic that readers can unsubscribe from, or add both fields.'

function leftPlaceholders({ subject, text, html }: CheckedContent): ContentFinding {
  const found = new Set([subject, text ?? '', html ?? ''].flatMap((part) => part.match(placeholders) ?? []))
  if (found.size === 0) return ok('placeholders', 'No placeholders are left over.')
  const named = [...found].slice(0, mostNamed).join(', ')
  return warning('placeholders', `Placeholders are left over: ${named}`, 'Give their values when you send.')
}

function support(html: string): ContentFinding {
  if (html === '') return skipped('support', 'It has no HTML.')
  const found = unsupported.filter(([, pattern]) => pattern.test(html))
  if (found.length === 0) return ok('support', 'Common mail programs show all of its HTML and CSS.')
  const what = found.map(([name, , by]) => `${name}: ${by}.`).join(' ')
  return warning('support', what, 'See to it that the mail works without.')
}

function deadLinks(hrefs: (string | null)[]): ContentFinding[] {
  if (hrefs.length === 0) return [skipped('links', 'It has no links.')]
  const isDead = (href: string | null): boolean =>
    href === null ||
    href === '' ||
    href === '#' ||
    !/^(?:https?:\/\/[^/\\?#]|mailto:|tel:|sms:|#.)/i.test(href) ||
    /^https?:\/\/(?:localhost|127\.|\[)/i.test(href)
  const dead = hrefs.filter(isDead)
  if (dead.length === 0) return [ok('links', `${hrefs.length === 1 ? 'Its link leads' : `All ${hrefs.length} links lead`} to an address.`)]
  const named = [...new Set(dead)].slice(0, mostNamed).map((href) => `“${(href ?? '').slice(0, 100)}”`)
  return [
    warning(
      'links',
      `${dead.length} of ${hrefs.length} links lead nowhere: ${named.join(', ')}`,
      'Give each a whole address, such as https://example.com/.',
    ),
  ]
}
