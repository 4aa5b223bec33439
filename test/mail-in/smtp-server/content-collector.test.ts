import fc from 'fast-check'
import { expect, test } from 'vitest'
import { chunkSize } from '../../../src/mail/message/content.ts'
import { ContentCollector } from '../../../src/mail-in/smtp-server/content-collector.ts'
import { cases } from '../../support/cases.ts'

/** What an index says about every byte, so that a misplaced one is seen. */
function patterned(length: number): Buffer {
  const bytes = Buffer.alloc(length)
  for (let i = 0; i < length; i++) bytes[i] = i * 31 + (i >> 8) * 7
  return bytes
}

async function collect(message: Buffer, pieceSize: number) {
  const stored = new Map<number, Uint8Array>()
  const collector = new ContentCollector(async (first, chunks) => chunks.forEach((bytes, place) => stored.set(first + place, bytes)))
  for (let at = 0; at < message.length; at += pieceSize) {
    collector.add(message.subarray(at, at + pieceSize))
    if (collector.isFull) await collector.spill()
  }
  return { stored, content: collector.finish() }
}

test('what is stored and what is pending make up the message, chunk by chunk', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(fc.integer({ min: 0, max: 3 * chunkSize }), fc.constantFrom(chunkSize, 5 * chunkSize, 5 * chunkSize + 1, 11 * chunkSize)),
      fc.integer({ min: 1_000, max: 2 * chunkSize }),
      async (length, pieceSize) => {
        const message = patterned(length)
        const { stored, content } = await collect(message, pieceSize)
        const chunks = [...[...stored.entries()].toSorted(([a], [b]) => a - b).map(([, bytes]) => bytes), ...content.pending]
        expect(content.size).toBe(length)
        expect(content.stored).toBe(stored.size)
        expect([...stored.keys()].toSorted((a, b) => a - b)).toEqual([...stored.keys()].map((_, i) => i))
        for (const chunk of chunks.slice(0, -1)) expect(chunk.length).toBe(chunkSize)
        for (const chunk of chunks) expect(chunk.buffer).toBeInstanceOf(SharedArrayBuffer)
        expect(Buffer.concat(chunks).equals(message)).toBe(true)
      },
    ),
    { numRuns: cases(30) },
  )
})

test('a small message is one chunk of its own size and stores nothing', async () => {
  const { stored, content } = await collect(patterned(2_000), 700)
  expect(stored.size).toBe(0)
  expect(content.pending.map((chunk) => chunk.buffer.byteLength)).toEqual([2_000])
})

test('chunks that cannot be stored are told of', async () => {
  const collector = new ContentCollector(() => Promise.reject(new Error('full')))
  collector.add(patterned(5 * chunkSize))
  await expect(collector.spill()).rejects.toThrow('full')
})

test('without a store it all stays in memory', async () => {
  const collector = new ContentCollector(null)
  collector.add(patterned(20 * chunkSize))
  expect(collector.isFull).toBe(false)
  expect(collector.finish()).toMatchObject({ size: 20 * chunkSize, stored: 0, pending: { length: 20 } })
})
