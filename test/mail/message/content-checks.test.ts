import { expect, test } from 'vitest'
import { checkContent, type CheckedContent } from '../../../src/mail/message/content-checks.ts'

const plain: CheckedContent = { html: null, text: 'Hello', subject: 'Hello', headers: [], addsUnsubscribe: false }
const warned = (content: Partial<CheckedContent>): string[] =>
  checkContent({ ...plain, ...content }).findings.flatMap(({ check, status }) => (status === 'warning' ? [check] : []))

test('good mail has no warning', () => {
  expect(warned({})).toEqual([])
  const html = '<style>p { color: green }</style><p>Hi</p><img src="cid:x" alt=""><a href="https://shop.example/?a=1&amp;b=2">shop</a>'
  expect(warned({ html })).toEqual([])
  expect(checkContent({ ...plain, html }).links).toEqual(['https://shop.example/?a=1&b=2'])
})

test.each<[string, Partial<CheckedContent>, string[]]>([
  ['no text part', { html: '<p>Hi</p>', text: null }, ['text_part']],
  ['a picture without alt', { html: '<img src="cid:x" title="alt"><img alt src="cid:y">' }, ['pictures']],
  ['more than Gmail shows', { html: `<p>${'x'.repeat(102 * 1024)}</p>` }, ['size']],
  ['a list that nobody can leave', { headers: [{ name: 'list-id', value: '<news.acme.example>' }] }, ['unsubscribe']],
  ['no one click', { headers: [{ name: 'list-unsubscribe', value: '<https://a.example>' }] }, ['unsubscribe']],
  ['a placeholder in the subject', { subject: 'Hello {{ name }}' }, ['placeholders']],
  ['a placeholder of another service', { text: 'Hello *|FNAME|*' }, ['placeholders']],
  ['an object', { html: '<p>Hello [object Object]</p>' }, ['placeholders']],
  ['a script', { html: '<script>1</script>' }, ['support']],
  ['grid', { html: '<div style="display: grid">x</div>' }, ['support']],
  ['a picture in the HTML', { html: '<img alt="" src="data:image/png;base64,AA==">' }, ['support']],
  ['dead links', { html: '<a href="#">1</a><a>2</a><a href="http://localhost:3000/">3</a><a href=/path>4</a>' }, ['links']],
])('%s', (_, content, checks) => {
  expect(warned(content)).toEqual(checks)
})

test('mail that the server lets readers unsubscribe from is fine', () => {
  expect(warned({ addsUnsubscribe: true, headers: [{ name: 'list-id', value: '<news.acme.example>' }] })).toEqual([])
})

test('only what is shown counts, also what only Outlook shows', () => {
  const html =
    '<!-- <a href="#">1</a> <img src=x> --><script><!--<script></script><a href="#">2</a>--></script><![CDATA[<p>]]>' +
    '<a href="https://a.example/" title="a > b">3</a><!--[if mso]><a href="https://b.example/">4</a><![endif]-->'
  expect(warned({ html })).toEqual(['support'])
  expect(checkContent({ ...plain, html }).links).toEqual(['https://a.example/', 'https://b.example/'])
})

test('hostile HTML takes no time', () => {
  for (const html of [
    '<a '.repeat(300_000),
    `<a href="${' '.repeat(500_000)}`,
    '{{'.repeat(500_000),
    `<a${' href'.repeat(200_000)}>`,
    'url('.repeat(300_000),
    '<script><!--<script></script>'.repeat(50_000),
    '<!--'.repeat(300_000),
    '<style></'.repeat(100_000),
  ]) {
    checkContent({ ...plain, html })
  }
})
