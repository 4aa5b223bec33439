import { readFileSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import type { FeedbackReport } from '../../src/feedback/feedback-report.ts'
import { parseBounceText } from '../../src/feedback/parse-bounce-text.ts'
import { parseFeedback } from '../../src/feedback/parse-feedback.ts'
import { readReturnedMessage } from '../../src/feedback/read-returned-message.ts'
import type { ReturnedMessage } from '../../src/feedback/returned-message.ts'

const directory = resolve(import.meta.dirname, '../fixtures/freeform')
const names = readdirSync(directory).filter((name) => name.endsWith('.eml'))

describe('reports without a delivery status, in the forms of many mail systems', () => {
  it.each(names)('%s', async (name) => {
    const expected = JSON.parse(readFileSync(join(directory, name.replace('.eml', '.json')), 'utf8')) as Partial<FeedbackReport>
    const { class: found, recipients } = parseFeedback(await readReturnedMessage(readFileSync(join(directory, name))))
    expect({ class: found, recipients: recipients.map(({ address, action, hard }) => ({ address, action, hard })) }).toEqual(expected)
  })
})

const notice = (content: string, headers: Record<string, string> = {}): ReturnedMessage => ({
  headers: Object.entries({ from: 'MAILER-DAEMON@mx.test', subject: 'failure notice', ...headers }).map(([name, value]) => ({ name, value })),
  parts: [{ contentType: 'text/plain', content }],
})
const recipients = (content: string, headers?: Record<string, string>): string[] =>
  parseBounceText(notice(content, headers)).map(({ address, action, hard }) => `${address} ${action}${hard ? ' hard' : ''}`)

describe('who has failed', () => {
  it.each<[string, string, string[]]>([
    ['not the sender that the report names', 'The message from b@us.test to a@them.test could not be delivered: user unknown', ['a@them.test failed hard']],
    ['not whom to turn to', 'Delivery failed:\n\n<a@them.test>\n  user unknown\n\nQuestions? Contact help@them.test.', ['a@them.test failed hard']],
    ['nobody in what came back', '<a@them.test>: user unknown\n\n--- Original message ---\n\nFrom: b@us.test\nTo: c@them.test\n', ['a@them.test failed hard']],
    ['nobody without a word of failure', 'We have met a@them.test and c@them.test there.', []],
    ['each of a list, once', '<a@them.test>, <c@them.test>: user unknown\n<a@them.test>: user unknown', ['a@them.test failed hard', 'c@them.test failed hard']],
  ])('%s', (_, content, expected) => expect(recipients(content, { subject: 'Undelivered mail' })).toEqual(expected))

  it('is told by the field for it', () => {
    const headers = { 'x-failed-recipients': 'a@them.test', subject: 'Mail delivery failed' }
    expect(recipients('The following address failed:\n\n  c@them.test\n    user unknown', headers)).toEqual(['a@them.test failed hard'])
  })

  it('is not hard for what is said of another', () => {
    const headers = { 'x-failed-recipients': 'a@them.test, c@them.test', subject: 'Mail delivery failed' }
    expect(recipients('The following address failed:\n\n  c@them.test\n    user unknown', headers)).toEqual(['a@them.test failed', 'c@them.test failed hard'])
  })

  it('is whom the message was for, where the report names nobody', () => {
    const message = notice('Your message could not be delivered: the user does not exist.')
    message.parts.push({ contentType: 'message/rfc822', content: 'From: b@us.test\nTo: a@them.test\n\nHello' })
    expect(parseBounceText(message)).toMatchObject([{ address: 'a@them.test', hard: true }])
  })
})

describe('a reply that is quoted', () => {
  it.each<[string, string, boolean]>([
    ['at RCPT', '<a@them.test>: host mx.test said: 550 User unknown (in reply to RCPT TO command)', true],
    ['with a code of the address', '<a@them.test>: host mx.test said: 550 5.1.1 User unknown', true],
    ['after the data', '<a@them.test>: host mx.test said: 550 User unknown (in reply to end of DATA command)', false],
    ['nobody knows where', '<a@them.test>: host mx.test said: 550 User unknown', false],
    ['of a list', '<a@them.test>: host mx.test said: 550 5.1.1 listed at zen.spamhaus.org (in reply to RCPT TO command)', false],
  ])('%s', (_, content, hard) => expect(parseBounceText(notice(content))).toMatchObject([{ address: 'a@them.test', smtpCode: 550, hard }]))
})

test('whatever is written there, nothing is hard without an address', () => {
  const lines = fc.constantFrom('<a@b.test>: user unknown', '', '   ----- Transcript of session follows -----', '>>> RCPT To:<a@b.test>', '<<< 550 no', '@', 'To: <', 'will be retried')
  const content = fc.oneof(fc.string({ unit: 'binary', maxLength: 2000 }), fc.array(lines, { maxLength: 60 }).map((some) => some.join('\n')))
  fc.assert(
    fc.property(content, fc.constantFrom('text/plain', 'text/html', 'message/rfc822', 'message/delivery-status'), (text, contentType) => {
      for (const { address, reason } of parseBounceText({ ...notice(''), parts: [{ contentType, content: text }] })) {
        expect(address).toContain('@')
        expect(reason.length).toBeLessThanOrEqual(1000)
      }
    }),
  )
})
