import { expect, test } from 'vitest'
import { cutsAround, inboundSequences, smuggle, wantedOutcome } from '../support/smuggling-attempt.ts'
import { startTestSubmissionServer } from '../support/submission-server.ts'

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
  expect((await client.send('From: me@example.com\r\n\r\none\ntwo')).last).toMatch(/^550 5\.6\.11 .*LF.*CR.*must end with CR LF/)
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
