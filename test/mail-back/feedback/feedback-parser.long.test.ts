import { afterAll, describe, expect, it } from 'vitest'
import { startFeedbackParser } from '../../../src/mail-back/feedback/feedback-parser.ts'

const parser = startFeedbackParser()
afterAll(() => parser.stop())

const withStatus = (status: string): string =>
  [
    'Content-Type: multipart/report; report-type=delivery-status; boundary=b',
    '',
    '--b',
    'Content-Type: message/delivery-status',
    '',
    status,
    '--b--',
    '',
  ].join('\r\n')
const recipient = 'Final-Recipient: rfc822; a@b.example\r\nAction: failed\r\nStatus: 5.1.1\r\n'
const notice = (text: string): string => `From: MAILER-DAEMON@b.example\r\nSubject: failure notice\r\n\r\n${text}`
const html = (source: string): string => `Content-Type: text/html\r\n\r\n${source}`
const nested = (depth: number, header: (level: number) => string): string =>
  Array.from({ length: depth }, (_, level) => header(level)).join('')

const bombs: [string, string][] = [
  ['10 000 levels of parts', nested(10_000, (level) => `Content-Type: multipart/mixed; boundary=b${level}\r\n\r\n--b${level}\r\n`)],
  ['500 messages within each other', nested(500, () => 'Content-Type: message/rfc822\r\n\r\n')],
  ['100 000 parts', `Content-Type: multipart/mixed; boundary=b\r\n\r\n${'--b\r\n\r\na\r\n'.repeat(100_000)}--b--`],
  ['a header of 10 MB', `X-A: ${'a'.repeat(10_000_000)}\r\n\r\nhi`],
  ['100 000 header fields', `${'X-A: b\r\n'.repeat(100_000)}\r\nhi`],
  ['100 000 addresses', `To: ${'a@b.example, '.repeat(75_000)}c@d\r\n\r\nhi`],
  ['100 000 times the same recipient', withStatus(`${recipient}\r\n`.repeat(100_000))],
  ['a status without an empty line', withStatus(recipient.repeat(50_000))],
  ['an endless diagnostic', withStatus(`${recipient}Diagnostic-Code: smtp; ${'550 5.1.1 '.repeat(200_000)}`)],
  ['400 000 elements', html('<div>'.repeat(400_000))],
  ['5 000 000 angle brackets', html('<'.repeat(5_000_000))],
  ['addresses in a text', notice('<a@b.example>:\r\n550 no\r\n\r\n'.repeat(50_000))],
  ['one word', notice('a'.repeat(2_000_000))],
  ['at signs', notice('@'.repeat(2_000_000))],
  ['a transcript', notice('>>> RCPT TO:<a@b.example>\r\n<<< 550 no\r\n'.repeat(50_000))],
  ['encoded words', `Subject: ${'=?utf-8?q?a?= '.repeat(60_000)}\r\n\r\nhi`],
  ['junk for base64', `Content-Transfer-Encoding: base64\r\n\r\n${'!@#$'.repeat(500_000)}`],
  ['junk for quoted-printable', `Content-Transfer-Encoding: quoted-printable\r\n\r\n${'=Z=\r\n='.repeat(400_000)}`],
  ['NUL', `From: a\0b\r\n\r\n${'\0'.repeat(2_000_000)}`],
  ['CR', `A: b\r\r\n\r\r\n${'\r'.repeat(2_000_000)}`],
  ['spaces behind a dash', `A: b\n\n--a${' '.repeat(2_000_000)}`],
  ['brackets', `Content-Type: text/plain ${'('.repeat(500_000)}\r\n\r\nhi`],
  ['JSON', `Content-Type: text/plain\r\n\r\n{"notificationType":${'['.repeat(100_000)}`],
]

describe('each bomb is parsed or rejected, and the next message is parsed', () => {
  it.each(bombs)('%s', async (_, source) => {
    const [result, next] = await Promise.allSettled([parser.parse(Buffer.from(source)), parser.parse(Buffer.from(withStatus(recipient)))])
    if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'invalid_message' })
    else expect(result.value.recipients.length).toBeLessThanOrEqual(1000)
    expect(next).toMatchObject({ status: 'fulfilled', value: { class: 'bounce', recipients: [{ address: 'a@b.example', hard: true }] } })
  })
})

const parts = (count: number, part: (index: number) => string): string =>
  `From: MAILER-DAEMON@b.example\r\nContent-Type: multipart/report; boundary=b\r\n\r\n${nested(count, (index) => `--b\r\n${part(index)}\r\n`)}--b--\r\n`
const statusPart = (blocks: number, block: (index: number) => string): string =>
  `Content-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; b.example\r\n\r\n${nested(blocks, block)}`

const slow: [string, string][] = [
  [
    'thousands of recipients in each status, with a text that has their reply often',
    parts(16, (part) =>
      part === 0
        ? `\r\n${'550 5.1.1 x '.repeat(2700)}`
        : statusPart(2000, (index) => `Final-Recipient:a;${part}-${index}@b\r\nDiagnostic-Code:a;55${index % 2} 5.1.1 x\r\n\r\n`),
    ),
  ],
  [
    'comments of a status that do not end',
    parts(16, () => statusPart(60, (index) => `Final-Recipient: a; ${index}@b\r\nStatus: 5.1.1 (${'('.repeat(1900)}\r\n\r\n`)),
  ],
  [
    'a field that a status has thousands of times',
    parts(60, () =>
      statusPart(4900, (index) => (index === 0 ? 'Final-Recipient: a; a@b\r\nAction: failed\r\n' : `Status: 5.1.1 (${index})\r\n`)),
    ),
  ],
  [
    'a recipient with thousands of original ones',
    parts(16, () =>
      statusPart(4900, (index) => (index === 0 ? 'Final-Recipient: a; a@b\r\nAction: failed\r\n' : 'Original-Recipient: a; a@b\r\n')),
    ),
  ],
  [
    'hundreds of recipients in each of a few replies',
    notice(nested(17, (line) => `550 5.1.1 ${nested(280, (index) => `${((line * 390 + index) % 1000).toString(36)}@b.c `)}\r\n`)),
  ],
  [
    'long lines that are in no charset',
    parts(60, (part) => (part === 0 ? statusPart(1, () => recipient) : `\r\n${'\x88\xb6\xa4'.repeat(11_000)}\xff`)),
  ],
  ['short lines that are not UTF-8', parts(31, (part) => (part === 0 ? statusPart(1, () => recipient) : `\r\n${'\xff\n'.repeat(65_000)}`))],
]

it.each(slow)('parses %s within the limits', async (_, source) => {
  expect((await parser.parse(Buffer.from(source, 'latin1'))).class).toBe('bounce')
})

it('parses truncated messages', async () => {
  const whole = Buffer.from(withStatus(recipient))
  const readings = await Promise.all(
    Array.from({ length: 20 }, (_, i) => parser.parse(whole.subarray(0, Math.floor((whole.length * i) / 20)))),
  )
  expect(readings[0]?.class).toBe('not-bounce')
  expect(readings.at(-1)?.recipients).toMatchObject([{ address: 'a@b.example' }])
})

it('does not send a message that is too large to the child', async () => {
  await expect(parser.parse(new Uint8Array(33 * 1024 * 1024))).rejects.toMatchObject({ code: 'invalid_message' })
})

it('parses a bounce whatever its other address fields contain', async () => {
  const reading = await parser.parse(Buffer.from(`Cc: x${':'.repeat(800_000)}\r\nMIME-Version: 1.0\r\n${withStatus(recipient)}`))
  expect(reading).toMatchObject({ class: 'bounce', recipients: [{ address: 'a@b.example', hard: true }] })
})
