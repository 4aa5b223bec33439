import { describe, expect, it } from 'vitest'
import { parseComplaint } from '../../../src/mail/bounce-parser/parse-complaint.ts'
import { ReturnedMessage, type ReturnedPart } from '../../../src/mail/bounce-parser/returned-message.ts'
import { bounceVocabulary } from '../../../src/mail/bounce-vocabulary.ts'

const parse = (...parts: ReturnedPart[]) => parseComplaint(new ReturnedMessage([], parts, bounceVocabulary()))

it('parses in linear time, even a field of spaces without a line end', () => {
  const content = `Feedback-Type: abuse\nUser-Agent:${' '.repeat(1_000_000)}\r\nVersion: 1`
  expect(parse({ contentType: 'message/feedback-report', content })?.complaint.feedbackType).toBe('abuse')
})

describe('the recipient who complained', () => {
  const complaint = (report: string[], original: string[]) =>
    parse(
      {
        contentType: 'message/feedback-report',
        content: ['Feedback-Type: abuse', 'User-Agent: Test/1', 'Version: 1', ...report].join('\n'),
      },
      { contentType: 'message/rfc822', content: [...original, 'Subject: offers', '', 'text'].join('\n') },
    )?.addresses

  it.each<[string, string[], string[], string[]]>([
    ['the field for it', ['Original-Rcpt-To: <a@b.example>'], ['To: c@d.example'], ['a@b.example']],
    [
      'whom the message was for, where that is redacted',
      ['Original-Rcpt-To: <x17@redacted.invalid>'],
      ['From: us@us.example', 'To: c@d.example'],
      ['c@d.example'],
    ],
    ['the mailbox, where the message was for nobody', [], ['From: us@us.example', 'Delivered-To: c@d.example'], ['c@d.example']],
    [
      'the mailbox, where a list wrote to itself',
      [],
      ['From: list@us.example', 'To: list@us.example', 'X-Original-To: c@d.example'],
      ['c@d.example'],
    ],
    ['nobody, where all is redacted', [], ['From: us@us.example', 'To: redacted@redacted.invalid'], []],
  ])('%s', (_, report, original, addresses) => expect(complaint(report, original)).toEqual(addresses))
})
