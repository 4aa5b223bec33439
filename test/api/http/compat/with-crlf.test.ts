import fc from 'fast-check'
import { expect, test } from 'vitest'
import { withCrlf } from '../../../../src/api/http/compat/with-crlf.ts'

const changed = (text: string): string => Buffer.concat([...withCrlf(Buffer.from(text, 'latin1'))]).toString('latin1')

test('a lone LF becomes CRLF, whatever stands around it and wherever a piece ends', () => {
  const line = fc.constantFrom('\r\n', '\n', '\r', 'a', 'b\n', '\r\r\n')
  fc.assert(
    fc.property(fc.array(line), fc.integer({ min: 65_530, max: 65_540 }), (lines, before) => {
      const text = 'x'.repeat(before) + lines.join('')
      expect(changed(text)).toBe(text.replace(/(?<!\r)\n/g, '\r\n'))
    }),
  )
})
