import { expect, test } from 'vitest'
import { hostOutcomeOf, type Phase } from '../../../src/mail-out/delivery/outcome.ts'
import { refusalSign } from '../../../src/mail-out/delivery/refusal-sign.ts'

const google = 'aspmx.l.google.com'
const minute = 60_000

test.each<[string, Phase, string, string | null, string, { stopMs: number | null; isOfHost?: false } | null]>([
  [
    google,
    'dot',
    '421',
    '4.7.28',
    'Gmail has detected an unusual rate of unsolicited mail originating from your IP address.',
    { stopMs: 10 * minute },
  ],
  [
    google,
    'dot',
    '550',
    '5.7.28',
    'There is an unusual rate of unsolicited mail originating from your IP address.',
    { stopMs: 10 * minute },
  ],
  [google, 'dot', '421', '4.7.28', 'Gmail has detected an unusual rate of unsolicited mail originating from your DKIM domain.', null],
  [google, 'rcpt', '450', '4.2.1', 'The user you are trying to contact is receiving mail too quickly.', null],
  [
    google,
    'dot',
    '550',
    '5.7.1',
    'An unusual rate of unsolicited mail is originating from your IP address',
    { stopMs: 10 * minute, isOfHost: false },
  ],
  ['eu-smtp.mimecast.com', 'rcpt', '550', '5.7.1', 'Too many messages, try again in 4 hours', { stopMs: 240 * minute, isOfHost: false }],
  ['eu-smtp.mimecast.com', 'rcpt', '450', '4.7.1', 'Too many messages, try again in 4 hours', { stopMs: 240 * minute, isOfHost: false }],
  [google, 'rcpt', '450', '4.7.1', 'Too many messages, try again in 4 hours', { stopMs: 240 * minute }],
  ['eu-smtp.mimecast.com', 'mail', '421', '4.7.0', 'Too many messages, try again in 4 hours', { stopMs: 240 * minute }],
  ['mx.rcpt.example', 'mail', '421', '4.7.0', 'Too many messages, try again in 30 minutes', { stopMs: 30 * minute }],
  ['mx.rcpt.example', 'mail', '421', '4.7.0', 'Too many messages, try again in 2-4 hours', { stopMs: 120 * minute }],
  ['mx.rcpt.example', 'mail', '421', '4.7.0', 'Too many messages, wait 600 seconds', { stopMs: 10 * minute }],
  ['mx.rcpt.example', 'mail', '421', '4.7.0', 'Too many messages, try again in 90000 hours', { stopMs: 240 * minute }],
  ['mx.rcpt.example', 'mail', '421', '4.7.0', 'Too many messages, try again in 60 seconds', { stopMs: null }],
  ['mx.rcpt.example', 'mail', '421', '4.7.0', 'Too many messages, try again later, in 1 hour', { stopMs: 60 * minute }],
  ['mx.rcpt.example', 'mail', '450', '4.7.1', 'Too many messages from your IP in 24 hours', { stopMs: null }],
  ['mx.rcpt.example', 'mail', '450', '4.7.1', 'Rate limit exceeded: 500 messages within 1 hour, try again later', { stopMs: null }],
  ['mx.rcpt.example', 'mail', '550', '5.7.1', 'Your IP address is blocked for 48 hours of spam', { stopMs: null }],
  ['mx.rcpt.example', 'rcpt', '450', '4.7.1', 'Greylisted, try again in 300 seconds', null],
  ['mx.rcpt.example', 'rcpt', '550', '5.7.1', 'Too many invalid recipients', null],
  ['mx.rcpt.example', 'rcpt', '550', '5.1.1', 'No such user', null],
])('%s says at %s: %s %s %s', (host, phase, code, enhancedStatus, text, sign) => {
  const { outcome } = hostOutcomeOf(phase, { code: Number(code), enhancedStatus, text })
  expect(refusalSign(outcome, host)).toEqual(sign && { isOfHost: true, ...sign })
})
