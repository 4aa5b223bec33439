import fc from 'fast-check'
import { expect, test } from 'vitest'
import { base32, matchingStep, otpauthUri, totpCode, totpStepAt } from '../../../src/senders/account/totp.ts'

const secret = Buffer.from('12345678901234567890')

test.each([
  [59, '94287082'],
  [1_111_111_109, '07081804'],
  [1_111_111_111, '14050471'],
  [1_234_567_890, '89005924'],
  [2_000_000_000, '69279037'],
  [20_000_000_000, '65353130'],
])('RFC 6238 appendix B: the code at %d s is %s', (seconds, code) => {
  expect(totpCode(secret, totpStepAt(seconds * 1000), 8)).toBe(code)
})

test('RFC 4226 appendix D: the first ten codes', () => {
  const codes = Array.from({ length: 10 }, (_, counter) => totpCode(secret, counter))
  expect(codes.join(' ')).toBe('755224 287082 359152 969429 338314 254676 287922 162583 399871 520489')
})

test('a code is taken a step early or late, and once', () => {
  const now = 1_234_567_890_000
  const step = totpStepAt(now)
  const taken = (offset: number, lastStep = 0) => matchingStep(secret, totpCode(secret, step + offset), { now, lastStep })
  expect([-2, -1, 0, 1, 2].map((offset) => taken(offset))).toEqual([null, step - 1, step, step + 1, null])
  expect([-1, 0, 1].map((offset) => taken(offset, step))).toEqual([null, null, step + 1])
  expect(matchingStep(secret, '', { now, lastStep: 0 })).toBeNull()
})

test.each([
  ['', ''],
  ['f', 'MY'],
  ['fo', 'MZXQ'],
  ['foo', 'MZXW6'],
  ['foob', 'MZXW6YQ'],
  ['fooba', 'MZXW6YTB'],
  ['foobar', 'MZXW6YTBOI'],
])('RFC 4648 section 10: base 32 of "%s"', (text, encoded) => {
  expect(base32(Buffer.from(text))).toBe(encoded)
})

test('base 32 loses no bit', () => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
  const bitsOf = (text: string) => Array.from(text, (digit) => alphabet.indexOf(digit).toString(2).padStart(5, '0')).join('')
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('')
      expect(bitsOf(base32(bytes)).slice(0, bits.length)).toBe(bits)
    }),
  )
})

test('an app reads the secret out of the URI', () => {
  const uri = new URL(otpauthUri(secret, { issuer: 'mail.example.com', email: 'ann+x@example.com' }))
  expect(uri.protocol + uri.host + decodeURIComponent(uri.pathname)).toBe('otpauth:totp/mail.example.com:ann+x@example.com')
  expect(Object.fromEntries(uri.searchParams)).toEqual({
    secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ',
    issuer: 'mail.example.com',
    algorithm: 'SHA1',
    digits: '6',
    period: '30',
  })
})
