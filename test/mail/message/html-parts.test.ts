import { expect, test } from 'vitest'
import { htmlParts } from '../../../src/mail/message/html-parts.ts'

const part = (type: string, body: string, more = ''): string => `Content-Type: ${type}\r\n${more}\r\n${body}`
const multipart = (type: string, boundary: string, parts: string[]): string =>
  part(
    `multipart/${type}; boundary="${boundary}"`,
    `preamble\r\n${parts.map((each) => `--${boundary}\r\n${each}\r\n`).join('')}--${boundary}--\r\nepilogue <a href="x">\r\n`,
  )
const html = (body: string, more = ''): string => part('text/html; charset=UTF-8', body, more)

const bodiesIn = (message: string): string[] => {
  const bytes = Buffer.from(message, 'latin1')
  return htmlParts(bytes).map(({ bodyStart, bodyEnd }) => bytes.toString('latin1', bodyStart, bodyEnd))
}
const all = `Subject: x\r\n`

test.each<[what: string, message: string, bodies: string[]]>([
  ['a message that is HTML', html('<p>\r\n'), ['<p>\r\n']],
  ['one of text', part('text/plain', 'x'), []],
  ['one without a type', '\r\n<p>', []],
  ['an alternative', multipart('alternative', 'b', [part('text/plain', 'x'), html('<p>')]), ['<p>']],
  [
    'parts within parts, one boundary the beginning of the other',
    multipart('mixed', 'b', [multipart('alternative', 'bb', [html('<p>1'), html('<p>2')]), html('<p>3')]),
    ['<p>1', '<p>2', '<p>3'],
  ],
  ['an attachment', multipart('mixed', 'b', [html('<p>', 'Content-Disposition: Attachment; filename=a.html\r\n')]), []],
  ['what is shown in its place', multipart('mixed', 'b', [html('<p>', 'Content-Disposition: inline\r\n')]), ['<p>']],
  ['a message within the message', multipart('mixed', 'b', [part('message/rfc822', html('<p>'))]), []],
  ['a signed message', multipart('signed', 'b', [html('<p>')]), []],
  ['a signed part', multipart('mixed', 'b', [html('<p>'), multipart('signed', 'c', [html('<p>')])]), []],
  ['an encrypted message', part('application/pkcs7-mime', 'x'), []],
  ['a message with a signature of its own', `DKIM-Signature: v=1\r\n${html('<p>')}`, []],
  ['an encoding that is none', html('<p>', 'Content-Transfer-Encoding: x-gzip\r\n'), []],
  ['no closing boundary', part('multipart/mixed; boundary=b', '--b\r\nContent-Type: text/html\r\n\r\n<p>\r\n'), ['<p>\r\n']],
  ['no boundary at all', part('multipart/mixed', '--b\r\nContent-Type: text/html\r\n\r\n<p>'), []],
  ['blanks behind the boundary', part('multipart/mixed; boundary=b', '--b  \t\r\nContent-Type: text/html\r\n\r\n<p>\r\n--b--'), ['<p>']],
  ['an empty part', multipart('mixed', 'b', ['', html('')]), []],
  [
    'a boundary in the middle of a line',
    part('multipart/mixed; boundary=b', '--b\r\nContent-Type: text/html\r\n\r\nx --b\r\ny\r\n--b--'),
    ['x --b\r\ny'],
  ],
  [
    'a boundary with quoted signs',
    part('multipart/mixed; x="a;b"; Boundary="a\\"b;c"', '--a"b;c\r\nContent-Type: text/html\r\n\r\n<p>\r\n--a"b;c--'),
    ['<p>'],
  ],
])('%s', (_, message, bodies) => {
  expect(bodiesIn(all + message)).toEqual(bodies)
})

test('what is told of a part', () => {
  const message = Buffer.from(
    all +
      multipart('mixed', 'b', [part('TEXT/HTML; format=flowed; charset="ISO-8859-1"', 'PA==', 'Content-Transfer-Encoding: Base64\r\n')]),
  )
  const [found] = htmlParts(message)
  expect(found).toMatchObject({ encoding: 'base64', charset: 'ISO-8859-1' })
  expect(message.toString('latin1', found?.headerStart, found?.bodyStart)).toMatch(/^Content-Type: TEXT\/HTML[^]*\r\n\r\n$/)
})

test.each([
  [
    'thousands of parts',
    multipart(
      'mixed',
      'b',
      Array.from({ length: 50_000 }, () => part('text/plain', 'x')),
    ),
  ],
  [
    'parts as deep as they go',
    Array.from({ length: 2_000 }).reduce<string>((inner, _, depth) => multipart('mixed', `b${depth}`, [inner]), html('<p>')),
  ],
  ['a boundary everywhere', part('multipart/mixed; boundary=b', '--b\r\n'.repeat(500_000))],
  ['beginnings of boundaries', part('multipart/mixed; boundary=b', '\r\n--bx'.repeat(400_000))],
  ['parameters without end', part(`multipart/mixed${'; a="\\\\"'.repeat(20_000)}`, 'x')],
])('%s are read quickly', (_, message) => {
  expect(bodiesIn(all + message).length).toBeLessThan(2)
})
