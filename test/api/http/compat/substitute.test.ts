import fc from 'fast-check'
import { expect, test } from 'vitest'
import { substitute } from '../../../../src/api/http/compat/substitute.ts'

test.each<[text: string, values: Record<string, string>, result: string]>([
  ['a b a', { a: 'b', b: 'a' }, 'b a b'],
  ['-name-', { '-name-': '$&$1' }, '$&$1'],
  ['abc', { a: '1', ab: '2' }, '2c'],
  ['[x](y).*', { '[x](y)': 'z', '.*': '!' }, 'z!'],
  ['nothing', { '': 'x' }, 'nothing'],
])('%s with %o is %s', (text, values, result) => {
  expect(substitute(text, new Map(Object.entries(values)))).toBe(result)
})

test('a result that is too long is not made', () => {
  expect(substitute('a'.repeat(1000), new Map([['a', 'b'.repeat(10_000)]]))).toBeNull()
})

test('one key is replaced as by a split and a join', () => {
  fc.assert(
    fc.property(fc.string(), fc.string({ minLength: 1, maxLength: 3 }), fc.string(), (text, key, value) => {
      expect(substitute(text, new Map([[key, value]]))).toBe(text.split(key).join(value))
    }),
  )
})
