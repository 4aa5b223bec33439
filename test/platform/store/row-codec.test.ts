import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodedRows, pieceBytes, RowEncoder, type ExactValue } from '../../../src/platform/store/row-codec.ts'
import { anyCharacter } from '../../support/any-character.ts'
import { cases } from '../../support/cases.ts'

const columns = [
  { name: 'id', type: 'text' },
  { name: 'at', type: 'bigint' },
  { name: 'bytes', type: 'blob' },
] as const
const types = columns.map(({ type }) => type)

/** The rows of all pieces that an encoder gives on. */
function throughPieces(rows: readonly ExactValue[][]): { back: ExactValue[][]; counts: number[] } {
  const encoder = new RowEncoder(columns)
  const [back, counts]: [ExactValue[][], number[]] = [[], []]
  const take = (): void => {
    const piece = encoder.take()
    counts.push(piece.count)
    // Bytes are those of the piece, whose memory is used again.
    for (const row of decodedRows(piece, types)) back.push(row.map((value) => (value instanceof Uint8Array ? Buffer.from(value) : value)))
  }
  for (const row of rows) {
    encoder.add(row)
    if (encoder.isFull) take()
  }
  take()
  return { back, counts }
}

/** Without a look at each byte of an array, which takes long. */
const isSame = (one: ExactValue[], other: ExactValue[]): boolean =>
  one.every((value, place) => {
    const found = other[place]
    return value instanceof Uint8Array ? found instanceof Uint8Array && Buffer.compare(value, found) === 0 : value === found
  })

test('rows come out of their pieces as they went in, whatever they hold', () => {
  const text = fc.string({ unit: anyCharacter }).map((value) => value.replaceAll('\0', ''))
  const bytes = fc.oneof(
    fc.uint8Array().map((value) => Buffer.from(value)),
    fc.nat(2 * pieceBytes).map((length) => Buffer.alloc(length, length)),
  )
  const row = fc.tuple(fc.option(text), fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })), fc.option(bytes))
  fc.assert(
    fc.property(fc.array(row, { maxLength: 8 }), (rows) => {
      const { back } = throughPieces(rows)
      expect(back.length).toBe(rows.length)
      rows.forEach((values, place) => expect(isSame(values, back[place] ?? [])).toBe(true))
    }),
    { numRuns: cases(100) },
  )
})

test('a row is never divided, and a piece ends once it is large enough', () => {
  const row: ExactValue[] = ['a', 1n, Buffer.alloc(pieceBytes / 2)]
  expect(throughPieces([row, row, row]).counts).toEqual([2, 1])
})

test('a NUL in a text is replaced, and counted by value', () => {
  const encoder = new RowEncoder(columns)
  encoder.add(['a\0b\0', 0, null])
  encoder.add(['c', 0, null])
  expect([...decodedRows(encoder.take(), types)].map(([id]) => id)).toEqual(['a\ufffdb\ufffd', 'c'])
  expect(encoder.replaced).toBe(1)
})

test.each([
  [['a', 1.5, null], 'its column at is of the type bigint, and holds a fraction'],
  [['a', '1', null], 'its column at is of the type bigint, and holds text'],
  [[1n, 1n, null], 'its column id is of the type text, and holds a whole number'],
  [['a', 1n, 'b'], 'its column bytes is of the type blob, and holds text'],
] as [ExactValue[], string][])('a value that is none of its column is refused: %s', (row, problem) => {
  expect(() => new RowEncoder(columns).add(row)).toThrow(problem)
})
