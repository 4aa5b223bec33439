import fc from 'fast-check'
import { expect, test } from 'vitest'
import { JsonEntries } from '../../../src/mail/suppression/json-entries.ts'
import { cases } from '../../support/cases.ts'

function entriesIn(text: string, pieceLength = text.length): unknown[] {
  const entries = new JsonEntries()
  const found = []
  for (let i = 0; i < text.length; i += pieceLength) found.push(...entries.add(text.slice(i, i + pieceLength)))
  entries.end()
  return found.map((entry) => JSON.parse(entry.text))
}

/** What services write: any values, one of which is never empty, in any of the forms. */
const entry = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { minKeys: 1, maxKeys: 4 })
const form = fc.constantFrom<(entries: unknown[], indent?: number) => string>(
  (entries, indent) => JSON.stringify(entries, null, indent),
  (entries, indent) => JSON.stringify({ object: 'list', data: entries, next: '}]"' }, null, indent),
)

test('finds the entries of any document, however it is split', () => {
  fc.assert(
    fc.property(
      fc.array(entry, { minLength: 1, maxLength: 5 }),
      form,
      fc.nat(2),
      fc.integer({ min: 1, max: 50 }),
      (entries, write, indent, length) => {
        const text = write(entries, indent)
        expect(entriesIn(text, length)).toEqual(JSON.parse(JSON.stringify(entries)))
      },
    ),
    { numRuns: cases(500) },
  )
})

test.each([
  [
    'lines',
    '{"email":"a@b.example","tags":["x"]}\n{"email":"c@d.example"}\n',
    [{ email: 'a@b.example', tags: ['x'] }, { email: 'c@d.example' }],
  ],
  ['addresses', '["a@b.example",\n "c\\"@d.example"]', ['a@b.example', 'c"@d.example']],
  ['pages one after the other', '{"items":[{"a":1}]}\n{"items":[{"a":2}]}', [{ a: 1 }, { a: 2 }]],
  ['nothing', '[]', []],
])('%s', (_, text, found) => {
  expect(entriesIn(text)).toEqual(found)
  expect(entriesIn(text, 1)).toEqual(found)
})

test('an entry knows its line', () => {
  const entries = new JsonEntries()
  expect(entries.add('[\n{"a":"\n"},\n\n{"a":\n2}]').map(({ line }) => line)).toEqual([2, 5])
})

test.each(['[{"a":1}', '{"a":"', '[}', ']'])('%s is refused', (text) => {
  expect(() => entriesIn(text)).toThrow()
})

test('refuses deeper nesting than in any export', () => {
  expect(entriesIn(`[{"a":${'['.repeat(900)}${']'.repeat(900)}}]`)).toHaveLength(1)
  expect(() => entriesIn('['.repeat(1_001))).toThrow('nested too deep')
})

test('refuses anything longer than an entry, unless it contains the entries', () => {
  const long = 'x'.repeat(70_000)
  expect(entriesIn(JSON.stringify({ note: long, data: [{ a: 1 }] }))).toEqual([{ a: 1 }])
  expect(() => entriesIn(JSON.stringify([{ note: long }]), 1000)).toThrow('too long')
})
