import fc from 'fast-check'
import { expect, it } from 'vitest'
import { newId } from '../../../src/platform/id.ts'
import { decodeToken, encodeToken, type TokenPurpose } from '../../../src/platform/smtp/verp.ts'
import { cases } from '../../support/cases.ts'

const key = Buffer.alloc(32, 7)
const dayMs = 86_400_000
const firstDueAt = Date.UTC(2026, 10, 21, 13)
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const table: { purpose: TokenPurpose; letter: string; lastDay: number }[] = [
  { purpose: 'bounce', letter: 'b', lastDay: Date.UTC(2026, 11, 21) },
  { purpose: 'reference', letter: 'r', lastDay: Date.UTC(2027, 1, 19) },
  { purpose: 'unsubscribe', letter: 'u', lastDay: Date.UTC(2027, 1, 19) },
]

it.each(table)('survives the way to a bounce and back: $purpose', ({ purpose, letter }) => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: Date.UTC(2090, 0) }), (at) => {
      const recipientId = newId('rcp', at)
      const token = encodeToken(purpose, { recipientId, firstDueAt: at }, key)
      expect(token).toMatch(new RegExp(`^${letter}[0-9a-z]{46}$`))
      const decoded = { purpose, recipientId, isExpired: false }
      expect(decodeToken(token, key, at)).toEqual(decoded)
      expect(decodeToken(token.toUpperCase(), key, at)).toEqual(decoded)
    }),
  )
})

// Those in mail that has left must be known by every later version.
it.each([
  ['bounce', 'b01j8x4m3k2n5p7q9r1s3t5v7w90ma8amc0jsy3w4jh137s'],
  ['reference', 'r01j8x4m3k2n5p7q9r1s3t5v7w90mc43tqyv1g3q3am00wa'],
  ['unsubscribe', 'u01j8x4m3k2n5p7q9r1s3t5v7w90mc4te6enqd4zacntfs0'],
] as const)('never changes its format: %s', (purpose, token) => {
  expect(encodeToken(purpose, { recipientId: 'rcp_01j8x4m3k2n5p7q9r1s3t5v7w9', firstDueAt }, key)).toBe(token)
})

it.each(table)('is the same for every attempt, and valid until the end of its last day: $purpose', ({ purpose, lastDay }) => {
  const recipientId = newId('rcp', firstDueAt)
  const token = encodeToken(purpose, { recipientId, firstDueAt }, key)
  expect(encodeToken(purpose, { recipientId, firstDueAt }, key)).toBe(token)
  expect(decodeToken(token, key, lastDay + dayMs - 1)).toEqual({ purpose, recipientId, isExpired: false })
  expect(decodeToken(token, key, lastDay + dayMs)).toEqual({ purpose, recipientId, isExpired: true })
})

it.each(table)('does not become another purpose by changing the letter: $purpose', ({ purpose, letter }) => {
  const token = encodeToken(purpose, { recipientId: newId('rcp', firstDueAt), firstDueAt }, key)
  for (const other of table.filter((row) => row.purpose !== purpose)) {
    expect(decodeToken(token.replace(letter, other.letter), key, firstDueAt)).toBeNull()
  }
})

it('cannot be forged: no token with one bit changed is accepted', () => {
  let tried = 0
  for (let i = 0; tried < cases(100_000); i++) {
    const { purpose } = table[i % 3] as (typeof table)[number]
    const token = encodeToken(purpose, { recipientId: newId('rcp', firstDueAt), firstDueAt }, key)
    for (let at = 1; at < token.length; at++) {
      for (let bit = 1; bit < 32; bit *= 2) {
        const letter = alphabet[alphabet.indexOf(token.charAt(at)) ^ bit]
        tried++
        if (decodeToken(token.slice(0, at) + letter + token.slice(at + 1), key, firstDueAt)) expect.unreachable(`${token}, ${at}, ${bit}`)
      }
    }
  }
  expect(
    decodeToken(encodeToken('bounce', { recipientId: newId('rcp', firstDueAt), firstDueAt }, key), Buffer.alloc(32, 8), firstDueAt),
  ).toBeNull()
})

it('accepts nothing else', () => {
  fc.assert(fc.property(fc.string(), (text) => decodeToken(text, key, firstDueAt) === null))
  for (const text of ['', 'b', 'bounce', `b${'0'.repeat(45)}`, `b${'0'.repeat(46)}`, `b${'u'.repeat(46)}`, `s${'0'.repeat(46)}`]) {
    expect(decodeToken(text, key, firstDueAt)).toBeNull()
  }
})
