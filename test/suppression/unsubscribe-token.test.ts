import fc from 'fast-check'
import { expect, test } from 'vitest'
import { secretsFrom } from '../../src/account/key-file.ts'
import { newId } from '../../src/id.ts'
import { unsubscribeKeys, UnsubscribeTokens } from '../../src/suppression/unsubscribe-token.ts'

const tokens = new UnsubscribeTokens(unsubscribeKeys(secretsFrom(Buffer.alloc(32, 7)).deriveKey))
const target = { accountId: newId('acc', 0), messageId: newId('em', 0), sandbox: false, address: 'ann@rcpt.example', topic: '' }

test('says to us what was put in, and nothing to others', () => {
  const anything = fc.record({
    accountId: fc.constant(target.accountId),
    messageId: fc.constant(target.messageId),
    sandbox: fc.boolean(),
    address: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 254 }).filter((text) => Buffer.byteLength(text) <= 254 && text.isWellFormed()),
    topic: fc.stringMatching(/^[A-Za-z0-9_-]{0,64}$/),
  })
  fc.assert(
    fc.property(anything, (each) => {
      const token = tokens.encode(each)
      expect(token).toMatch(/^[\w-]{1,1000}$/)
      expect(tokens.decode(token)).toEqual(each)
    }),
  )
  expect(Buffer.from(tokens.encode(target), 'base64url').toString('latin1')).not.toContain('ann')
})

test('is the same at every attempt, and another for whatever else is in it', () => {
  expect(tokens.encode(target)).toBe(tokens.encode({ ...target }))
  const others = [{ topic: 'news' }, { address: 'bob@rcpt.example' }, { sandbox: true }, { messageId: newId('em', 1) }, { accountId: newId('acc', 1) }]
  const all = [target, ...others.map((change) => ({ ...target, ...change }))].map((each) => tokens.encode(each))
  expect(new Set(all.map((token) => token.slice(0, 16))).size).toBe(all.length)
})

test('is not to be made or changed by others: no bit, no other spelling, no other key file', () => {
  const token = tokens.encode(target)
  const bytes = Buffer.from(token, 'base64url')
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const changed = Buffer.from(bytes)
    changed[bit >> 3]! ^= 1 << (bit & 7)
    expect(tokens.decode(changed.toString('base64url'))).toBeNull()
  }
  for (const each of [`${token}=`, `${token}A`, token.slice(0, -1), '', 'A', 'A'.repeat(2000), 'ä', `${token} `]) expect(tokens.decode(each)).toBeNull()
  expect(new UnsubscribeTokens(unsubscribeKeys(secretsFrom(Buffer.alloc(32, 8)).deriveKey)).decode(token)).toBeNull()
  fc.assert(fc.property(fc.base64String(), (text) => tokens.decode(text) === null))
})
