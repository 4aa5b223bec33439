import { expect, test } from 'vitest'
import { MessageIdentity } from '../../../src/mail-out/delivery/message-identity.ts'
import { decodeToken } from '../../../src/platform/smtp/verp.ts'
import { decodeUnsubscribeToken, unsubscribeKeys } from '../../../src/mail/suppression/unsubscribe-token.ts'

const tokenKey = Buffer.alloc(32, 7)
const keys = unsubscribeKeys((purpose) => Buffer.alloc(32, purpose))
const firstDueAt = Date.UTC(2026, 10, 21)
const domain = { name: 'sender.example', returnPathDomain: 'send.sender.example' }
const message = {
  id: `em_${'1'.repeat(26)}`,
  accountId: `acc_${'2'.repeat(26)}`,
  sandbox: false,
  firstDueAt,
  nullReversePath: false,
  feedbackTag: null,
  unsubscribeTopic: 'news',
}
const recipient = { id: `rcp_${'3'.repeat(26)}`, forwardPath: 'ann@rcpt.example' }
const identityAt = (baseUrl: string): MessageIdentity =>
  new MessageIdentity({ tokenKeys: () => [tokenKey], unsubscribe: () => ({ keys, baseUrl }), feedbackSender: 'relay' })
const identity = identityAt('https://mail.example')

test('each token is of the recipient, and for its own purpose', () => {
  const { reversePath, traceFields, fields } = identity.envelopeOf(message, recipient, domain)
  const [bounce = '', at] = reversePath.split('@')
  const decoded = { recipientId: recipient.id, isExpired: false }
  expect(decodeToken(bounce, tokenKey, firstDueAt)).toEqual({ ...decoded, purpose: 'bounce' })
  expect(at).toBe('send.sender.example')
  const reference = /^X-Sterna-Ref: (r\w{46})\r\n$/.exec(traceFields)?.[1] ?? ''
  expect(decodeToken(reference, tokenKey, firstDueAt)).toEqual({ ...decoded, purpose: 'reference' })
  const [, url, mailbox = ''] =
    /^List-Unsubscribe: <https:\/\/mail\.example\/u\/([\w-]+)>,\r\n <mailto:(u\w{46})@send\.sender\.example\?/.exec(
      fields[0]?.text ?? '',
    ) ?? []
  expect(decodeToken(mailbox, tokenKey, firstDueAt)).toEqual({ ...decoded, purpose: 'unsubscribe' })
  const target = { accountId: message.accountId, messageId: message.id, sandbox: false, address: 'ann@rcpt.example', topic: 'news' }
  expect(decodeUnsubscribeToken(url ?? '', keys)).toEqual(target)
})

test('one click is offered where the link has https', () => {
  const listFields = (baseUrl: string): string => identityAt(baseUrl).envelopeOf(message, recipient, domain).fields[0]?.text ?? ''
  expect(listFields('https://mail.example')).toMatch(/\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n$/)
  expect(listFields('http://mail.example:8080')).toMatch(
    /^List-Unsubscribe: <http:\/\/mail\.example:8080\/u\/[^>]+>,\r\n <mailto:[^>]+>\r\n$/,
  )
})

test('the longest names keep to the length of a line, in ASCII', () => {
  const address = `${'ü'.repeat(32)}@${'d'.repeat(63)}.${'e'.repeat(63)}.${'f'.repeat(60)}.example`
  const frame = identityAt(`https://${'h'.repeat(63)}.${'i'.repeat(63)}.example`).envelopeOf(
    { ...message, unsubscribeTopic: 't'.repeat(64) },
    { ...recipient, forwardPath: address },
    domain,
  )
  const text = frame.fields[0]?.text ?? ''
  expect(text).toMatch(/^[\x20-\x7e\r\n]+$/)
  for (const line of text.split('\r\n')) expect(line.length).toBeLessThan(998)
})
