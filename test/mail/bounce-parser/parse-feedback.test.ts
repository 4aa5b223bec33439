import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Feedback } from '../../../src/mail/bounce-parser/feedback.ts'
import { parseFeedback } from '../../../src/mail/bounce-parser/parse-feedback.ts'
import { readReturnedMessage } from '../../../src/mail/bounce-parser/read-returned-message.ts'
import { bounceVocabulary } from '../../../src/mail/bounce-vocabulary.ts'

const fixtures = resolve(import.meta.dirname, '../../fixtures')
const understand = async (document: Buffer): Promise<Feedback> => parseFeedback(await readReturnedMessage(document, bounceVocabulary()))
const withCrlf = (document: Buffer): Buffer => Buffer.from(document.toString('latin1').replace(/\r?\n/g, '\r\n'), 'latin1')

/** Messages of real systems and in their manner; the JSON beside each says what it means, as far as it matters. */
describe.each(['dsn', 'arf'])('%s fixtures', (folder) => {
  const directory = join(fixtures, folder)
  const names = readdirSync(directory).filter((name) => name.endsWith('.eml') && existsSync(join(directory, name.replace('.eml', '.json'))))
  it.each(names)('%s', async (name) => {
    const document = readFileSync(join(directory, name))
    const expected = JSON.parse(readFileSync(join(directory, name.replace('.eml', '.json')), 'utf8')) as object
    expect(await understand(document)).toMatchObject(expected)
    expect(await understand(withCrlf(document))).toMatchObject(expected)
  })
})

/** What programs on the way do to messages. */
const damages: [string, (source: string) => string][] = [
  ['an mbox line before it', (source) => `From MAILER-DAEMON Sat Nov 21 08:00:00 2026\n${source}`],
  ['empty lines before it', (source) => `\n\n${source}`],
  ['a byte order mark', (source) => `\uFEFF${source}`],
  ['CR alone', (source) => source.replaceAll('\n', '\r')],
  ['a CR too many', (source) => source.replaceAll('\n', '\r\r\n')],
  ['spaces behind a delimiter', (source) => source.replace(/^--=_report$/gm, '--=_report  ')],
  ['no final delimiter', (source) => source.replace('--=_report--\n', '')],
  [
    'another label in capitals',
    (source) => source.replace(/content-type: message\/(?:global-)?delivery-status/i, 'CONTENT-TYPE: Message/Delivery-Status'),
  ],
  [
    'the label of a file',
    (source) => source.replace(/content-type: message\/(?:global-)?delivery-status/i, 'Content-Type: application/octet-stream'),
  ],
]
const withoutCoding: typeof damages = [
  ['no boundary', (source) => source.replace(/;\n\tboundary="=_report"/, '')],
  ['a wrong boundary', (source) => source.replace('boundary="=_report"', 'boundary="other"')],
  ['no content type', (source) => source.replace(/Content-Type: multipart[^]*?boundary="=_report"\n/, '')],
]

describe.each(['postfix-user-unknown', 'exim-mailbox-full', 'exchange-html-and-base64', 'internationalized'])('%s with', (name) => {
  const source = readFileSync(join(fixtures, 'dsn', `${name}.eml`), 'utf8')
  const { recipients } = JSON.parse(readFileSync(join(fixtures, 'dsn', `${name}.json`), 'utf8')) as Feedback
  const isEncoded = source.includes('base64')
  it.each(isEncoded ? damages : [...damages, ...withoutCoding])('%s', async (_, damage) => {
    expect(damage(source)).not.toBe(source)
    expect(await understand(Buffer.from(damage(source)))).toMatchObject({ class: 'bounce', recipients })
  })
})

it('finds the header of the original inside a text, after what the bounce quotes of it', async () => {
  const text = [
    'Your message',
    '',
    'To: a@b.example',
    'Subject: Order',
    '',
    'could not be delivered.',
    '',
    '--- Below this line is a copy of the message.',
    '',
  ]
  const original = [
    'Return-Path: <b0@send.shop.example>',
    'Received: from x by y;',
    '\tSat, 21 Nov 2026 08:00:00 +0000',
    'X-Sterna-Ref: r0',
    'To: a@b.example',
    'Message-ID: <1@shop.example>',
    '',
    'Hi',
  ]
  const report = await understand(
    Buffer.from(['From: MAILER-DAEMON@b.example', 'Subject: failure notice', '', ...text, ...original].join('\n')),
  )
  expect(report.original).toMatchObject({ reference: 'r0', reversePath: 'b0@send.shop.example', messageId: '<1@shop.example>' })
})

it('a mail client may unsubscribe its user', async () => {
  const mail = 'From: Person <person@example.com>\nTo: u0@shop.example\nSubject: Unsubscribe\nX-Apple-Unsubscribe: true\n\n'
  expect(await understand(Buffer.from(mail))).toMatchObject({
    class: 'complaint',
    complaint: { feedbackType: 'opt-out' },
    recipients: [{ address: 'person@example.com' }],
  })
})

describe('Amazon SES notifications', () => {
  const mail = (text: string): Buffer =>
    Buffer.from(`From: no-reply@sns.amazonaws.com\nSubject: AWS Notification Message\n\n${text}\n\n--\nIf you wish {to stop}\n`)
  const bounce = (bounceType: string) => ({
    notificationType: 'Bounce',
    bounce: {
      bounceType,
      bouncedRecipients: [
        { emailAddress: 'a@b.example', action: 'failed', status: '5.1.1', diagnosticCode: 'smtp; 550 5.1.1 user unknown' },
      ],
    },
  })
  const about = { recipients: [{ address: 'a@b.example', action: 'delivered', hard: false }] }
  it.each([
    [bounce('Permanent'), { class: 'bounce', recipients: [{ address: 'a@b.example', action: 'failed', hard: true, status: '5.1.1' }] }],
    [bounce('Transient'), { class: 'bounce', recipients: [{ address: 'a@b.example', action: 'failed', hard: false }] }],
    [
      { Type: 'Notification', Message: JSON.stringify(bounce('Permanent')), TopicArn: 'arn' },
      { class: 'bounce', recipients: [{ hard: true }] },
    ],
    [
      { eventType: 'Complaint', complaint: { complainedRecipients: [{ emailAddress: 'a@b.example' }], complaintFeedbackType: 'abuse' } },
      { class: 'complaint', complaint: { feedbackType: 'abuse' }, ...about },
    ],
    [
      { notificationType: 'Delivery', delivery: { recipients: ['a@b.example'], smtpResponse: '250 ok' } },
      { class: 'delivered', ...about },
    ],
    [
      { notificationType: 'Bounce', bounce: { bouncedRecipients: 'none' } },
      { class: 'bounce', recipients: [] },
    ],
    [
      {
        notificationType: 'Bounce',
        bounce: { bounceType: 'Transient', bounceSubType: 'General', bouncedRecipients: [{ emailAddress: 'a@b.example' }] },
      },
      { class: 'autoreply', recipients: [] },
    ],
    [{ notificationType: 'Unheard-of' }, { class: 'not-bounce', recipients: [] }],
  ])('%j', async (notification, expected) => {
    expect(await understand(mail(JSON.stringify(notification)))).toMatchObject(expected)
    expect(await understand(mail(JSON.stringify(notification, null, 2)))).toMatchObject(expected)
  })
})
