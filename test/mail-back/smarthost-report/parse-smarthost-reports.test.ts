import { describe, expect, test } from 'vitest'
import { bounceVocabulary } from '../../../src/mail/bounce-vocabulary.ts'
import { parseFeedback } from '../../../src/mail/bounce-parser/parse-feedback.ts'
import { readReturnedMessage } from '../../../src/mail/bounce-parser/read-returned-message.ts'
import { composeSmarthostReport } from '../../../src/mail-back/smarthost-report/compose-smarthost-report.ts'
import { parseSmarthostReports } from '../../../src/mail-back/smarthost-report/parse-smarthost-reports.ts'
import type { SmarthostReport } from '../../../src/mail-back/smarthost-report/smarthost-report.ts'
import { reportServices, type ReportService } from '../../../src/platform/config/report-services.ts'

const reference = 'r0123456789abcdefghjkmnpqrstvwxyz0123456789abcd'

const inSns = (event: object): object => ({ Type: 'Notification', Message: JSON.stringify(event) })
const parse = (service: ReportService, body: unknown) => parseSmarthostReports(service, JSON.stringify(body))

/** What the parser of returned mail makes of the first report. */
async function meaningOf(service: ReportService, body: unknown) {
  const [report] = parse(service, body).reports
  const about = { forwardPath: report!.address, isFromSystem: true }
  return parseFeedback(await readReturnedMessage(composeSmarthostReport(service, report!), bounceVocabulary()), about)
}

const mailgun = (event: object): object => ({
  'event-data': { recipient: 'ann@rcpt.example', 'user-variables': { 'sterna-ref': reference }, ...event },
})
const postmark = (event: object): object => ({ Email: 'ann@rcpt.example', Metadata: { 'sterna-ref': reference }, ...event })
const sendgrid = (event: object): object => [{ email: 'ann@rcpt.example', sterna_ref: reference, ...event }]
const ses = (event: object): object =>
  inSns({ mail: { destination: ['ann@rcpt.example'], headers: [{ name: 'X-Sterna-Ref', value: reference }] }, ...event })

describe('what a service says means what mail that says it would', () => {
  test.each<[string, ReportService, object, object]>([
    [
      'Mailgun found no MX host',
      'mailgun',
      mailgun({ event: 'failed', severity: 'permanent', 'delivery-status': { code: 498, message: 'No MX for rcpt.example' } }),
      { hard: true, category: 'domain_not_found', smtpCode: null, reason: 'No MX for rcpt.example' },
    ],
    [
      'Mailgun sent nothing to who had complained',
      'mailgun',
      mailgun({
        event: 'failed',
        severity: 'permanent',
        reason: 'suppress-complaint',
        'delivery-status': { code: 607, message: 'Not delivering' },
      }),
      { hard: false, status: '5.7.1' },
    ],
    [
      'Mailgun refused the mail',
      'mailgun',
      mailgun({ event: 'rejected', reject: { reason: 'Sandbox subdomains are for test purposes only.', description: '' } }),
      { hard: false, reason: 'Sandbox subdomains are for test purposes only.' },
    ],
    [
      'SendGrid, without a code of its own',
      'sendgrid',
      sendgrid({ event: 'bounce', type: 'bounce', reason: '550 5.1.1 no such user' }),
      { hard: true, smtpCode: 550, category: 'invalid_recipient' },
    ],
    [
      'SendGrid sent nothing to who had unsubscribed',
      'sendgrid',
      sendgrid({ event: 'dropped', reason: 'Unsubscribed Address' }),
      { hard: false, reason: 'Unsubscribed Address' },
    ],
    [
      'SendGrid refused an invalid address',
      'sendgrid',
      sendgrid({ event: 'dropped', reason: 'Invalid' }),
      { hard: true, category: 'invalid_recipient' },
    ],
    [
      'SendGrid refused what it was told',
      'sendgrid',
      sendgrid({ event: 'dropped', reason: 'Invalid SMTPAPI header' }),
      { hard: false, reason: 'Invalid SMTPAPI header' },
    ],
    [
      'SendGrid holds the address for good',
      'sendgrid',
      sendgrid({ event: 'bounce', type: 'blocked', status: '5.1.1', reason: '550 5.1.1 no such user' }),
      { hard: false, smtpCode: 550 },
    ],
    [
      'Postmark holds the address for good',
      'postmark',
      postmark({ RecordType: 'Bounce', Type: 'SoftBounce', Details: 'smtp;550 5.1.1 No such user' }),
      { hard: false, smtpCode: 550 },
    ],
    ...['Transient', 'Undetermined'].map((bounceType): [string, ReportService, object, object] => [
      `SES holds the address for good: ${bounceType}`,
      'ses',
      ses({
        eventType: 'Bounce',
        bounce: {
          bounceType,
          bounceSubType: 'General',
          bouncedRecipients: [
            { emailAddress: 'ann@rcpt.example', action: 'failed', status: '5.1.1', diagnosticCode: 'smtp; 550 5.1.1 user unknown' },
          ],
        },
      }),
      { hard: false, smtpCode: 550 },
    ]),
    [
      'Postmark says only of which type a bounce is',
      'postmark',
      postmark({ RecordType: 'Bounce', Type: 'HardBounce', Details: '', Description: 'Unknown user' }),
      { hard: true, status: '5.1.1' },
    ],
    [
      'Postmark was blocked',
      'postmark',
      postmark({ RecordType: 'Bounce', Type: 'Blocked', Details: 'smtp;554 5.7.1 Blocked using a list' }),
      { hard: false, smtpCode: 554, status: '5.7.1' },
    ],
    [
      'SES gives no reply',
      'ses',
      ses({
        eventType: 'Bounce',
        bounce: { bounceType: 'Permanent', bounceSubType: 'General', bouncedRecipients: [{ emailAddress: 'ann@rcpt.example' }] },
      }),
      { hard: true, status: '5.1.1' },
    ],
    [
      'SES found a virus',
      'ses',
      ses({ eventType: 'Reject', reject: { reason: 'Bad content' } }),
      { hard: false, status: '5.7.1', reason: 'Bad content' },
    ],
    [
      'a complaint that kept SES from sending',
      'ses',
      ses({ notificationType: 'Complaint', complaint: { complaintSubType: 'OnAccountSuppressionList', complainedRecipients: [] } }),
      { hard: false, status: '5.7.1' },
    ],
  ])('%s', async (_, service, body, recipient) => {
    const meaning = await meaningOf(service, body)
    expect(meaning).toMatchObject({ class: 'bounce', original: { reference } })
    expect(meaning.recipients).toMatchObject([{ address: 'ann@rcpt.example', action: 'failed', ...recipient }])
  })

  test.each<[ReportService, object]>([
    [
      'mailgun',
      mailgun({
        event: 'failed',
        severity: 'temporary',
        reason: 'greylisted',
        'delivery-status': { code: 450, message: 'Greylisted', 'mx-host': 'mx' },
      }),
    ],
    ['sendgrid', sendgrid({ event: 'deferred', response: 'Email was deferred due to the following reason(s): [IPs were throttled]' })],
    ['postmark', postmark({ RecordType: 'Bounce', Type: 'Transient', Details: '' })],
    [
      'ses',
      ses({
        eventType: 'DeliveryDelay',
        deliveryDelay: { delayType: 'MailboxFull', delayedRecipients: [{ emailAddress: 'ann@rcpt.example' }] },
      }),
    ],
  ])('a delay of %s', async (service, body) => {
    expect((await meaningOf(service, body)).recipients).toMatchObject([{ action: 'delayed', hard: false }])
  })

  test('a complaint keeps its type', async () => {
    const body = ses({ eventType: 'Complaint', complaint: { complaintFeedbackType: 'not-spam', userAgent: 'FBL' } })
    expect(await meaningOf('ses', body)).toMatchObject({
      class: 'complaint',
      complaint: { feedbackType: 'not-spam', reportedBy: 'Amazon SES' },
    })
  })
})

test.each<[ReportService, unknown[]]>([
  ['mailgun', [mailgun({ event: 'accepted' }), mailgun({ event: 'opened' }), {}, [], null, 1, { 'event-data': [] }]],
  [
    'postmark',
    [
      ...['AutoResponder', 'Subscribe', 'InboundError'].map((Type) => postmark({ RecordType: 'Bounce', Type })),
      postmark({ RecordType: 'SubscriptionChange', SuppressSending: true, Origin: 'Recipient', SuppressionReason: 'HardBounce' }),
      postmark({ RecordType: 'SubscriptionChange', SuppressSending: false, Origin: 'Recipient', SuppressionReason: 'ManualSuppression' }),
      postmark({ RecordType: 'Click' }),
    ],
  ],
  ['sendgrid', [sendgrid({ event: 'processed' }), [1, null, []], {}, 'text']],
  [
    'ses',
    [
      ses({ eventType: 'Send' }),
      // Somebody is out of office.
      ses({
        notificationType: 'Bounce',
        bounce: { bounceType: 'Transient', bounceSubType: 'General', bouncedRecipients: [{ emailAddress: 'ann@rcpt.example' }] },
      }),
      ses({ eventType: 'Subscription', subscription: {} }),
      inSns({}),
      { Message: 'Successfully validated SNS topic' },
    ],
  ],
])('what is no outcome says nothing: %s', (service, bodies) => {
  for (const body of bodies) expect(parse(service, body).reports).toEqual([])
})

test.each(reportServices)('nothing in a report of %s can add to what is made of it', async (service) => {
  const hostile = `x\r\n\r\n--report--\r\nAction: delivered\u0000${'y'.repeat(5_000)}`
  const report: SmarthostReport = {
    reference,
    address: `ann@rcpt.example\r\nAction: delivered`,
    said: { action: 'failed', status: null, reply: `550 5.7.1 ${hostile}`, words: hostile },
  }
  const about = { forwardPath: 'ann@rcpt.example', isFromSystem: true }
  const made = composeSmarthostReport(service, report)
  expect(made.length).toBeLessThan(4_000)
  const { class: meaning, recipients } = parseFeedback(await readReturnedMessage(made, bounceVocabulary()), about)
  expect(meaning).toBe('bounce')
  expect(recipients.map(({ action }) => action)).toEqual(['failed'])
})
