import { expect, test } from 'vitest'
import { cutsAround, inboundSequences, smuggle, wantedOutcome } from '../../support/smuggling-attempt.ts'
import { startTestSubmissionServer } from '../../support/submission-server.ts'

const envelope = 'MAIL FROM:<me@example.com>\r\nRCPT TO:<you@example.net>\r\nDATA\r\n'
const to = 'you@example.net'

const relay = await startTestSubmissionServer()

test.each(inboundSequences.map((sequence) => [JSON.stringify(sequence), sequence] as const))('%s', async (_, sequence) => {
  for (const place of ['body', 'header'] as const) {
    for (const cut of [null, 'bytewise', ...(place === 'body' ? cutsAround({ sequence, to }) : [])] as const) {
      const before = relay.taken.length
      const codes = await smuggle(await relay.login(), { sequence, place, cut, to })
      const wanted = wantedOutcome({ sequence, place })
      expect(codes.slice(0, wanted.codes.length), `${place} ${cut}`).toEqual(wanted.codes)
      expect(
        relay.taken.slice(before).map(({ header }) => header.subject),
        `${place} ${cut}`,
      ).toEqual(wanted.taken)
    }
  }
})

test('the refusal says what is wrong and what to do', async () => {
  const client = await relay.login()
  expect((await client.send('From: me@example.com\r\n\r\none\rtwo')).last).toMatch(/^550 5\.6\.11 .*CR.*must end with CR LF/)
  expect((await client.send('From: me@example.com\n\none\n.\ntwo')).last).toMatch(/^550 5\.6\.11 .*dot.*LF.*must end with CR LF/)
})

test.each([
  ['all', 'From: me@example.com\nSubject: LF\n\none\n\n.two\nthree'],
  ['some', 'From: me@example.com\r\nSubject: LF\n\r\none\n\r\n.two\nthree'],
])('a message with a bare LF at the end of %s lines is taken with CRLF, wherever the bytes are cut', async (_, message) => {
  const bytes = Buffer.from(`${envelope}${message.replace('.two', '..two')}\r\n.\r\nQUIT\r\n`)
  for (let cut = envelope.length; cut < bytes.length; cut++) {
    const client = await relay.login()
    await client.writeSplit(bytes, cut)
    await client.untilClosed()
    const { text, header } = relay.taken.at(-1) ?? { text: '' }
    expect(header?.subject, String(cut)).toBe('LF')
    expect(text.endsWith('\r\n\r\none\r\n\r\n.two\r\nthree\r\n'), String(cut)).toBe(true)
    expect(text).not.toMatch(/\r(?!\n)|(?<!\r)\n/)
    client.close()
  }
})

test('dots at the start of lines come through exactly, wherever the bytes are cut', async () => {
  const body = '.\r\n..\r\n.a\r\n\r\n...\r\n.'
  const stuffed = body.replace(/^\./gm, '..')
  const bytes = Buffer.from(`${envelope}From: me@example.com\r\nSubject: dots\r\n\r\n${stuffed}\r\n.\r\nQUIT\r\n`)
  for (let cut = envelope.length; cut < bytes.length; cut++) {
    const client = await relay.login()
    await client.writeSplit(bytes, cut)
    await client.untilClosed()
    expect(relay.taken.at(-1)?.text.endsWith(`\r\n\r\n${body}\r\n`), String(cut)).toBe(true)
    client.close()
  }
})
