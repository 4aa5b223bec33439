import { parse, type DefaultTreeAdapterTypes } from 'parse5'
import { expect, test } from 'vitest'
import { rewriteLinks, trackableLinks } from '../../../src/readers/tracking/rewrite-links.ts'
import { htmlMail } from '../../support/html-mails.ts'

type Element = DefaultTreeAdapterTypes.Element

/** Of HTML and SVG: both have links. */
const namespaces = ['http://www.w3.org/1999/xhtml', 'http://www.w3.org/2000/svg']

/** The links of a page by another parser, which builds the whole page as a browser does: values as a browser reads them. */
function judged(html: string): { href: string; isOff: boolean }[] {
  const found = new Map<number, { href: string; isOff: boolean }>()
  const visit = (node: DefaultTreeAdapterTypes.ParentNode | DefaultTreeAdapterTypes.ChildNode): void => {
    if ('attrs' in node) judge(node)
    if ('content' in node) visit(node.content)
    if ('childNodes' in node) node.childNodes.forEach(visit)
  }
  const judge = (element: Element): void => {
    const value = (name: string): string | undefined => element.attrs.find((attr) => attr.name === name && attr.prefix === undefined)?.value
    const href = value('href')
    const at = element.sourceCodeLocation?.startOffset
    if (href === undefined || at === undefined || !namespaces.includes(element.namespaceURI) || !['a', 'area'].includes(element.tagName))
      return
    const isOff =
      ['off', 'false'].includes(value('data-sterna-track')?.trim().toLowerCase() ?? '') ||
      value('clicktracking') === 'off' ||
      value('ses:no-track') !== undefined
    // A browser may make several elements of one tag.
    found.set(at, { href, isOff })
  }
  visit(parse(html, { sourceCodeLocationInfo: true, scriptingEnabled: false }))
  return [...found].toSorted(([one], [other]) => one - other).map(([, link]) => link)
}

const destination = (href: string): string | null => {
  const url = URL.parse(href)
  return url && /^https?:$/.test(url.protocol) && /^[\0-\x20]*https?:/i.test(href) ? url.href : null
}

const ourUrl = (place: number): string => `https://track.example/t/${String(place).padStart(6, '0')}`

/** Rewrites every link; says where each of ours leads. */
function rewritten(html: string): { html: string; targets: string[] } {
  const targets: string[] = []
  const bytes = rewriteLinks(Buffer.from(html), 'utf-8', (target) => ourUrl(targets.push(target) - 1))
  return { html: Buffer.from(bytes).toString(), targets }
}

const mails = Array.from({ length: 360 }, (_, seed) => htmlMail(seed + 1))

test.each([...mails.map((html, i) => [`mail ${i + 1}`, html] as const), ['a mail of 2 MB', htmlMail(4711, 22_000)] as const])(
  '%s: each link leads where it led before',
  (_name, html) => {
    const page = rewritten(html)
    const before = judged(html)
    const after = judged(page.html)
    const followed = after.map(
      ({ href }) => (href.startsWith('https://track.example/t/') ? page.targets[Number(href.slice(-6))] : href) ?? '',
    )
    expect(followed.map((href) => destination(href) ?? href)).toEqual(before.map(({ href }) => destination(href) ?? href))
    // All that may be followed are rewritten, and no others.
    expect(after.map(({ href }) => href.startsWith('https://track.example/'))).toEqual(
      before.map(({ href, isOff }) => !isOff && destination(href) !== null),
    )
  },
  60_000,
)

test('changes no byte outside the values', () => {
  for (const html of mails) {
    const links = trackableLinks(Buffer.from(html), 'utf-8')
    const given = Buffer.from(html)
    let expected = ''
    let copied = 0
    links.forEach(({ start, end }, place) => {
      expected += given.toString('latin1', copied, start) + ourUrl(place)
      copied = end
    })
    expected += given.toString('latin1', copied)
    expect(Buffer.from(rewritten(html).html).toString('latin1')).toBe(expected)
  }
})

const targetsIn = (html: string | Buffer, charset = 'utf-8'): string[] =>
  trackableLinks(Buffer.from(html as string), charset).map(({ target }) => target)

test.each<[string, string, string[]]>([
  [
    'a button for Outlook',
    '<!--[if mso]><v:roundrect href="https://x.example/?a=1&amp;b=2"></v:roundrect><![endif]-->',
    ['https://x.example/?a=1&b=2'],
  ],
  ['a link for Outlook', '<!--[if (gte mso 9)|(IE)]><a href=https://x.example/>x</a><![endif]-->', ['https://x.example/']],
  ['a shape that only Outlook would draw, where Outlook does not look', '<v:rect href="https://x.example/">', []],
  ['a condition for browsers long gone', '<!--[if IE 6]><a href="https://x.example/">x</a><![endif]-->', []],
  ['what is shown to all but Outlook', '<!--[if !mso]><!--><a href="https://x.example/">x</a><!--<![endif]-->', ['https://x.example/']],
  [
    'references with and without semicolon',
    '<a href="https://x.example/?a=1&copy=2&amp;b&#x3d;3&notit">',
    ['https://x.example/?a=1&copy=2&b=3&notit'],
  ],
  ['a target that is a reference to references', '<a href="https://x.example/?q=&amp;amp;">', ['https://x.example/?q=&amp;']],
  ['the first of two', '<a href="mailto:a@x.example" href="https://x.example/">', []],
  ['a target of 9,000 characters', `<a href="https://x.example/${'y'.repeat(9000)}">`, []],
  ['CDATA, which in HTML is a comment up to the first >', '<![CDATA[<p>]]><a href="https://x.example/">x</a>', ['https://x.example/']],
  ['CDATA in a drawing', '<svg><![CDATA[<p><a href="https://x.example/">x</a>]]></svg>', []],
  [
    'a script in a script',
    '<script><!--<script></script><a href="https://no.example/">--></script><a href="https://x.example/">',
    ['https://x.example/'],
  ],
  ['a script in a script that never ends', '<script><!--<script></script><a href="https://no.example/">', []],
  ['a value with CDATA', '<a href="https://x.example/?<![CDATA[=</script">', ['https://x.example/?<![CDATA[=</script']],
  ['no host', '<a href="https:///">a</a><a href="http:">b</a><a href="https://">c</a>', []],
])('%s', (_name, html, targets) => {
  expect(targetsIn(html)).toEqual(targets)
})

const escape = '\x1b'

test.each<[charset: string, bytes: Buffer, target: string]>([
  ['windows-1252', Buffer.from('<p>\xe9</p><a href="https://x.example/\xe9">', 'latin1'), 'https://x.example/é'],
  ['iso-8859-15', Buffer.from('<a href="https://x.example/\xa4">', 'latin1'), 'https://x.example/€'],
  // The second byte of 表 is a backslash, that of ソ too.
  ['shift_jis', Buffer.from('<p>\x95\x5c\x83\x5c</p><a href="https://x.example/\x95\x5c">', 'latin1'), 'https://x.example/表'],
  ['gb18030', Buffer.from('<p>\x81\x30\x81\x30</p><a href="https://x.example/\xd6\xd0">', 'latin1'), 'https://x.example/中'],
  ['big5', Buffer.from('<p>\xa4\x40</p><a href="https://x.example/\xa4\xa4">', 'latin1'), 'https://x.example/中'],
  [
    'iso-2022-jp',
    Buffer.from(
      `<p>${escape}$B$"<a href="https://no.example/">${escape}(B</p><a href="https://x.example/${escape}$B$"${escape}(B">`,
      'latin1',
    ),
    'https://x.example/あ',
  ],
  ['utf-16le', Buffer.from('\ufeff<p>é</p><a href="https://x.example/é">', 'utf16le'), 'https://x.example/é'],
  ['utf-16be', Buffer.from('<a href="https://x.example/é">', 'utf16le').swap16(), 'https://x.example/é'],
])('links in %s', (charset, bytes, target) => {
  expect(trackableLinks(bytes, charset).map((link) => link.target)).toEqual([target])
  const page = Buffer.from(rewriteLinks(bytes, charset, () => 'https://t.example/1'))
  expect(trackableLinks(page, charset).map((link) => link.target)).toEqual(['https://t.example/1'])
  const [given, made] = [trackableLinks(bytes, charset)[0]!, trackableLinks(page, charset)[0]!]
  expect(page.subarray(0, made.start)).toEqual(bytes.subarray(0, given.start))
  expect(page.subarray(made.end)).toEqual(bytes.subarray(given.end))
})

test('with an unknown charset, unreadable text stays unchanged', () => {
  expect(targetsIn('<a href="https://x.example/">a</a><a href="https://x.example/é">b</a>', 'x-unheard-of')).toEqual(['https://x.example/'])
  expect(targetsIn('+ADw-a href=+ACI-https://x.example/+ACIAPg-', 'utf-7')).toEqual([])
})
