import fc from 'fast-check'
import { SMTPStream } from 'smtp-server/lib/smtp-stream.js'
import { expect, test } from 'vitest'
import { mended } from '../../../src/mail-in/smtp-server/data-parser.ts'

/** What a parser makes of a message that arrives in pieces, and what it takes for the commands behind it. */
async function parsed(parser: SMTPStream, pieces: Buffer[]): Promise<{ content: string; commands: string[] }> {
  const commands: string[] = []
  parser.oncommand = (command: Buffer, callback?: () => void) => {
    commands.push(command.toString('latin1'))
    callback?.()
  }
  const content: Buffer[] = []
  const stream = parser.startDataMode(10_000_000)
  const ended = new Promise<void>((resolve) => stream.on('end', () => resolve()))
  stream.on('data', (bytes: Buffer) => content.push(bytes))
  for (const piece of pieces) parser.write(piece)
  await ended
  parser.continue()
  await new Promise<void>((resolve) => parser.end(resolve))
  return { content: Buffer.concat(content).toString('latin1'), commands }
}

const line = fc.oneof(
  fc.constantFrom('', '.', '..', '.x', 'x.', '...', '\r', '.\r'),
  fc.integer({ min: 1, max: 3000 }).map((length) => 'a. '.repeat(length).slice(0, length)),
)

test('a message in any pieces is read as the library reads it whole, dots and all', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(line, { maxLength: 30 }),
      fc.array(fc.integer({ min: 1, max: 6000 }), { minLength: 1 }),
      async (lines, sizes) => {
        const body = lines.map((text) => (text.startsWith('.') ? `.${text}` : text)).join('\r\n')
        const bytes = Buffer.from(`${body}\r\n.\r\nRSET\r\nNOOP\r\n`)
        const pieces: Buffer[] = []
        for (let at = 0, i = 0; at < bytes.length; i++) pieces.push(bytes.subarray(at, (at += sizes[i % sizes.length] ?? 1)))
        const ours = await parsed(mended(new SMTPStream()), pieces)
        expect(ours).toEqual({ content: `${lines.join('\r\n')}\r\n`, commands: ['RSET', 'NOOP'] })
      },
    ),
  )
})
