import { afterEach, expect, test } from 'vitest'
import { startMessageParser, type MessageParser } from '../../../src/mail/message/message-parser.ts'

let parser: MessageParser
const start = (limits?: Parameters<typeof startMessageParser>[0]): MessageParser => (parser = startMessageParser(limits))
afterEach(() => parser.stop())

const message = (text: string) => [Buffer.from(`From: a@b\r\nSubject: =?utf-8?q?=C3=BC?=\r\n\r\n${text}`)]
const parse = (...pieces: Uint8Array[]) => parser.parse(async () => pieces)

test('the message parser gives up a message that takes too long, and reads the others', async () => {
  start({ timeoutMs: 5_000 })
  // Every character goes through a decoder written in JavaScript.
  const header = Buffer.from('Content-Type: text/html; charset=utf-7\r\n\r\n')
  const endless = Buffer.concat([header, Buffer.alloc(25_000_000, '+AGE-')])
  const results = await Promise.allSettled([parse(...message('before')), parse(endless), parse(...message('after'))])
  expect(results[0]).toMatchObject({ status: 'fulfilled', value: { text: 'before' } })
  expect(results[1]).toMatchObject({
    status: 'rejected',
    reason: { code: 'invalid_message', message: expect.stringContaining('5000 ms') },
  })
  expect(results[2]).toMatchObject({ status: 'fulfilled', value: { text: 'after' } })
})

test('the message parser gives up a message that takes too much memory, and reads the others', async () => {
  start({ timeoutMs: 60_000, maxOldSpaceMb: 64 })
  const huge = Buffer.from(`To: ${'a,'.repeat(450_000)}\r\n\r\nhi`)
  const results = await Promise.allSettled([parse(huge), parse(...message('after'))])
  expect(results[0]).toMatchObject({
    status: 'rejected',
    reason: { code: 'invalid_message', message: expect.stringContaining('memory') },
  })
  expect(results[1]).toMatchObject({ status: 'fulfilled', value: { text: 'after' } })
})
