import fc from 'fast-check'
import { expect, it } from 'vitest'
import { newId } from '../../src/id.ts'
import { decodeVerp, encodeVerp } from '../../src/smtp/verp.ts'

const key = Buffer.alloc(32, 7)
const dayMs = 86_400_000
const createdAt = Date.UTC(2026, 10, 21, 13)
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

it('survives the way to a report and back', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: Date.UTC(2090, 0) }), (at) => {
      const recipientId = newId('rcp', at)
      const localPart = encodeVerp({ recipientId, createdAt: at }, key)
      expect(localPart).toMatch(/^b[0-9a-z]{46}$/)
      expect(decodeVerp(localPart, key, at)).toBe(recipientId)
      expect(decodeVerp(localPart.toUpperCase(), key, at)).toBe(recipientId)
    }),
  )
})

it('is the same for every attempt, and good until the end of its last day', () => {
  const recipientId = newId('rcp', createdAt)
  const localPart = encodeVerp({ recipientId, createdAt }, key)
  expect(encodeVerp({ recipientId, createdAt }, key)).toBe(localPart)
  const lastDay = Date.UTC(2026, 11, 21)
  expect(decodeVerp(localPart, key, lastDay + dayMs - 1)).toBe(recipientId)
  expect(decodeVerp(localPart, key, lastDay + dayMs)).toBeNull()
})

it('is not to be forged: no other letter at any place is accepted', () => {
  const localPart = encodeVerp({ recipientId: newId('rcp', createdAt), createdAt }, key)
  for (let at = 0; at < localPart.length; at++) {
    for (const letter of alphabet) {
      const forged = localPart.slice(0, at) + letter + localPart.slice(at + 1)
      if (forged !== localPart) expect(decodeVerp(forged, key, createdAt)).toBeNull()
    }
  }
  expect(decodeVerp(localPart, Buffer.alloc(32, 8), createdAt)).toBeNull()
})

it('takes nothing else', () => {
  fc.assert(fc.property(fc.string(), (text) => decodeVerp(text, key, createdAt) === null))
  for (const text of ['', 'b', 'bounce', `b${'0'.repeat(45)}`, `b${'0'.repeat(46)}`, `b${'u'.repeat(46)}`]) {
    expect(decodeVerp(text, key, createdAt)).toBeNull()
  }
})
