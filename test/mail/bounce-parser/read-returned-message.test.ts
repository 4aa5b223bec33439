import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readReturnedMessage } from '../../../src/mail/bounce-parser/read-returned-message.ts'
import { bounceVocabulary } from '../../../src/mail/bounce-vocabulary.ts'

const read = (...lines: (string | Buffer)[]) =>
  readReturnedMessage(Buffer.concat(lines.map((line) => Buffer.concat([Buffer.from(line), Buffer.from('\r\n')]))), bounceVocabulary())

it('decodes the header and lists the parts in order, an attached message as one part', async () => {
  const message = await read(
    'Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=',
    ' again',
    'X-Empty:',
    'Content-Type: multipart/mixed; boundary=a',
    '',
    'preamble',
    '--a',
    'Content-Type: multipart/alternative; boundary=b',
    '',
    '--b',
    '',
    'first',
    '--b',
    'Content-Type: TEXT/HTML; charset=utf-8',
    '',
    '<b>second</b>',
    '--b--',
    '--a',
    'Content-Type: message/rfc822',
    'Content-Disposition: inline',
    '',
    'Subject: third',
    'Content-Type: text/plain',
    '',
    'body',
    '--a',
    'Content-Type: text/plain',
    'Content-Disposition: attachment; filename=a.txt',
    'Content-Transfer-Encoding: base64',
    '',
    Buffer.from('fourth').toString('base64'),
    '--a--',
  )
  expect(message.headers).toEqual([
    { name: 'subject', value: 'Grüße again' },
    { name: 'x-empty', value: '' },
    { name: 'content-type', value: 'multipart/mixed; boundary=a' },
  ])
  expect(message.parts).toEqual([
    { contentType: 'text/plain', content: 'first' },
    { contentType: 'text/html', content: 'second' },
    { contentType: 'message/rfc822', content: 'Subject: third\nContent-Type: text/plain\n\nbody' },
    { contentType: 'text/plain', content: 'fourth' },
  ])
})

describe('decodes text in', () => {
  it.each([
    ['us-ascii', Buffer.from('grüße'), 'grüße'],
    ['us-ascii', Buffer.from('grüße', 'latin1'), 'grüße'],
    ['us-ascii', Buffer.concat([Buffer.from('нет\n'), Buffer.from('grüße', 'latin1')]), 'нет\ngrüße'],
    ['utf-8', Buffer.from('grüße', 'latin1'), 'grüße'],
    ['iso-8859-1', Buffer.from('grüße'), 'grüße'],
    ['iso-8859-1', Buffer.from('grüße', 'latin1'), 'grüße'],
    ['iso-8859-2', Buffer.from([0xbf, 0xb9]), 'żš'],
    ['koi8-r', Buffer.from([0xce, 0xc5, 0xd4]), 'нет'],
    ['iso-2022-jp', Buffer.from('\x1b$B$"\x1b(B', 'latin1'), 'あ'],
    ['shift_jis', Buffer.from([0x82, 0xa0]), 'あ'],
    ['gb2312', Buffer.from([0xb2, 0xbb]), '不'],
    ['no-such-charset', Buffer.from('grüße'), 'grüße'],
    ['""', Buffer.from('plain'), 'plain'],
  ])('%s', async (charset, bytes, text) => {
    const { parts } = await read(`Content-Type: text/plain; charset=${charset}`, 'Content-Transfer-Encoding: 8bit', '', bytes)
    expect(parts[0]?.content.trim()).toBe(text)
  })
})

it('limits the number of parts and their size', async () => {
  const { parts } = await read(
    'Content-Type: multipart/mixed; boundary=a',
    '',
    ...Array.from({ length: 200 }, () => '--a\r\n\r\nx'),
    '--a--',
  )
  expect(parts).toHaveLength(64)
  const long = await read('Content-Type: text/plain', '', 'ü'.repeat(1_000_000))
  expect(long.parts[0]?.content).toMatch(/^ü{65536}$/)
})

it('any bytes are a message or an error', async () => {
  const line = fc.oneof(
    fc.string(),
    fc.constantFrom(
      '',
      '--a',
      '--a--',
      'Content-Type: multipart/mixed; boundary=a',
      'Content-Type: message/rfc822',
      'Content-Transfer-Encoding: base64',
      ' x',
      ':',
    ),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 30 }), fc.constantFrom('\n', '\r\n', '\r'), async (lines, end) => {
      const message = await readReturnedMessage(Buffer.from(lines.join(end)), bounceVocabulary())
      expect(message.parts.length).toBeGreaterThan(0)
    }),
  )
})

describe('takes linear time', () => {
  it.each([
    ['a row of CRs that never ends', `Subject: a${'\r'.repeat(1_000_000)}b`],
    ['a field folded into lines without end', `Subject: a\r\n${' b\r\n'.repeat(300_000)} c`],
    ['a line folded without end that is no field', `Subject\r\n${' b\n'.repeat(300_000)} c`],
  ])('also with %s', async (_, header) => {
    expect((await read(header, '', 'body')).parts[0]?.content).toBe('body\n')
  })

  it('also with many spaces within a line', async () => {
    const text = `Content-Transfer-Encoding: quoted-printable\r\n\r\nbefore${' \t'.repeat(500_000)}behind\r\n`
    expect((await readReturnedMessage(Buffer.from(text), bounceVocabulary())).parts[0]?.content).toMatch(/^before\s{32}behind$/m)
  })
})
