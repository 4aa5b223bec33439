import fc from 'fast-check'
import { expect, test } from 'vitest'
import { secretsFrom } from '../../../src/senders/account/key-file.ts'
import { newId } from '../../../src/platform/id.ts'
import { decodeUnsubscribeToken, encodeUnsubscribeToken, unsubscribeKeys } from '../../../src/mail/suppression/unsubscribe-token.ts'

const keysFrom = (secret: number) => unsubscribeKeys(secretsFrom(Buffer.alloc(32, secret)).deriveKey)
const keys = keysFrom(7)
const target = { accountId: newId('acc', 0), messageId: newId('em', 0), sandbox: false, address: 'ann@rcpt.example', topic: '' }

test('returns what was put in, and reveals nothing to others', () => {
  const anything = fc.record({
    accountId: fc.constant(target.accountId),
    messageId: fc.constant(target.messageId),
    sandbox: fc.boolean(),
    address: fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 254 })
      .filter((text) => Buffer.byteLength(text) <= 254 && text.isWellFormed()),
    topic: fc.stringMatching(/^[A-Za-z0-9_-]{0,64}$/),
  })
  fc.assert(
    fc.property(anything, (each) => {
      const token = encodeUnsubscribeToken(each, keys)
      expect(token).toMatch(/^[\w-]{1,1000}$/)
      expect(decodeUnsubscribeToken(token, keys)).toEqual(each)
    }),
  )
  expect(Buffer.from(encodeUnsubscribeToken(target, keys), 'base64url').toString('latin1')).not.toContain('ann')
})

test('is the same at every attempt, and differs if anything in it differs', () => {
  expect(encodeUnsubscribeToken(target, keys)).toBe(encodeUnsubscribeToken({ ...target }, keys))
  const others = [
    { topic: 'news' },
    { address: 'bob@rcpt.example' },
    { sandbox: true },
    { messageId: newId('em', 1) },
    { accountId: newId('acc', 1) },
  ]
  const all = [target, ...others.map((change) => ({ ...target, ...change }))].map((each) => encodeUnsubscribeToken(each, keys))
  expect(new Set(all.map((token) => token.slice(0, 16))).size).toBe(all.length)
})

test('cannot be forged or changed: no bit, no other encoding, no other key file', () => {
  const token = encodeUnsubscribeToken(target, keys)
  const bytes = Buffer.from(token, 'base64url')
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const changed = Buffer.from(bytes)
    changed[bit >> 3]! ^= 1 << (bit & 7)
    expect(decodeUnsubscribeToken(changed.toString('base64url'), keys)).toBeNull()
  }
  for (const each of [`${token}=`, `${token}A`, token.slice(0, -1), '', 'A', 'A'.repeat(2000), 'ä', `${token} `])
    expect(decodeUnsubscribeToken(each, keys)).toBeNull()
  expect(decodeUnsubscribeToken(token, keysFrom(8))).toBeNull()
  fc.assert(fc.property(fc.base64String(), (text) => decodeUnsubscribeToken(text, keys) === null))
})
