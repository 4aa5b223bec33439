import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseFeedback } from '../../../src/mail/bounce-parser/parse-feedback.ts'
import { readReturnedMessage } from '../../../src/mail/bounce-parser/read-returned-message.ts'
import { bounceVocabulary } from '../../../src/mail/bounce-vocabulary.ts'
import type { Submission } from '../../../src/mail/message/submission.ts'
import { composeNotice } from '../../../src/notify/notice/compose-notice.ts'
import { statusOf } from '../../../src/notify/notice/delivery-status.ts'
import type { Notice, NoticeAction, NoticeRecipient } from '../../../src/notify/notice/notice.ts'
import { SystemMailer } from '../../../src/mail-in/submission/system-mail.ts'
import { settableClock } from '../../support/settable-clock.ts'
import { cases } from '../../support/cases.ts'
import { anyCharacter } from '../../support/any-character.ts'

const recipient: NoticeRecipient = {
  address: 'gone@rcpt.example',
  orcpt: null,
  enhancedStatus: '5.1.1',
  smtpCode: 550,
  reason: '550 5.1.1 No such user',
  category: 'invalid_recipient',
  remoteHost: 'mx.rcpt.example',
  lastAttemptAt: Date.UTC(2026, 10, 21, 6, 1),
  retriedUntil: null,
}

const notice: Notice = {
  action: 'failed',
  recipients: [recipient],
  original: {
    messageIdHeader: '<1@sender.example>',
    subject: 'Hello',
    envid: null,
    arrivedAt: Date.UTC(2026, 10, 21, 6, 0),
    smtputf8: false,
    requireTls: false,
    returned: { isWhole: false, bytes: Buffer.from('From: app@sender.example\r\nSubject: Hello\r\n') },
  },
}

/** The notice as it is handed in. */
async function handedIn(given: Notice, to = 'bounces@sender.example'): Promise<{ text: string; bytes: Buffer; submission: Submission }> {
  let taken: Submission | undefined
  const accept = async (submission: Submission) => {
    taken = submission
    return { messageId: '', messageIdHeader: '', createdAt: 0, replayed: false, status: 'queued', recipients: [] } as const
  }
  const mailer = new SystemMailer(
    { clock: settableClock(), accept: accept as never, systemDomain: () => undefined },
    { hostname: 'relay.example', sandboxOnly: false },
  )
  await mailer.send(composeNotice(given, to, { hostname: 'relay.example', operator: mailer.from.address }))
  const bytes = Buffer.concat((taken as Submission).content.pending)
  return { text: bytes.toString(), bytes, submission: taken as Submission }
}

/** A line of the report, its folding taken out. */
const linesOf = (text: string): string[] => text.replace(/\r\n[ \t]+/g, ' ').split('\r\n')

describe('the report for programs', () => {
  test('about a delay says when we give up, in its own type', async () => {
    const late = {
      ...recipient,
      enhancedStatus: '5.7.1',
      smtpCode: null,
      reason: 'mx.rcpt.example: connection timed out',
      retriedUntil: Date.UTC(2026, 10, 23, 6, 0),
    }
    const { text } = await handedIn({ ...notice, action: 'delayed', recipients: [late] })
    expect(linesOf(text)).toEqual(
      expect.arrayContaining(['Action: delayed', 'Status: 4.4.1', 'Will-Retry-Until: Mon, 23 Nov 2026 06:00:00 +0000']),
    )
    expect(linesOf(text)).toContain('Diagnostic-Code: x-sterna; mx.rcpt.example: connection timed out')
    expect(text).toContain('You need not send it again')
  })

  test('uses the formats for non-ASCII addresses if there is one', async () => {
    const international = {
      ...recipient,
      address: 'jürgen@rcpt.example',
      orcpt: 'utf-8;jürgen+2Bx@rcpt.example',
      reason: '550 5.1.1 Kein Nutzer «jürgen»',
    }
    const original = {
      ...notice.original,
      smtputf8: true,
      subject: 'Grüße',
      returned: { isWhole: true, bytes: Buffer.from('Subject: Grüße\r\n\r\nHallo\r\n') },
    }
    const { text, submission } = await handedIn({ ...notice, recipients: [international], original }, 'änne@sender.example')
    expect(linesOf(text)).toEqual(
      expect.arrayContaining([
        'Content-Type: message/global-delivery-status',
        'Content-Type: message/global',
        'Original-Recipient: utf-8; jürgen+x@rcpt.example',
        'Final-Recipient: utf-8; jürgen@rcpt.example',
        'Diagnostic-Code: smtp; 550 5.1.1 Kein Nutzer «jürgen»',
        'To: änne@sender.example',
      ]),
    )
    expect([submission.envelope.smtputf8, submission.envelope.bodyType]).toEqual([true, '8bitmime'])
  })

  test('stays in ASCII for mail that did not ask for them', async () => {
    const { text, submission } = await handedIn({ ...notice, recipients: [{ ...recipient, reason: '550 5.1.1 Kein Nutzer «x»' }] })
    expect(linesOf(text)).toContain('Diagnostic-Code: smtp; 550 5.1.1 Kein Nutzer ?x?')
    expect([submission.envelope.smtputf8, submission.envelope.bodyType]).toEqual([false, '7bit'])
  })

  test('returns the parameters of MAIL and RCPT, decoded from xtext', async () => {
    const { text } = await handedIn({
      ...notice,
      recipients: [{ ...recipient, orcpt: 'rfc822;Gone+2Buser+20x@rcpt.example' }],
      original: { ...notice.original, envid: 'a+3Db+2B7' },
    })
    expect(linesOf(text)).toEqual(
      expect.arrayContaining(['Original-Envelope-Id: a=b+7', 'Original-Recipient: rfc822; Gone+user x@rcpt.example']),
    )
  })

  test('does not refer to an invalid message identifier', async () => {
    const { text } = await handedIn({ ...notice, original: { ...notice.original, messageIdHeader: '<a b>\u00e9' } })
    expect(text).not.toMatch(/^(References|In-Reply-To):/m)
  })
})

test.each<[NoticeAction, Partial<NoticeRecipient>, string]>([
  ['failed', { enhancedStatus: '5.2.1' }, '5.2.1'],
  ['failed', { enhancedStatus: '4.2.1', category: 'expired' }, '4.2.1'],
  ['failed', { enhancedStatus: null, category: 'expired' }, '4.4.7'],
  ['failed', { enhancedStatus: '2.0.0', category: 'mailbox_full' }, '5.2.2'],
  ['failed', { enhancedStatus: null, category: null }, '5.0.0'],
  ['delayed', { enhancedStatus: '4.7.1' }, '4.7.1'],
  ['delayed', { enhancedStatus: null, smtpCode: 451 }, '4.0.0'],
  ['delayed', { enhancedStatus: null, smtpCode: null }, '4.4.1'],
  ['delivered', { enhancedStatus: '2.1.5' }, '2.1.5'],
  ['relayed', { enhancedStatus: null }, '2.0.0'],
])('the status of %s with %o is %s', (action, given, status) => {
  expect(statusOf(action, { ...recipient, ...given })).toBe(status)
})

const atom = fc.stringMatching(/^[a-z0-9]{1,20}$/)
const localPart = fc.oneof(atom, fc.stringMatching(/^[a-zäöü中]{1,10}$/), fc.constant('"a,b"'))
const anyText = fc.oneof(fc.string({ maxLength: 1500 }), fc.string({ unit: anyCharacter, maxLength: 1500 }))
const anyCode = fc.option(fc.constantFrom('5.1.1', '5.2.2', '4.4.7', '4.7.1', '2.0.0', '5.7.1'))
const anyRecipient: fc.Arbitrary<NoticeRecipient> = fc.record({
  address: fc.tuple(localPart, atom).map(([local, domain]) => `${local}@${domain}.example`),
  orcpt: fc.option(atom.map((name) => `rfc822;${name}+2B1@rcpt.example`)),
  enhancedStatus: anyCode,
  smtpCode: fc.option(fc.constantFrom(250, 450, 550)),
  reason: fc.option(anyText),
  category: fc.option(fc.constantFrom('invalid_recipient', 'mailbox_full', 'expired', 'suppressed', 'other')),
  remoteHost: fc.option(fc.constant('mx.rcpt.example')),
  lastAttemptAt: fc.option(fc.integer({ min: 0, max: 2 ** 41 })),
  retriedUntil: fc.option(fc.integer({ min: 0, max: 2 ** 41 })),
})
const anyNotice: fc.Arbitrary<Notice> = fc.record({
  action: fc.constantFrom('failed', 'delayed', 'delivered', 'relayed'),
  recipients: fc.uniqueArray(anyRecipient, { minLength: 1, maxLength: 5, selector: ({ address }) => address.toLowerCase() }),
  original: fc.record({
    messageIdHeader: fc.oneof(fc.constant('<1@sender.example>'), fc.string()),
    subject: anyText,
    envid: fc.option(atom),
    arrivedAt: fc.integer({ min: 0, max: 2 ** 41 }),
    smtputf8: fc.boolean(),
    requireTls: fc.boolean(),
    returned: fc.record({ isWhole: fc.boolean(), bytes: fc.constant(Buffer.from('From: a@sender.example\r\nSubject: x\r\n')) }),
  }),
})

test('for any text, every line fits, and a parser finds each recipient with action and status', async () => {
  await fc.assert(
    fc.asyncProperty(anyNotice, async (given) => {
      const { bytes } = await handedIn(given)
      const lines = bytes.toString('latin1').split('\r\n')
      expect(lines.filter((line) => line.length > 998 || /[\r\n\0]/.test(line))).toEqual([])
      const report = parseFeedback(await readReturnedMessage(bytes, bounceVocabulary()))
      const found = report.recipients.map(({ address, action, status }) => [address, action, status])
      const told = given.recipients.map((one) => [one.address.toLowerCase(), given.action, statusOf(given.action, one)])
      expect(found.map(([address, ...rest]) => [address?.toLowerCase(), ...rest])).toEqual(told)
    }),
    { numRuns: cases(100) },
  )
})
