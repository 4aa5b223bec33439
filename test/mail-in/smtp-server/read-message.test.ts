import { PassThrough, Readable } from 'node:stream'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ContentCollector } from '../../../src/mail-in/smtp-server/content-collector.ts'
import { ClientGone, readMessage } from '../../../src/mail-in/smtp-server/read-message.ts'
import { SmtpRefusal } from '../../../src/mail-in/smtp-server/smtp-refusal.ts'

/** What becomes of a message that arrives in these pieces: the header section, all of it, or the code of the refusal. */
async function read(pieces: Buffer[], maxMessageBytes = 1_000_000) {
  const stream = new PassThrough()
  const collector = new ContentCollector(async () => {})
  let header = ''
  const done = readMessage(stream, collector, {
    maxMessageBytes,
    completeHeader: (bytes) => {
      header = bytes.toString('latin1')
      return bytes
    },
  })
  for (const piece of pieces) stream.write(piece)
  stream.end()
  try {
    const { hasEightBitBody } = await done
    return { header, message: Buffer.concat(collector.finish().pending).toString('latin1'), hasEightBitBody }
  } catch (error) {
    if (error instanceof SmtpRefusal) return error.reply.enhancedStatus
    throw error
  }
}

const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1')
const bytewise = (text: string): Buffer[] => [...bytesOf(text)].map((byte) => Buffer.of(byte))

test.each([
  ['a: b\r\n\r\nbody\r\n', { header: 'a: b\r\n\r\n', message: 'a: b\r\n\r\nbody\r\n', hasEightBitBody: false }],
  ['a: b\r\n\r\n\xe4\r\n', { header: 'a: b\r\n\r\n', message: 'a: b\r\n\r\n\xe4\r\n', hasEightBitBody: true }],
  ['a: \xe4\r\n\r\nbody', { header: 'a: \xe4\r\n\r\n', message: 'a: \xe4\r\n\r\nbody', hasEightBitBody: false }],
  ['a: b\r\n', { header: 'a: b\r\n\r\n', message: 'a: b\r\n\r\n', hasEightBitBody: false }],
  ['\r\nbody\r\n', { header: '\r\n', message: '\r\nbody\r\n', hasEightBitBody: false }],
  ['\r\n\r\n\r\n', { header: '\r\n', message: '\r\n\r\n\r\n', hasEightBitBody: false }],
  ['', { header: '\r\n', message: '\r\n', hasEightBitBody: false }],
  ['a: b\n\r\nbody\r\n', { header: 'a: b\r\n\r\n', message: 'a: b\r\n\r\nbody\r\n', hasEightBitBody: false }],
  ['a: b\n\n\nbo\n.d\r\ny', { header: 'a: b\r\n\r\n', message: 'a: b\r\n\r\n\r\nbo\r\n.d\r\ny', hasEightBitBody: false }],
  ['\na: b\r\n\r\nbody', { header: '\r\n', message: '\r\na: b\r\n\r\nbody', hasEightBitBody: false }],
  // A dot that was stuffed, with CRLF on both sides.
  ['\n\n\r\n.\r\n', { header: '\r\n', message: '\r\n\r\n\r\n.\r\n', hasEightBitBody: false }],
  ['\r\n.\r\n\n', { header: '\r\n', message: '\r\n.\r\n\r\n', hasEightBitBody: false }],
  ['.\n', '5.6.11'],
  ['a: b\n\n.\n', '5.6.11'],
  ['a: b\n\n.\r\n', '5.6.11'],
  ['a: b\r\n\r\n.\n', '5.6.11'],
  ['a: b\n\nb\ro', '5.6.11'],
  ['a: b\n\nb\0', '5.6.0'],
  ['a: b\r\n\r\nbo\rdy\r\n', '5.6.11'],
  ['a: b\r\n\r\nbody\r\r\n', '5.6.11'],
  ['a: b\r\n\r\nbody\r', '5.6.11'],
])('%j, whole and byte by byte', async (text, expected) => {
  expect(await read([bytesOf(text)])).toEqual(expected)
  expect(await read(bytewise(text))).toEqual(expected)
})

test('how a message is cut into pieces makes no difference', async () => {
  const text = fc.array(fc.constantFrom('\r\n', '\r\n', '\r\n', '\r', '\n', '.', 'a: b', '\xe4', '\0'), { maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(text, fc.array(fc.nat(20)), async (parts, cuts) => {
      const bytes = bytesOf(parts.join(''))
      const places = [...new Set([0, ...cuts.filter((cut) => cut < bytes.length), bytes.length])].toSorted((a, b) => a - b)
      const pieces = places.slice(1).map((end, i) => bytes.subarray(places[i], end))
      expect(await read(pieces)).toEqual(await read([bytes]))
    }),
  )
})

test('a message and a header section above their limits are refused', async () => {
  expect(await read([bytesOf('a: b\r\n\r\n'), bytesOf('x'.repeat(93))], 100)).toBe('5.3.4')
  expect(await read([bytesOf('a: b\r\n\r\n'), bytesOf('x'.repeat(92))], 100)).toMatchObject({ header: 'a: b\r\n\r\n' })
  const field = bytesOf(`a: ${'b'.repeat(995)}\r\n`)
  expect(await read(Array.from({ length: 600 }, () => field))).toBe('5.6.0')
})

test('a client that leaves in the middle is no refusal', async () => {
  const stream = new PassThrough()
  const done = readMessage(stream, new ContentCollector(async () => {}), { maxMessageBytes: 100, completeHeader: (bytes) => bytes })
  stream.write('a: b\r\n')
  stream.destroy(new Error('reset'))
  await expect(done).rejects.toThrow(ClientGone)
})

test('a large message leaves turns to others while it is read, however fast it comes', async () => {
  const stream = Readable.from(
    (function* pieces() {
      yield bytesOf('a: b\r\n\r\n')
      for (let i = 0; i < 64; i++) yield Buffer.alloc(64 * 1024, 'x')
    })(),
  )
  let turns = 0
  let isReading = true
  const take = (): void => {
    turns++
    if (isReading) setImmediate(take)
  }
  take()
  await readMessage(stream, new ContentCollector(async () => {}), { maxMessageBytes: 10_000_000, completeHeader: (bytes) => bytes })
  isReading = false
  expect(turns).toBeGreaterThan(60)
})

test.each([
  [998, false],
  [999, true],
])('a line of %i bytes is told to be too long or not, wherever the pieces end', async (length, hasLongLine) => {
  const message = `a: ${'x'.repeat(2000)}\r\n\r\nshort\r\n${'y'.repeat(length)}\r\nend\r\n`
  for (const size of [1, 7, 500, 999, 1000, 1001, message.length]) {
    const pieces = Array.from({ length: Math.ceil(message.length / size) }, (_, place) =>
      bytesOf(message.slice(place * size, (place + 1) * size)),
    )
    const read = await readMessage(Readable.from(pieces), new ContentCollector(async () => {}), {
      maxMessageBytes: 1_000_000,
      completeHeader: (bytes) => bytes,
    })
    expect(read, `in pieces of ${size}`).toEqual({ hasEightBitBody: false, hasLongLine })
  }
})
