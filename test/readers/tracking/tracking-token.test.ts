import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { newId } from '../../../src/platform/id.ts'
import { openTarget, sealTarget } from '../../../src/readers/tracking/sealed-target.ts'
import { markOf, readRecipientToken, recipientToken, trackingKeys } from '../../../src/readers/tracking/tracking-token.ts'
import { cases } from '../../support/cases.ts'

const keys = trackingKeys((purpose) => Buffer.alloc(32, purpose))
const now = Date.UTC(2026, 10, 22)
const tag = markOf('em_01', keys).tag
const recipient = { recipientId: newId('rcp', now), messageTag: tag }
const token = recipientToken(recipient, keys)
const place = { messageTag: tag, trackingHost: 'links.shop.example' }
const url = 'https://shop.example/orders/4711?x=1&y=ü'
const sealed = sealTarget({ link: 3, links: 5, url }, place, keys)

test("a recipient's token identifies the recipient and is the same at every attempt", () => {
  expect(readRecipientToken(token, keys)).toEqual(recipient)
  expect(token).toMatch(/^[0-9a-z]{48}$/)
  expect(recipientToken(recipient, keys)).toBe(token)
  for (const recipientId of ['rcp_00000000000000000000000000', 'rcp_7zzzzzzzzzzzzzzzzzzzzzzzzz']) {
    const parts = { recipientId, messageTag: tag }
    expect(readRecipientToken(recipientToken(parts, keys), keys)).toEqual(parts)
  }
})

test('similar recipients have dissimilar tokens', () => {
  const shared = Array.from({ length: 200 }, () => recipientToken({ ...recipient, recipientId: newId('rcp', now) }, keys)).map(
    (other) => [...other].filter((letter, place) => letter === token[place]).length,
  )
  expect(Math.max(...shared)).toBeLessThan(16)
})

test('a placeholder is as long as a token, but is none', () => {
  const { placeholder } = markOf('em_01', keys)
  expect(placeholder).toMatch(/^[0-9a-z]{48}$/)
  expect(readRecipientToken(placeholder, keys)).toBeNull()
  expect(markOf('em_02', keys).placeholder).not.toBe(placeholder)
})

test('a target opens only with a token of its own message, and at its own host', () => {
  expect(openTarget(sealed, place, keys)).toEqual({ link: 3, links: 5, url })
  expect(openTarget(sealed, { ...place, messageTag: markOf('em_02', keys).tag }, keys)).toBeNull()
  for (const trackingHost of ['', 'links.other.example']) expect(openTarget(sealed, { ...place, trackingHost }, keys)).toBeNull()
  expect(
    openTarget(
      sealed,
      place,
      trackingKeys((purpose) => Buffer.alloc(32, `other ${purpose}`)),
    ),
  ).toBeNull()
})

/** The text with one of its characters changed in one bit. */
function flipped(text: string): string {
  const bytes = Buffer.from(text)
  const random = randomBytes(3)
  bytes[random.readUInt16BE() % bytes.length]! ^= 1 << (random[2]! % 7)
  return bytes.toString('latin1')
}

test('of many tokens and targets with one bit changed, none is accepted', () => {
  let taken = 0
  for (let i = 0; i < cases(100_000); i++) {
    if (i % 2 === 0 ? readRecipientToken(flipped(token), keys) : openTarget(flipped(sealed), place, keys)) taken++
  }
  expect(taken).toBe(0)
}, 180_000)

test.each(['', 'x', token.toUpperCase(), `${token}0`, token.slice(1), '0'.repeat(48), 'é'.repeat(48)])('%j is no token', (text) => {
  expect(readRecipientToken(text, keys)).toBeNull()
})

test.each(['', 'AAAA', 'A'.repeat(32), `${sealed}=`, `${sealed} `, sealed.slice(0, -1), `${sealed}A`])('%j is no target', (text) => {
  expect(openTarget(text, place, keys)).toBeNull()
})
