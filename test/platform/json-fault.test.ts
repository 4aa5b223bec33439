import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonFault } from '../../src/platform/json-fault.ts'
import { cases } from '../support/cases.ts'

const examples: [text: string, line: number, column: number, isCutOff: boolean][] = [
  ['', 1, 1, true],
  ['{"a":', 1, 6, true],
  ['{"a": 1,}', 1, 9, false],
  ['{"a": 1\n "b": 2}', 2, 2, false],
  ["{'a': 1}", 1, 2, false],
  ['{a: 1}', 1, 2, false],
  ['{"a":NaN}', 1, 6, false],
  ['{"a":nul', 1, 9, true],
  ['{"a":01}', 1, 6, false],
  ['{"a":1.}', 1, 6, false],
  ['[1,2', 1, 5, true],
  ['[1,]', 1, 4, false],
  ['[}', 1, 2, false],
  ['{"a":[1}', 1, 8, false],
  ['{}{}', 1, 3, false],
  ['{"a":"line\nbreak"}', 1, 11, false],
  ['{\n\r\n"a":"\\x"}', 3, 6, false],
  ['{"a":"half', 1, 11, true],
  ['{"a":"\\u00', 1, 11, true],
  ['\ufeff{}', 1, 1, false],
]

test.each(examples)('%j breaks off in line %i, column %i', (text, line, column, isCutOff) => {
  expect(jsonFault(text)).toEqual({ line, column, isCutOff })
})

test('it finds no fault in JSON, and one in everything that the parser refuses', () => {
  const isJson = (text: string): boolean => {
    try {
      JSON.parse(text)
      return true
    } catch {
      return false
    }
  }
  const damaged = fc
    .tuple(
      fc.json(),
      fc.nat(),
      fc.string({ unit: fc.constantFrom('"', '\\', '{', ']', ',', ':', '-', '0', '.', 'e', 'n', '\n'), maxLength: 2 }),
    )
    .map(([text, at, piece]) => text.slice(0, at % (text.length + 1)) + piece + text.slice((at % (text.length + 1)) + 1))
  fc.assert(
    fc.property(fc.oneof(fc.json(), damaged), (text) => (jsonFault(text) === null) === isJson(text)),
    { numRuns: cases(3000) },
  )
})

test('a text of 30 MiB takes little time, in whatever it is cut off', () => {
  for (const text of [
    `{"a":"${'\\n'.repeat(15_000_000)}`,
    `{"a":"${'a\\n'.repeat(10_000_000)}`,
    `{"a":"${'x'.repeat(30_000_000)}`,
    `${'['.repeat(1_000_000)}`,
  ]) {
    expect(jsonFault(text)).toMatchObject({ column: text.length + 1, isCutOff: true })
  }
})
