import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { csvText, guardOf } from '../../../src/api/operation/csv.ts'

test.each(['false', 'true'])('every text comes back from a parser of RFC 4180; with spreadsheet=%s', (spreadsheet) => {
  const text = fc.oneof(
    fc.string(),
    fc.string({ unit: fc.constantFrom('=', '+', '-', '@', '\t', '\r', '\n', '"', ',', ';', "'", ' ', 'a') }),
  )
  fc.assert(
    fc.property(fc.array(fc.record({ a: text, b: text }), { minLength: 1 }), (rows) => {
      const written = csvText({ name: 'x', columns: ['a', 'b'], rows }, guardOf({ spreadsheet }))
      const [head, ...lines] = parse(written, { recordDelimiter: '\r\n' }) as string[][]
      expect(head).toEqual(['a', 'b'])
      for (const [place, cells] of lines.entries()) {
        const { a, b } = rows[place]!
        for (const [cell, text] of [
          [cells[0]!, a],
          [cells[1]!, b],
        ] as const) {
          if (spreadsheet === 'false') {
            expect(cell).toBe(text)
            continue
          }
          expect([text, `'${text}`]).toContain(cell)
          expect(cell).not.toMatch(/^[=+\-@\t\r\n]/)
        }
      }
      expect(lines).toHaveLength(rows.length)
    }),
  )
})

test('numbers stay numbers, and what is not there is empty', () => {
  expect(csvText({ name: 'x', columns: ['a', 'b', 'c'], rows: [{ a: 1.5, b: null }] })).toBe('a,b,c\r\n1.5,,\r\n')
})
