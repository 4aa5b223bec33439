import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { scanInLoop, simdScan, type ScanBytes } from '../../../src/platform/smtp/scan-bytes.ts'
import { cases } from '../../support/cases.ts'

/** Null would say that this machine has no SIMD for WebAssembly; none that Node runs on is like that. */
const simd = simdScan() as ScanBytes
const odd = { odd: true, loose: false }
const loose = { odd: false, loose: true }
const shared = (text: string): Uint8Array => {
  const bytes = new Uint8Array(new SharedArrayBuffer(text.length))
  bytes.set(Buffer.from(text, 'latin1'))
  return bytes
}

test.each([
  ['', -1, -1],
  ['a b\r\n\r\nc', -1, -1],
  ['a\nb', 1, -1],
  ['a\rb', 2, -1],
  ['a\r\r\n', 2, -1],
  ['a\r', 2, -1],
  ['\n', 0, -1],
  ['a\0', 1, -1],
  ['a\tb', -1, 1],
  ['a  b', -1, 1],
  ['a \r\nb', -1, 1],
  ['a \tb', -1, 1],
  ['a ', -1, -1],
  [`${'x'.repeat(15)}\r\n${'x'.repeat(14)}\r`, 32, -1],
  [`${'x'.repeat(65_535)}\r\n${'x'.repeat(65_534)} \t`, -1, 131_071],
  [`${'x'.repeat(65_535)}\r${'x'.repeat(65_535)}\0`, 65_536, -1],
  [`${'x'.repeat(65_536)}\n`, 65_536, -1],
])('%#: what is odd and what is loose, with SIMD and in a loop', (text, firstOdd, firstLoose) => {
  for (const scan of [simd, scanInLoop]) {
    expect(scan(shared(text), odd)).toBe(firstOdd)
    expect(scan(shared(text), loose)).toBe(firstLoose)
  }
})

const part = fc.oneof(
  fc.constantFrom('\r\n', '\r', '\n', '\0', '\t', ' ', '  ', ' \r\n', 'a', '\x80', '\xff'),
  fc.integer({ min: 1, max: 40 }).map((length) => 'x '.repeat(length).slice(0, length)),
  fc.constantFrom(65_520, 65_535, 65_536).map((length) => 'y'.repeat(length)),
)

test('SIMD finds what the loop finds, in any range', () => {
  fc.assert(
    fc.property(
      fc.array(part, { maxLength: 30 }),
      fc.record({ odd: fc.boolean(), loose: fc.boolean() }),
      fc.nat(),
      fc.nat(),
      fc.boolean(),
      (parts, wanted, from, length, followsCr) => {
        const bytes = shared(parts.join(''))
        const range = { from: from % (bytes.length + 1), to: 0, followsCr }
        range.to = range.from + (length % (bytes.length - range.from + 1))
        expect(simd(bytes, wanted, range)).toBe(scanInLoop(bytes, wanted, range))
        expect(simd(bytes, wanted)).toBe(scanInLoop(bytes, wanted))
      },
    ),
    { numRuns: cases(1000) },
  )
})

test('the loop finds what a pattern finds', () => {
  fc.assert(
    fc.property(fc.array(part, { maxLength: 30 }), (parts) => {
      const text = parts.join('')
      const isOdd = /\r(?!\n)|(?<!\r)\n|\0/.exec(text)
      expect(scanInLoop(shared(text), odd)).toBe(isOdd === null ? -1 : isOdd.index + (isOdd[0] === '\r' ? 1 : 0))
      expect(scanInLoop(shared(text), loose)).toBe(text.search(/\t| (?=[ \t\r])/))
    }),
    { numRuns: cases(500) },
  )
})

test('where there is no WebAssembly, nothing is thrown', () => {
  vi.stubGlobal('WebAssembly', undefined)
  expect(simdScan()).toBeNull()
  vi.unstubAllGlobals()
})
