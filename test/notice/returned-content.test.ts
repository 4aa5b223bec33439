import { expect, test } from 'vitest'
import type { NoticeAction } from '../../src/notice/notice.ts'
import { returnedContent } from '../../src/notice/returned-content.ts'

const message = Buffer.from('From: a@sender.example\r\nSubject: x\r\n\r\nBody\r\n')
const stored = {
  subject: 'Grüße',
  messageIdHeader: '<1@sender.example>',
  size: message.length,
  ret: null,
  createdAt: Date.UTC(2026, 10, 21),
}
const header = 'From: a@sender.example\r\nSubject: x\r\n'

test.each<[string, string | null, NoticeAction, Buffer | null, number, string]>([
  ['its header where nothing was asked for', null, 'failed', message, message.length, header],
  ['its header where that was asked for', 'hdrs', 'failed', message, message.length, header],
  ['all of it where that was asked for', 'full', 'failed', message, message.length, message.toString()],
  ['its header where it did not fail', 'full', 'delayed', message, message.length, header],
  ['its header where it is large', 'full', 'failed', message, 300_000, header],
  [
    'what else is known of it where its content is gone',
    'full',
    'failed',
    null,
    message.length,
    'Date: Sat, 21 Nov 2026 00:00:00 +0000\r\nMessage-ID: <1@sender.example>\r\nSubject: =?UTF-8?B?R3LDvMOfZQ==?=\r\n',
  ],
])('of a message goes back %s', (_, ret, action, chunk, size, wanted) => {
  expect(Buffer.from(returnedContent({ ...stored, ret, size }, action, chunk).bytes).toString()).toBe(wanted)
})

test('a header without end is cut behind a line', () => {
  const chunk = Buffer.from('X-A: 0123456789\r\n'.repeat(10_000))
  const { bytes } = returnedContent({ ...stored, size: 1_000_000 }, 'failed', chunk)
  expect(bytes.length).toBeLessThanOrEqual(64 * 1024)
  expect(Buffer.from(bytes).toString().endsWith('0123456789\r\n')).toBe(true)
})
