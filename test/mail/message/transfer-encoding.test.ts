import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeTransfer, encodeTransfer, transferEncodingOf } from '../../../src/mail/message/transfer-encoding.ts'
import { cases } from '../../support/cases.ts'

test.each([
  [undefined, '7bit'],
  [' Quoted-Printable ', 'quoted-printable'],
  ['BASE64', 'base64'],
  ['x-uuencode', null],
])('the encoding %j is %s', (value, encoding) => {
  expect(transferEncodingOf(value)).toBe(encoding)
})

const content = fc.oneof(
  fc.uint8Array({ maxLength: 400 }),
  fc
    .array(fc.constantFrom('a', '-', ' ', '\t', '=', '\r\n', '\r', '\n', 'é', '.', 'long '.repeat(30)), { maxLength: 60 })
    .map((parts) => Buffer.from(parts.join(''))),
)

test.each(['base64', 'quoted-printable'] as const)('%s gives the same bytes back, in lines that every host takes', (encoding) => {
  fc.assert(
    fc.property(content, (given) => {
      const encoded = encodeTransfer(Buffer.from(given), encoding)
      expect(encoded.encoding).toBe(encoding)
      const text = encoded.bytes.toString('latin1')
      expect(text).toMatch(/^[\t\r\n\x20-\x7e]*$/)
      if (encoding === 'quoted-printable') expect(text).not.toMatch(/^-|\n-/)
      for (const line of text.split('\r\n')) {
        expect(line.length).toBeLessThanOrEqual(76)
        expect(line).not.toMatch(/[\r\n]|[ \t]$/)
      }
      expect(decodeTransfer(encoded.bytes, encoding).equals(given)).toBe(true)
    }),
    { numRuns: cases(2_000) },
  )
})

test.each([
  ['a=3D=\r\nb', 'a=b'],
  ['a =20 \t\r\nb', 'a  \r\nb'],
  ['soft=  \r\nbreak', 'softbreak'],
  ['lower=c3=a9', 'lowerÃ©'],
  ['not =zz, =4, = and =', 'not =zz, =4, = and '],
  ['bare=\nline', 'bareline'],
])('quoted-printable of others is read as mail programs read it: %j', (given, expected) => {
  expect(decodeTransfer(Buffer.from(given, 'latin1'), 'quoted-printable').toString('latin1')).toBe(expected)
})

test('lines that 7bit cannot carry are written in quoted-printable', () => {
  const [short, long] = [Buffer.from(`${'x'.repeat(998)}\r\nend`), Buffer.from(`${'x'.repeat(999)}\r\nend`)]
  expect(encodeTransfer(short, '7bit')).toEqual({ encoding: '7bit', bytes: short })
  const encoded = encodeTransfer(long, '8bit')
  expect(encoded.encoding).toBe('quoted-printable')
  expect(decodeTransfer(encoded.bytes, 'quoted-printable')).toEqual(long)
})
