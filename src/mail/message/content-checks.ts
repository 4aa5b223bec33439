import { wordWith, type Given, type Worded } from '../../platform/wording.ts'
import { contentWordings } from './content-wordings.ts'
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

type ContentCode = keyof typeof contentWordings

export interface ContentFinding extends Worded<ContentCode> {
  check: (typeof contentCheckNames)[number]
  /** `skipped`: it does not apply. */
  status: 'ok' | 'warning' | 'skipped'
}

export interface ContentReport {
  findings: ContentFinding[]
  /** Where its links lead, each once: http and https only. */
  links: string[]
}

/** bytes of HTML after which Gmail cuts a message off */
const clippedAfter = 102 * 1024
const maxLinks = 200
const maxNamed = 5

/** What surrounds what only Outlook shows. */
const conditions = /<!--\[if [^\]\n]{1,100}\]>|<!\[endif\]-->/gi
const placeholders = /\{\{[^{}\n]{1,80}\}\}|\{%[^%\n]{1,80}%\}|\*\|[A-Z_:]{2,40}\|\*|\$\{[\w.]{1,60}\}|<%[^%\n]{1,80}%>|\[object Object\]/g

/** What mail programs leave out, and which; after caniemail.com. */
const unsupported: [name: string, found: RegExp, by: string][] = [
  ['<script>', /<script\b/i, 'Gmail, Outlook, Apple Mail'],
  ['<form>', /<(?:form|input|textarea|select)\b/i, 'Gmail, Outlook'],
  ['<iframe>, <object>, <embed>', /<(?:iframe|object|embed)\b/i, 'Gmail, Outlook, Apple Mail'],
  ['<video>, <audio>', /<(?:video|audio)\b/i, 'Gmail, Outlook'],
  ['<svg>', /<svg\b/i, 'Gmail, Outlook'],
  ['<link rel="stylesheet">, @import', /<link\b[^<>]{0,500}stylesheet|@import\b/i, 'Gmail, Outlook'],
  ['<img src="data:…">', /\bsrc\s{0,5}=\s{0,5}["']?data:/i, 'Gmail, Outlook'],
  ['display: flex, grid', /display\s{0,5}:\s{0,5}(?:inline-)?(?:flex|grid)\b/i, 'Outlook'],
  ['position: absolute, fixed', /position\s{0,5}:\s{0,5}(?:absolute|fixed|sticky)\b/i, 'Gmail, Outlook'],
  ['var(--…)', /var\(\s{0,5}--/i, 'Gmail, Outlook'],
  ['@font-face', /@font-face\b/i, 'Gmail, Outlook'],
  ['background-image', /background(?:-image)?\s{0,5}:[^;"'{}]{0,200}url\(/i, 'Outlook'],
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
    links: [...new Set(hrefs.flatMap((href) => (href !== null && /^https?:\/\//i.test(href) ? [href] : [])))].slice(0, maxLinks),
  }
}

/** Reports what one check found. */
export const sayOfContent = (check: ContentFinding['check']) => {
  const say =
    (status: ContentFinding['status']) =>
    <Code extends ContentCode>(code: Code, ...given: Given<(typeof contentWordings)[Code]>): ContentFinding => ({
      check,
      status,
      ...word<Code>(code, ...given),
    })
  return { ok: say('ok'), warning: say('warning'), skipped: say('skipped') }
}

const word = wordWith(contentWordings)

/** The value of an attribute; '' if it has none, null if there is no such attribute. */
function attributeOf(attributes: string, name: string): string | null {
  const found = new RegExp(`(?:^|[\\s"'/])${name}(?:\\s{0,5}=\\s{0,5}(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+)))?(?=[\\s/]|$)`, 'i').exec(
    attributes,
  )
  if (!found) return null
  return (found[1] ?? found[2] ?? found[3] ?? '').replaceAll('&amp;', '&').trim()
}

function textPart({ html, text }: CheckedContent): ContentFinding {
  const say = sayOfContent('text_part')
  if (html === null) return say.ok('plain_text')
  return text !== null && text.trim() !== '' ? say.ok('has_text_part') : say.warning('no_text_part')
}

function pictures(elements: { name: string; attributes: string }[]): ContentFinding {
  const say = sayOfContent('pictures')
  const shown = elements.filter(({ name }) => name === 'img')
  if (shown.length === 0) return say.skipped('no_pictures')
  const mute = shown.filter(({ attributes }) => attributeOf(attributes, 'alt') === null)
  if (mute.length === 0) return say.ok('pictures_have_text')
  return say.warning('pictures_without_text', { count: mute.length, all: shown.length })
}

function size(html: string): ContentFinding {
  const say = sayOfContent('size')
  const bytes = Buffer.byteLength(html)
  const kilobytes = { size: Math.ceil(bytes / 1024) }
  return bytes <= clippedAfter ? say.ok('size_fine', kilobytes) : say.warning('size_clipped', kilobytes)
}

function unsubscribe({ headers, addsUnsubscribe }: CheckedContent): ContentFinding {
  const say = sayOfContent('unsubscribe')
  const has = (name: string): boolean => headers.some((field) => field.name === name)
  if (addsUnsubscribe) return say.ok('unsubscribe_added')
  if (!has('list-unsubscribe')) {
    const isBulk = has('list-id') || headers.some(({ name, value }) => name === 'precedence' && /bulk|list/i.test(value))
    return isBulk ? say.warning('unsubscribe_missing') : say.skipped('unsubscribe_not_needed')
  }
  return has('list-unsubscribe-post') ? say.ok('unsubscribe_fine') : say.warning('unsubscribe_not_one_click')
}

function leftPlaceholders({ subject, text, html }: CheckedContent): ContentFinding {
  const say = sayOfContent('placeholders')
  const found = new Set([subject, text ?? '', html ?? ''].flatMap((part) => part.match(placeholders) ?? []))
  if (found.size === 0) return say.ok('no_placeholders')
  return say.warning('placeholders_left', { placeholders: [...found].slice(0, maxNamed).join(', ') })
}

function support(html: string): ContentFinding {
  const say = sayOfContent('support')
  if (html === '') return say.skipped('no_html')
  const found = unsupported.filter(([, pattern]) => pattern.test(html))
  if (found.length === 0) return say.ok('supported')
  return say.warning('unsupported', { features: found.map(([name, , by]) => `${name} (${by})`).join('; ') })
}

function deadLinks(hrefs: (string | null)[]): ContentFinding[] {
  const say = sayOfContent('links')
  if (hrefs.length === 0) return [say.skipped('no_links')]
  const isDead = (href: string | null): boolean =>
    href === null ||
    href === '' ||
    href === '#' ||
    !/^(?:https?:\/\/[^/\\?#]|mailto:|tel:|sms:|#.)/i.test(href) ||
    /^https?:\/\/(?:localhost|127\.|\[)/i.test(href)
  const dead = hrefs.filter(isDead)
  if (dead.length === 0) return [hrefs.length === 1 ? say.ok('link_fine') : say.ok('links_fine', { count: hrefs.length })]
  const named = [...new Set(dead)].slice(0, maxNamed).map((href) => `“${(href ?? '').slice(0, 100)}”`)
  return [say.warning('links_dead', { count: dead.length, all: hrefs.length, links: named.join(', ') })]
}
