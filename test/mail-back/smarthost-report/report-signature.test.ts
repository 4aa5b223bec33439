import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { hasPassword, isSignedBySendgrid, mailgunToken, sendgridKey } from '../../../src/mail-back/smarthost-report/report-signature.ts'

/** The example of SendGrid's own library (`@sendgrid/eventwebhook`). */
const example = {
  key: 'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEEDr2LjtURuePQzplybdC+u4CwrqDqBaWjcMMsTbhdbcwHBcepxo7yAQGhHPTnlvFYPAZFceEu/1FwCM/QmGUhA==',
  signature: 'MEUCIQCtIHJeH93Y+qpYeWrySphQgpNGNr/U+UyUlBkU6n7RAwIgJTz2C+8a8xonZGi6BpSzoQsbVRamr2nlxFDWYNH2j/0=',
  timestamp: '1588788367',
  body: '{"category":"example_payload","event":"test_event","message_id":"message_id"}',
}

test('a signature of SendGrid is that of its own library', () => {
  const { body, signature, timestamp } = example
  const key = sendgridKey(example.key)
  expect(isSignedBySendgrid(body, { signature, timestamp }, key)).toBe(true)
  const others = [
    { signature, timestamp: '1588788368' },
    { signature: signature.replace('H2j', 'H3j'), timestamp },
    { signature: 'nonsense', timestamp },
    { signature: undefined, timestamp },
    { signature, timestamp: undefined },
  ]
  for (const other of others) expect(isSignedBySendgrid(body, other, key)).toBe(false)
  expect(isSignedBySendgrid(`${body} `, { signature, timestamp }, key)).toBe(false)
})

test('a signature of Mailgun counts with its key, for a while', () => {
  const at = 1_795_240_455
  const body = (timestamp: unknown, token: unknown, key = 'key') => ({
    signature: {
      timestamp,
      token,
      signature: createHmac('sha256', key)
        .update(`${String(timestamp)}${String(token)}`)
        .digest('hex'),
    },
  })
  const isSigned = (given: unknown, hours = 0) => mailgunToken(given, 'key', at * 1000 + hours * 3_600_000) !== null
  expect(isSigned(body(String(at), 'token'))).toBe(true)
  expect([11, 13, -13].map((hours) => isSigned(body(String(at), 'token'), hours))).toEqual([true, false, false])
  expect(isSigned(body(String(at), 'token', 'other'))).toBe(false)
  for (const odd of [null, [], {}, { signature: null }, { signature: { timestamp: String(at), token: 't', signature: '' } }])
    expect(isSigned(odd)).toBe(false)
  expect(isSigned(body('', ''))).toBe(false)
  expect(isSigned(body(String(at), ''))).toBe(false)
})

test('a password counts with any user name', () => {
  const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`
  expect(hasPassword(basic('sterna:s3cret:word'), 's3cret:word')).toBe(true)
  expect(hasPassword(basic(':s3cret').replace('Basic', 'basic'), 's3cret')).toBe(true)
  for (const given of [undefined, '', 'Basic', basic(''), basic('s3cre'), basic('sterna:'), basic('sterna:s3cret '), 'Bearer s3cret'])
    expect(hasPassword(given, 's3cret')).toBe(false)
})
