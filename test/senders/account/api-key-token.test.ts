import fc from 'fast-check'
import { expect, test } from 'vitest'
import { digestOf, isWellFormed, newToken, storedToken } from '../../../src/senders/account/api-key-token.ts'

test('tokens are recognisable, safe to put anywhere, and never the same', () => {
  const tokens = Array.from({ length: 1000 }, (_, i) => newToken(i % 2 === 1))
  expect(new Set(tokens).size).toBe(1000)
  for (const [i, token] of tokens.entries()) {
    expect(token).toMatch(i % 2 === 1 ? /^sterna_test_[0-9A-Za-z]{49}$/ : /^sterna_live_[0-9A-Za-z]{49}$/)
    expect(isWellFormed(token)).toBe(true)
  }
})

test('a token with one character changed, missing or added is refused without a look-up', () => {
  const character = fc.constantFrom(...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_- ')
  fc.assert(
    fc.property(fc.boolean(), fc.nat(60), character, (sandbox, place, other) => {
      const token = newToken(sandbox)
      fc.pre(token[place] !== other)
      expect(isWellFormed(token.slice(0, place) + other + token.slice(place + 1))).toBe(false)
      expect(isWellFormed(token.slice(0, place) + token.slice(place + 1))).toBe(false)
      expect(isWellFormed(token.slice(0, place) + other + token.slice(place))).toBe(false)
    }),
  )
})

test('nothing else is well-formed', () => {
  fc.assert(fc.property(fc.string(), (text) => !isWellFormed(text)))
})

test('what is stored and what is shown do not give the token away', () => {
  const token = newToken(false)
  expect(digestOf(token)).toMatch(/^[0-9a-f]{64}$/)
  const { prefix } = storedToken(token)
  expect(prefix).toHaveLength(18)
  expect(token.startsWith(prefix)).toBe(true)
})
