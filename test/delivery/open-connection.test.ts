import { beforeAll, describe, expect, it } from 'vitest'
import type { Attempt } from '../../src/delivery/attempt.ts'
import { jobOf, linesOf, testDelivery, testMx } from '../support/delivery-fixture.ts'
import type { MxHooks } from '../support/fake-mx.ts'
import { testCertificate } from '../support/test-certificates.ts'
import type { TestCertificate } from '../support/test-certificates.ts'

let certificate: TestCertificate
let expired: TestCertificate
let otherName: TestCertificate
beforeAll(async () => {
  const name = ['mx1.example.com']
  ;[certificate, expired, otherName] = await Promise.all([testCertificate(name), testCertificate(name, { expired: true }), testCertificate(['other.test'])])
})

const reasonOf = ({ outcome }: Attempt): string => (outcome.type === 'delivered' ? '' : outcome.reason)
const enforced = () => jobOf({ tls: 'enforced' })

describe('TLS where it is offered', () => {
  it('is used, and whether the certificate is valid is written down', async () => {
    const mx = await testMx({ tls: certificate })
    const trusting = await testDelivery([mx], { extraAuthorities: [certificate.cert] }).attempt()
    expect(trusting).toMatchObject({ outcome: { type: 'delivered' }, tls: { version: 'TLSv1.3', verified: true } })
    const doubting = await testDelivery([mx]).attempt()
    expect(doubting).toMatchObject({ outcome: { type: 'delivered' }, tls: { version: 'TLSv1.3', verified: false } })
    expect(mx.messages.map(({ tls }) => tls)).toEqual([true, true])
    // What was offered in plain text is asked for anew.
    expect(mx.sessions[0]?.commands.slice(0, 3)).toEqual(['EHLO relay.test', 'STARTTLS', 'EHLO relay.test'])
  })

  it('carries large messages, with every certificate where none is demanded', async () => {
    const text = `Subject: big\r\n\r\n${`.${'x'.repeat(70)}\r\n`.repeat(20_000)}`
    for (const tls of [expired, otherName]) {
      const mx = await testMx({ tls })
      expect((await testDelivery([mx]).attempt(jobOf({ text }))).tls?.verified).toBe(false)
      expect(mx.messages[0]).toMatchObject({ tls: true })
      expect(mx.messages[0]?.data.equals(Buffer.from(text))).toBe(true)
    }
  })

  it.each(['garbage', 'hang'] as const)('is given up for plain text, on a new connection, where the handshake fails: %s', async (tls) => {
    const mx = await testMx({ tls })
    const attempt = await testDelivery([mx], { timeouts: { handshake: 60 } }).attempt()
    expect(attempt).toMatchObject({ outcome: { type: 'delivered' }, tls: null })
    expect(mx.sessions.map(({ commands }) => commands.slice(0, 2))).toEqual([
      ['EHLO relay.test', 'STARTTLS'],
      ['EHLO relay.test', expect.stringMatching(/^MAIL/)],
    ])
    expect(linesOf(attempt).some(([, , line]) => line.startsWith('(TLS handshake failed'))).toBe(true)
  })

  it('of an old version counts as a failed handshake', async () => {
    const mx = await testMx({ tls: { ...certificate, minVersion: 'TLSv1', maxVersion: 'TLSv1.1' } })
    expect(await testDelivery([mx]).attempt()).toMatchObject({ outcome: { type: 'delivered' }, tls: null })
  })

  it.each(['454 4.7.0 not now', '502 5.5.1 what'])('may be refused: %s', async (reply) => {
    const mx = await testMx({ tls: certificate, on: { starttls: () => reply } })
    expect(await testDelivery([mx]).attempt()).toMatchObject({ outcome: { type: 'delivered' }, tls: null })
    expect(mx.sessions).toHaveLength(1)
  })
})

describe('TLS where it is demanded', () => {
  it('delivers to a host with a valid certificate', async () => {
    const mx = await testMx({ tls: certificate })
    const delivery = testDelivery([mx], { extraAuthorities: [certificate.cert] })
    expect(await delivery.attempt(enforced())).toMatchObject({ outcome: { type: 'delivered' }, tls: { verified: true } })
  })

  it.each<[string, () => Parameters<typeof testMx>[0], RegExp]>([
    ['not offered', () => ({}), /does not offer STARTTLS/],
    ['an authority that nobody knows', () => ({ tls: certificate }), /not valid/],
    ['expired', () => ({ tls: expired }), /not valid.*EXPIRED/],
    ['another name', () => ({ tls: otherName }), /not valid/],
    ['a handshake that fails', () => ({ tls: 'garbage' }), /handshake failed/],
    ['an old version', () => ({ tls: { ...certificate, minVersion: 'TLSv1', maxVersion: 'TLSv1.1' } }), /handshake failed/],
    ['refused', () => ({ tls: certificate, on: { starttls: () => '454 4.7.0 not now' } }), /refused/],
  ])('defers, and sends nothing in plain text: %s', async (what, options, reason) => {
    const mx = await testMx(options())
    const known = what === 'expired' ? expired.cert : what === 'another name' ? otherName.cert : ''
    const attempt = await testDelivery([mx], { extraAuthorities: known ? [known] : [] }).attempt(enforced())
    expect(attempt.outcome).toMatchObject({ type: 'deferred', category: 'policy' })
    expect(reasonOf(attempt)).toMatch(reason)
    expect(mx.messages).toHaveLength(0)
    expect(mx.sessions.flatMap(({ commands }) => commands).filter((command) => /^(MAIL|RCPT|DATA)/.test(command))).toEqual([])
    expect(mx.sessions).toHaveLength(1)
  })
})

describe('bytes sent ahead of the handshake (CVE-2011-0411)', () => {
  it.each(['250-injected', '250 injected\r\n', '\r\n', '220 again\r\n250 more\r\n'])('drop the connection: %j', async (injected) => {
    const on: MxHooks = { starttls: () => `raw:220 2.0.0 Ready\r\n${injected}` }
    const mx = await testMx({ on, extensions: ['STARTTLS'] })
    for (const job of [jobOf(), enforced()]) {
      const attempt = await testDelivery([mx]).attempt(job)
      expect(attempt.outcome.type).toBe('deferred')
      expect(reasonOf(attempt)).toMatch(/out of turn|cannot be understood/)
    }
    expect(mx.messages).toHaveLength(0)
    expect(mx.sessions.map(({ commands }) => commands)).toEqual([['EHLO relay.test', 'STARTTLS'], ['EHLO relay.test', 'STARTTLS']])
  })
})
