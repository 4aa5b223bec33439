import fc from 'fast-check'
import { expect, test } from 'vitest'
import { inSevenBits } from '../../../src/mail/message/seven-bit.ts'
import { decodeTransfer, hasShortLines, transferEncodingOf } from '../../../src/mail/message/transfer-encoding.ts'
import { childrenOf, entityAt, maxParts, valueOf } from '../../../src/mail/message/mime-structure.ts'
import { anyCharacter } from '../../support/any-character.ts'

const carried = (text: string | Buffer, bodyType: '7bit' | '8bitmime' = '8bitmime') => {
  const { content, bodyType: now } = inSevenBits({ content: Buffer.from(text as string), bodyType })
  return { content: Buffer.from(content), text: Buffer.from(content).toString('latin1'), bodyType: now }
}

test('any body decodes to the bytes that were given, in lines that hosts take', () => {
  const line = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 40 }),
    fc.integer({ min: 980, max: 1100 }).map((size) => 'x'.repeat(size)),
    fc.constantFrom('', '.', '--b', ' ', 'a \t'),
  )
  const property = fc.property(fc.array(line), fc.constantFrom('', '\r\n'), (lines, last) => {
    const body = Buffer.from(lines.map((each) => each.replace(/[\r\n\0]/g, '')).join('\r\n') + last)
    const { content, bodyType } = carried(Buffer.concat([Buffer.from('Subject: s\r\n\r\n'), body]))
    const entity = entityAt(content, { start: 0, end: content.length })
    const encoding = transferEncodingOf(valueOf(entity?.fields ?? [], 'content-transfer-encoding'))
    const decoded = decodeTransfer(content.subarray(entity?.bodyStart), encoding ?? '7bit')
    // A message ends with a line end.
    const isEqual = decoded.equals(body) || decoded.equals(Buffer.concat([body, Buffer.from('\r\n')]))
    return isEqual && hasShortLines(content) && bodyType === '7bit' && !/[^\0-\x7f]/.test(content.toString('latin1'))
  })
  fc.assert(property)
})

test.each([
  ['7bit', 'plain'],
  ['8bit', 'für'],
])('a long header field of a part with a %s body is folded', (encoding, body) => {
  const names = Array.from({ length: 60 }, (_, place) => `name*${place}="a long name; part ${place}"`)
  const field = `Content-Disposition: attachment;${names.join(';')}`
  const part = [field, 'X-Word: y', `Content-Transfer-Encoding: ${encoding}`, '', body]
  const message = ['Content-Type: multipart/mixed; boundary=b', '', '--b', ...part, '--b', '', 'second', '--b--', ''].join('\r\n')
  const { content, text, bodyType } = carried(message, encoding === '7bit' ? '7bit' : '8bitmime')
  expect(bodyType).toBe('7bit')
  expect(hasShortLines(content)).toBe(true)
  const whole = entityAt(content, { start: 0, end: content.length })
  const [first, second] = whole ? [...childrenOf(content, whole)] : []
  expect(valueOf(first?.fields ?? [], 'content-disposition')?.replaceAll('; name', ';name')).toBe(
    field.slice('Content-Disposition: '.length),
  )
  expect(valueOf(first?.fields ?? [], 'x-word')).toBe('y')
  expect(text.slice(second?.bodyStart, second?.end)).toBe('second')
})

test.each([
  ['base64 in one line', 'base64', Buffer.alloc(2000, 'ab').toString('base64'), 'base64'],
  ['quoted-printable in one line', 'quoted-printable', `${'=C3=BC'.repeat(300)}`, 'quoted-printable'],
  ['quoted-printable with raw bytes', 'quoted-printable', 'für =3D', 'quoted-printable'],
  ['8bit of mostly other letters', '8bit', 'Здравствуйте', 'base64'],
  ['binary', 'binary', 'für alle Tage', 'quoted-printable'],
])('%s', (_, encoding, body, wanted) => {
  const { content, text } = carried(
    `MIME-Version: 1.0\r\nContent-Transfer-Encoding: ${encoding}\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n${body}\r\n`,
  )
  expect(text).toMatch(/^MIME-Version: 1\.0\r\n/)
  expect(text).toContain(`Content-Transfer-Encoding: ${wanted}\r\n`)
  const encoded = content.subarray(content.indexOf('\r\n\r\n') + 4)
  expect(
    decodeTransfer(encoded, wanted as 'base64')
      .toString()
      .trimEnd(),
  ).toBe(decodeTransfer(Buffer.from(body), encoding as 'base64').toString())
  expect(Math.max(...text.split('\r\n').map(({ length }) => length))).toBeLessThan(100)
})

test.each([
  ['what is in order', 'Subject: s\r\n\r\nx\r\n', '7bit'],
  ['an unknown encoding', 'Content-Transfer-Encoding: x-uue\r\n\r\nfür\r\n', '8bitmime'],
  ['base64 that readers would decode differently', `Content-Transfer-Encoding: base64\r\n\r\nZm9v!ü\r\n`, '8bitmime'],
  ['a multipart without a boundary', 'Content-Type: multipart/mixed\r\n\r\nfür\r\n', '8bitmime'],
  ['a multipart whose boundary does not occur', 'Content-Type: multipart/mixed; boundary=b\r\n\r\nfür\r\n', '8bitmime'],
  ['a part of a message', 'Content-Type: message/partial; number=1; total=2; id=x\r\n\r\nfür\r\n', '8bitmime'],
  ['a signed message', 'DKIM-Signature: v=1\r\n\r\nfür\r\n', '8bitmime'],
  ['a message that ARC has sealed', 'ARC-Message-Signature: i=1\r\n\r\nfür\r\n', '8bitmime'],
  ['a digest', 'Content-Type: multipart/digest; boundary=b\r\n\r\n--b\r\n\r\nFrom: x@y.example\r\n\r\nfür\r\n--b--\r\n', '8bitmime'],
  ['an encrypted message', 'Content-Type: application/pkcs7-mime\r\nContent-Transfer-Encoding: binary\r\n\r\nfür\r\n', '8bitmime'],
  ['a forwarded message that came signed', 'Content-Type: message/rfc822\r\n\r\nDKIM-Signature: v=1\r\n\r\nfür\r\n', '8bitmime'],
  ['a header that cannot be read', 'Subject : s\r\n\r\nfür\r\n', '8bitmime'],
] as const)('%s stays as it is', (_, message, bodyType) => {
  const { text, bodyType: now } = carried(message, bodyType)
  expect(text).toBe(Buffer.from(message).toString('latin1'))
  expect(now).toBe(bodyType)
})

test('a multipart’s declared encoding is updated once all its parts could be encoded', () => {
  const message = (inner: string): string =>
    `Content-Type: multipart/mixed; boundary=b\r\nContent-Transfer-Encoding: 8bit\r\n\r\n--b\r\n\r\nfür alle Tage\r\n--b\r\n${inner}\r\n--b--\r\n`
  expect(carried(message('\r\nzwei')).text).toBe(
    'Content-Type: multipart/mixed; boundary=b\r\nContent-Transfer-Encoding: 7bit\r\n\r\n--b\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nf=C3=BCr alle Tage\r\n--b\r\n\r\nzwei\r\n--b--\r\n',
  )
  const left = carried(message('Content-Type: multipart/signed; boundary=c\r\n\r\nfür'))
  expect(left.text).toContain('Content-Transfer-Encoding: 8bit\r\n\r\n--b\r\nContent-Transfer-Encoding: quoted-printable')
  expect(left.bodyType).toBe('8bitmime')
})

test('what is nested too deep or has too many parts is left as far as that, and none of it takes long', () => {
  const size = 8 * 1024 * 1024
  const deep = Array.from({ length: 2000 }, (_, level) => `Content-Type: multipart/mixed; boundary=b${level}\r\n\r\n--b${level}\r\n`).join(
    '',
  )
  const many = `Content-Type: multipart/mixed; boundary=b\r\n\r\n${'--b\r\n\r\nü\r\n'.repeat(size / 10)}`
  const messages = [`${deep}ü`, many, `S: s\r\n\r\n${'ü'.repeat(size / 2)}`, `S: s\r\n\r\n${'\r\n'.repeat(size / 2)}ü`]
  expect(messages.map((message) => carried(message).bodyType)).toEqual(['8bitmime', '8bitmime', '7bit', '7bit'])
})

test('of parts that are empty no more are looked at than of others', () => {
  const message = Buffer.from(`Content-Type: multipart/mixed; boundary=b\r\n\r\n${'--b\r\n'.repeat(maxParts * 2)}\r\nfür\r\n--b--\r\n`)
  const whole = entityAt(message, { start: 0, end: message.length })
  expect([...childrenOf(message, whole as never)].length).toBeLessThanOrEqual(maxParts)
  expect(carried(message).bodyType).toBe('8bitmime')
})

test.each([
  ['before its parts', 'für\r\n--b\r\n\r\nzwei\r\n--b--\r\n'],
  ['behind its parts', '--b\r\n\r\nzwei\r\n--b--\r\nfür\r\n'],
  ['in a part whose header cannot be read', '--b\r\n\r\nzwei\r\n--b\r\nNo : field\r\n\r\nfür\r\n--b--\r\n'],
])('a multipart with raw bytes %s is not said to be 7 bits', (_, body) => {
  const { text, bodyType } = carried(`Content-Type: multipart/mixed; boundary=b\r\nContent-Transfer-Encoding: 8bit\r\n\r\n${body}`)
  expect(bodyType).toBe('8bitmime')
  expect(text).toContain('Content-Transfer-Encoding: 8bit')
})
