import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SternaError } from '../../../../src/platform/errors.ts'
import { emailSchema } from '../../../../src/api/resource/email-schema.ts'
import { fromMailgun } from '../../../../src/api/http/compat/mailgun-email.ts'
import type { NativeEmail } from '../../../../src/api/http/compat/native-email.ts'
import { fromPostmark, fromPostmarkTemplate } from '../../../../src/api/http/compat/postmark-email.ts'
import { fromSendGrid } from '../../../../src/api/http/compat/sendgrid-email.ts'
import { validate } from '../../../../src/api/operation/validate.ts'
import { cases } from '../../../support/cases.ts'

/** What is made of a request; a refusal is nothing, and anything else that is thrown fails the test. */
function emailsOf(translate: () => NativeEmail[]): NativeEmail[] {
  try {
    return translate()
  } catch (error) {
    if (error instanceof SternaError) return []
    throw error
  }
}

/** The API must be able to say what is wrong with whatever a door hands on. */
function check(email: NativeEmail): void {
  try {
    validate(emailSchema, email)
  } catch (error) {
    expect(error).toBeInstanceOf(SternaError)
  }
}

const odd = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom<unknown>(
      'ann@example.com',
      'Ann <ann@example.com>',
      'a, b@example.com',
      'x\r\nBcc: eve@example.com',
      '\0',
      '\ud800',
      '{{x}}',
      '%recipient.x%',
      'cid:a',
      '',
    ),
  },
  fc.jsonValue({ maxDepth: 2 }),
)

/** Objects with the members that a form knows, some of them, with whatever values. */
const withMembers = (names: string[], value: fc.Arbitrary<unknown> = odd) =>
  fc.record(Object.fromEntries([...names, '__proto__', 'constructor'].map((name) => [name, value])), { requiredKeys: [] })

const mailbox = fc.oneof(odd, withMembers(['email', 'name']))
const mailboxes = fc.oneof(odd, fc.array(mailbox, { maxLength: 3 }))

test('no request in the form of SendGrid goes beyond a refusal', () => {
  const personalization = fc
    .tuple(withMembers(['subject', 'headers', 'substitutions', 'dynamic_template_data', 'custom_args', 'send_at', 'cc', 'bcc']), mailboxes)
    .map(([one, to]) => ({ ...one, to }))
  const rest = withMembers([
    'subject',
    'reply_to',
    'categories',
    'custom_args',
    'send_at',
    'template_id',
    'headers',
    'asm',
    'mail_settings',
    'tracking_settings',
    'attachments',
    'sections',
  ])
  const content = fc.oneof(odd, fc.array(withMembers(['type', 'value']), { maxLength: 3 }))
  const body = fc
    .tuple(rest, mailbox, fc.array(personalization, { maxLength: 3 }), content)
    .map(([more, from, personalizations, contents]) => ({ ...more, from, personalizations, content: contents }))
  fc.assert(
    fc.property(body, (given) => emailsOf(() => fromSendGrid(given).emails).forEach(check)),
    { numRuns: cases(300) },
  )
})

test('no request in the form of Postmark goes beyond a refusal', () => {
  const body = withMembers(
    'From To Cc Bcc Subject HtmlBody TextBody ReplyTo Tag TrackOpens TrackLinks Headers Metadata Attachments MessageStream'.split(' '),
  ).map((given) => ({ From: 'app@sender.example', ...given }))
  fc.assert(
    fc.property(body, (given) => emailsOf(() => [fromPostmark(given)]).forEach(check)),
    { numRuns: cases(300) },
  )
  const templated = withMembers(['To', 'TemplateId', 'TemplateAlias', 'TemplateModel']).map((given) => ({
    From: 'app@sender.example',
    ...given,
  }))
  fc.assert(
    fc.property(templated, (given) => emailsOf(() => [fromPostmarkTemplate(given)]).forEach(check)),
    { numRuns: cases(200) },
  )
})

test('no form of Mailgun goes beyond a refusal', () => {
  const name = fc.oneof(
    fc.constantFrom(
      'to',
      'cc',
      'subject',
      'text',
      'html',
      'template',
      't:variables',
      'recipient-variables',
      'h:X-A',
      'h:__proto__',
      'h:Reply-To',
      'v:a',
      'v:__proto__',
      'o:tag',
      'o:deliverytime',
      'o:tracking',
    ),
    fc.string({ maxLength: 10 }),
  )
  const value = fc.oneof(
    odd.map((given) => (typeof given === 'string' ? given : JSON.stringify(given))),
    fc.json(),
  )
  const file = fc.record({
    field: fc.constantFrom('attachment', 'inline', 'other'),
    filename: fc.string({ maxLength: 5 }),
    contentType: fc.string({ maxLength: 5 }),
    content: fc.constant(Buffer.from('x')),
  })
  const form = fc.record({
    fields: fc
      .array(fc.tuple(name, value), { maxLength: 6 })
      .map((more): [string, string][] => [['from', 'app@sender.example'], ['to', 'ann@example.com'], ...more]),
    files: fc.array(file, { maxLength: 2 }),
  })
  fc.assert(
    fc.property(form, (given) => emailsOf(() => fromMailgun(given, 'sender.example').emails).forEach(check)),
    { numRuns: cases(300) },
  )
})

test('a line break in any place is handed on as it is, for the API to refuse, or refused at once', () => {
  const evil = 'x\r\nBcc: eve@example.com'
  const attempts = [
    () =>
      fromSendGrid({
        from: { email: 'a@sender.example', name: evil },
        personalizations: [{ to: [{ email: 'b@example.com', name: evil }] }],
        subject: 'a',
        content: [{ type: 'text/plain', value: 'x' }],
      }).emails,
    () =>
      fromSendGrid({
        from: { email: 'a@sender.example' },
        personalizations: [{ to: [{ email: 'b@example.com' }], substitutions: { n: evil } }],
        subject: 'n',
        content: [{ type: 'text/plain', value: 'x' }],
      }).emails,
    () => [fromPostmark({ From: `"${evil}" <a@sender.example>`, To: 'b@example.com', Subject: 'a', TextBody: 'x' })],
    () => [fromPostmark({ From: 'a@sender.example', To: 'b@example.com', Subject: evil, TextBody: 'x' })],
    () =>
      fromMailgun(
        {
          fields: [
            ['from', 'a@sender.example'],
            ['to', 'b@example.com'],
            ['subject', evil],
            ['text', 'x'],
          ],
          files: [],
        },
        'sender.example',
      ).emails,
    () =>
      fromMailgun(
        {
          fields: [
            ['from', 'a@sender.example'],
            ['to', 'b@example.com'],
            ['subject', '%recipient.n%'],
            ['text', 'x'],
            ['recipient-variables', JSON.stringify({ 'b@example.com': { n: evil } })],
          ],
          files: [],
        },
        'sender.example',
      ).emails,
  ]
  for (const attempt of attempts) expect(() => attempt().map((email) => validate(emailSchema, email))).toThrow(SternaError)
})
