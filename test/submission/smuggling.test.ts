import { expect, test } from 'vitest'
import { startTestSubmissionServer } from '../support/submission-server.ts'

/**
 * What programs have taken for the end of a message though it is not, or for part of it though it is the end
 * (CVE-2023-51764, -51765, -51766).
 */
const sequences = [
  '\n.\n', '\n.\r', '\n.\r\n', '\r.\n', '\r.\r', '\r.\r\n', '\r\n.\n', '\r\n.\r', '\r\n\n.\r\n',
  '\r\n.\r\r\n', '\r\r\n.\r\r\n', '\r\r\n.\r\n', '\r\0\n.\r\n', '\r\n\0.\r\n', '\r\n.\0\r\n',
]
const envelope = (name: string): string => `MAIL FROM:<${name}@example.com>\r\nRCPT TO:<${name}@example.net>\r\nDATA\r\n`
const message = (name: string, body: string): string => `From: ${name}@example.com\r\nSubject: ${name}\r\n\r\n${body}`

const relay = await startTestSubmissionServer()

/** Sends a message with the sequence in it and a second message behind the sequence; `cut` is where the bytes are split. */
async function outcome(sequence: string, place: 'body' | 'header', cut: number | 'bytewise' | null) {
  const client = await relay.login()
  const before = relay.taken.length
  const hidden = envelope('hidden') + message('hidden', 'smuggled')
  const outer =
    place === 'body' ? message('outer', `a${sequence}${hidden}`) : `From: outer@example.com\r\nSubject: outer${sequence}${hidden}`
  const bytes = Buffer.from(`${envelope('outer')}${outer}\r\n.\r\nQUIT\r\n`, 'latin1')
  if (cut === 'bytewise') await client.writeBytewise(bytes)
  else if (cut !== null) await client.writeSplit(bytes, cut)
  else client.write(bytes)
  const codes = (await client.untilClosed()).split('\r\n').filter((line) => line !== '').map((line) => Number(line.slice(0, 3)))
  client.close()
  return { codes: codes.slice(3), taken: relay.taken.slice(before).map(({ subject }) => subject) }
}

/** The places in the bytes around which a cut could make a difference: from a little before the sequence to a little behind. */
function cutsAround(sequence: string): number[] {
  const start = (envelope('outer') + message('outer', 'a')).length
  return Array.from({ length: sequence.length + 8 }, (_, i) => start - 4 + i)
}

test.each(sequences.map((sequence) => [JSON.stringify(sequence), sequence] as const))('%s', async (_, sequence) => {
  const endsMessage = sequence.includes('\r\n.\r\n')
  for (const place of ['body', 'header'] as const) {
    for (const cut of [null, 'bytewise', ...(place === 'body' ? cutsAround(sequence) : [])] as const) {
      const { codes, taken } = await outcome(sequence, place, cut)
      const isRefused = /\r(?!\n)|(?<!\r)\n|\0/.test(sequence)
      const how = `${place} ${cut}`
      if (endsMessage) {
        // The message ends there by RFC 5321 4.1.1.4, so what follows is an honest second one; the first is refused.
        expect(taken, how).toEqual(['hidden'])
        expect(codes[0], how).toBe(550)
      } else if (isRefused || place === 'header') {
        expect(taken, how).toEqual([])
        expect(codes, how).toEqual([550, 221])
      } else {
        expect(taken, how).toEqual(['outer'])
        expect(codes, how).toEqual([250, 221])
      }
    }
  }
})

test('the refusal says what is wrong and what to do', async () => {
  const client = await relay.login()
  expect((await client.send('From: me@example.com\r\n\r\none\ntwo')).last).toMatch(/^550 5\.6\.11 .*LF.*CR.*must end with CR LF/)
})

test('dots at the start of lines come through exactly, wherever the bytes are cut', async () => {
  const body = '.\r\n..\r\n.a\r\n\r\n...\r\n.'
  const stuffed = body.replace(/^\./gm, '..')
  const bytes = Buffer.from(`${envelope('outer')}${message('outer', stuffed)}\r\n.\r\nQUIT\r\n`)
  for (let cut = envelope('outer').length; cut < bytes.length; cut++) {
    const client = await relay.login()
    await client.writeSplit(bytes, cut)
    await client.untilClosed()
    expect(relay.taken.at(-1)?.text.endsWith(`\r\n\r\n${body}\r\n`), String(cut)).toBe(true)
    client.close()
  }
})
