import fc from 'fast-check'
import { expect, test } from 'vitest'
import { JsonShape } from '../../src/platform/json-shape.ts'

/** What is said of the text when it arrives in pieces of this size. */
function faultOf(text: string, pieceSize = 7, listsBytes = false): string | null {
  const shape = new JsonShape({ listsBytes })
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += pieceSize) {
    const fault = shape.add(bytes.subarray(at, at + pieceSize))
    if (fault !== null) return fault
  }
  return null
}

test('allows nesting up to 64 levels, however it is split', () => {
  for (const pieceSize of [1, 2, 3, 64, 1000]) {
    expect(faultOf('['.repeat(64) + ']'.repeat(64), pieceSize)).toBeNull()
    expect(faultOf('['.repeat(65), pieceSize)).toMatch(/64 levels/)
    expect(faultOf('{"a":'.repeat(65), pieceSize)).toMatch(/64 levels/)
  }
})

test('limits the number of values, but not the length of strings', () => {
  expect(faultOf(`[${'0,'.repeat(49_000)}0]`, 4096)).toBeNull()
  expect(faultOf(`[${'0,'.repeat(51_000)}0]`, 4096)).toMatch(/50000 values/)
  expect(faultOf(`{${'"a":1,'.repeat(26_000)}"a":1}`, 4096)).toMatch(/50000 values/)
  expect(faultOf(`["${'[,:{'.repeat(100_000)}"]`, 4096)).toBeNull()
})

test('if files may be lists of bytes, these do not count, however they are split and spaced', () => {
  for (const pieceSize of [1, 3, 4096]) {
    expect(faultOf(`{"data":[${'0, 255,\n7,'.repeat(20_000)}1]}`, pieceSize, true)).toBeNull()
    expect(faultOf(`[${'0,'.repeat(51_000)}0]`, pieceSize)).toMatch(/50000 values/)
  }
})

test.each(['1000', '-1', '0.5', '1e5', 'null', '"1"', '{"a":1}', '[1]', ''])('in a list, %s is no byte', (value) => {
  expect(faultOf(`[${`${value},`.repeat(51_000)}0]`, 4096, true)).toMatch(/50000 values/)
})

test('the members of an object count, even if they are bytes', () => {
  expect(faultOf(`{${'"a":1,'.repeat(26_000)}"a":1}`, 4096, true)).toMatch(/50000 values/)
})

test('the content of strings does not count, however it is escaped and split', () => {
  const brackets = '['.repeat(70)
  const text = fc.array(fc.constantFrom('"', '\\', '[', '{', ',', 'é', '\n', brackets), { maxLength: 30 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(fc.array(text), fc.integer({ min: 1, max: 9 }), (strings, pieceSize) => {
      expect(faultOf(JSON.stringify(strings), pieceSize)).toBeNull()
      // It is seen that the strings have ended.
      expect(faultOf(JSON.stringify(strings) + brackets, pieceSize)).toMatch(/64 levels/)
    }),
  )
})

test('other documents have limits of their own', () => {
  const shape = new JsonShape({ deepest: 2, maxValues: 3 })
  expect(shape.add(Buffer.from('[[1,'))).toBeNull()
  expect(shape.add(Buffer.from('['))).toMatch(/2 levels/)
})
