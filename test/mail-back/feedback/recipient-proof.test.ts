import { expect, test } from 'vitest'
import { proofOf } from '../../../src/mail-back/feedback/recipient-proof.ts'
import { encodeToken, type TokenPurpose } from '../../../src/platform/smtp/verp.ts'

const key = Buffer.alloc(32, 7)
const day = 86_400_000
const receivedAt = Date.UTC(2026, 10, 21)
const ann = `rcp_${'a'.repeat(26)}`
const bob = `rcp_${'b'.repeat(26)}`
const token = (purpose: TokenPurpose, recipientId: string, ageDays = 1, by = key): string =>
  encodeToken(purpose, { recipientId, firstDueAt: receivedAt - ageDays * day }, by)
const path = (recipientId: string, ageDays = 1): string => `<${token('bounce', recipientId, ageDays)}@send.sender.example>`

test.each([
  ['its address', ann, null, null, { recipientId: ann, by: 'envelope' }],
  ['its address and a reference of the same recipient', ann, token('reference', ann), null, { recipientId: ann, by: 'message' }],
  ['its address, where the reference is too old to count', ann, token('reference', ann, 200), null, { recipientId: ann, by: 'envelope' }],
  ['a reference alone', null, token('reference', ann), null, { recipientId: ann, by: 'message' }],
  ['a reference in capitals', null, token('reference', ann).toUpperCase(), null, { recipientId: ann, by: 'message' }],
  ['the reverse-path of the message', null, null, path(ann), { recipientId: ann, by: 'envelope' }],
  ['both, of the same recipient', null, token('reference', ann), path(ann), { recipientId: ann, by: 'message' }],
])('%s proves the recipient', (_, recipientId, reference, reversePath, proof) => {
  expect(proofOf({ recipientId, receivedAt }, { reference, unsubscribe: null, reversePath, messageId: null }, [key])).toEqual(proof)
})

test.each([
  ['no token at all', null, null, null, 'no_token'],
  ['a token of somebody else’s making', null, token('reference', ann, 1, Buffer.alloc(32, 8)), null, 'no_token'],
  ['a token with one letter changed', null, token('reference', ann).replace(/.$/, (last) => (last === '0' ? '1' : '0')), null, 'no_token'],
  ['the token of a reverse-path in the place of the reference', null, token('bounce', ann), null, 'no_token'],
  ['a reference in the place of the reverse-path', null, null, `${token('reference', ann)}@send.sender.example`, 'no_token'],
  ['an address in words', null, 'ann@rcpt.example', 'ann@rcpt.example', 'no_token'],
  ['a reference whose time is over', null, token('reference', ann, 200), null, 'expired_token'],
  ['a reverse-path whose time is over', null, null, path(ann, 60), 'expired_token'],
  ['an address of one recipient, and the reference of another', ann, token('reference', bob), null, 'other_recipient'],
  ['an address of one recipient, and an old reference of another', ann, token('reference', bob, 200), null, 'other_recipient'],
  ['a reference of one recipient, and the reverse-path of another', null, token('reference', ann), path(bob), 'other_recipient'],
])('%s proves nothing', (_, recipientId, reference, reversePath, why) => {
  expect(proofOf({ recipientId, receivedAt }, { reference, unsubscribe: null, reversePath, messageId: null }, [key])).toBe(why)
})

test('the List-Unsubscribe address counts like the reference', () => {
  const original = { reference: null, reversePath: null, messageId: null }
  const unsubscribe = `${token('unsubscribe', ann)}@send.sender.example`
  expect(proofOf({ recipientId: null, receivedAt }, { ...original, unsubscribe }, [key])).toEqual({ recipientId: ann, by: 'message' })
  expect(proofOf({ recipientId: bob, receivedAt }, { ...original, unsubscribe }, [key])).toBe('other_recipient')
})

test('a token that the sender put into List-Unsubscribe cannot defeat a complaint', () => {
  const original = {
    reference: token('reference', ann),
    unsubscribe: `${token('unsubscribe', bob)}@send.sender.example`,
    reversePath: null,
    messageId: null,
  }
  expect(proofOf({ recipientId: null, receivedAt }, original, [key])).toEqual({ recipientId: ann, by: 'message' })
})
