import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { returnPathRecipient } from '../../../src/mail-back/feedback/return-path-recipient.ts'
import { encodeToken } from '../../../src/platform/smtp/verp.ts'

const key = Buffer.alloc(32, 1)
const day = 86_400_000
const now = Date.UTC(2026, 10, 21)
const recipientId = 'rcp_01j8x4m3k2n5p7q9r1s3t5v7w9'
const frame = {
  isOurs: (domain: string) => ['relay.example', 'send.customer.example', 'send.unproved.example'].includes(domain),
  isVerified: (domain: string) => domain !== 'send.unproved.example',
  tokenKeys: () => [key],
  now,
}
const tokenOf = (purpose: 'bounce' | 'reference' | 'unsubscribe', firstDueAt = now): string =>
  encodeToken(purpose, { recipientId, firstDueAt }, key)
const at = (localPart: string): string => `${localPart}@relay.example`

describe('an address of ours', () => {
  test.each([
    ['postmaster', 'postmaster'],
    ['PostMaster', 'postmaster'],
    ['abuse', 'abuse'],
    ['fbl', 'complaint'],
    ['dmarc-reports', 'dmarc_report'],
    ['TLS-Reports', 'tls_report'],
  ])('%s is for %s', (localPart, purpose) => {
    for (const domain of ['relay.example', 'send.customer.example']) {
      const forwardPath = `${localPart}@${domain}`
      expect(returnPathRecipient(forwardPath, frame)).toEqual({ forwardPath, purpose, recipientId: null })
    }
  })

  test.each(['bounce', 'unsubscribe'] as const)('with a token for %s identifies the recipient, in any case', (purpose) => {
    for (const localPart of [tokenOf(purpose), tokenOf(purpose).toUpperCase()]) {
      expect(returnPathRecipient(at(localPart), frame)).toEqual({ forwardPath: at(localPart), purpose, recipientId })
    }
  })
})

describe('refuses', () => {
  test('a domain that is not ours, whatever the local part', () => {
    for (const localPart of ['postmaster', tokenOf('bounce')]) {
      expect(returnPathRecipient(`${localPart}@relay.example.net`, frame)).toMatchObject({ code: 550, enhancedStatus: '5.7.1' })
    }
  })

  test.each(['postmaster', 'Abuse'])('%s at a domain that is not verified, which tokens and reports still reach', (localPart) => {
    const take = (name: string) => returnPathRecipient(`${name}@send.unproved.example`, frame)
    expect(take(localPart)).toMatchObject({ code: 550, enhancedStatus: '5.1.1' })
    for (const name of [tokenOf('bounce'), 'fbl', 'dmarc-reports']) expect(take(name)).not.toHaveProperty('code')
  })

  test.each(['user', 'postmaster+x', 'user%example.net', 'fbl.', 'b', tokenOf('reference'), `${tokenOf('bounce')}0`])(
    '%s: no such mailbox',
    (localPart) => {
      expect(returnPathRecipient(at(localPart), frame)).toMatchObject({ code: 550, enhancedStatus: '5.1.1' })
    },
  )

  test('an expired token, with a reply that says so', () => {
    expect(returnPathRecipient(at(tokenOf('bounce', now - 32 * day)), frame)).toMatchObject({ code: 550, enhancedStatus: '5.2.1' })
  })

  test('a token with any letter changed', () => {
    const token = tokenOf('bounce')
    const letter = fc.constantFrom(...'0123456789abcdefghjkmnpqrstvwxyz')
    fc.assert(
      fc.property(fc.nat(token.length - 1), letter, (place, other) => {
        fc.pre(token[place] !== other)
        const changed = token.slice(0, place) + other + token.slice(place + 1)
        expect(returnPathRecipient(at(changed), frame)).toMatchObject({ code: 550, enhancedStatus: '5.1.1' })
      }),
    )
  })
})
