import { expect, test } from 'vitest'
import type { NoticeAction } from '../../../src/notify/notice/notice.ts'
import { returnedContent } from '../../../src/notify/notice/returned-content.ts'

const message = Buffer.from('From: a@sender.example\r\nSubject: x\r\n\r\nBody\r\n')
const stored = {
  subject: 'Grüße',
  message_id_header: '<1@sender.example>',
  size: message.length,
  ret: null,
  created_at: Date.UTC(2026, 10, 21),
  transfer: null,
}
const header = 'From: a@sender.example\r\nSubject: x\r\n'

interface Case {
  name: string
  ret: string | null
  action?: NoticeAction
  chunk?: Buffer | null
  size?: number
  returned: string
  transfer?: string | null
}

const known = 'Date: Sat, 21 Nov 2026 00:00:00 +0000\r\nMessage-ID: <1@sender.example>\r\nSubject: =?UTF-8?B?R3LDvMOfZQ==?=\r\n'

test.each<Case>([
  { name: 'its header where nothing was asked for', ret: null, returned: header },
  { name: 'its header where that was asked for', ret: 'hdrs', returned: header },
  { name: 'all of it where that was asked for', ret: 'full', returned: message.toString() },
  { name: 'its header where it did not fail', ret: 'full', action: 'delayed', returned: header },
  { name: 'its header where it is large', ret: 'full', size: 300_000, returned: header },
  { name: 'its header where it must travel over TLS', ret: 'full', transfer: '{"requireTls":true}', returned: header },
  { name: 'what else is known of it where its content is gone', ret: 'full', chunk: null, returned: known },
])('returns $name', ({ ret, action = 'failed', chunk = message, size = message.length, transfer = null, returned }) => {
  expect(Buffer.from(returnedContent({ ...stored, ret, size, transfer }, action, chunk).bytes).toString()).toBe(returned)
})

test('cuts a header without an end after a line', () => {
  const chunk = Buffer.from('X-A: 0123456789\r\n'.repeat(10_000))
  const { bytes } = returnedContent({ ...stored, size: 1_000_000 }, 'failed', chunk)
  expect(bytes.length).toBeLessThanOrEqual(64 * 1024)
  expect(Buffer.from(bytes).toString().endsWith('0123456789\r\n')).toBe(true)
})
