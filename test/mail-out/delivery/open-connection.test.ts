import { beforeAll, describe, expect, it } from 'vitest'
import type { Attempt } from '../../../src/mail-out/delivery/attempt.ts'
import { jobOf, linesOf, testDelivery, testMx } from '../../support/delivery-fixture.ts'
import { renegotiate, type FakeMx, type FakeMxOptions, type MxHooks } from '../../support/fake-mx.ts'
import { testCertificate, type TestCertificate } from '../../support/test-certificates.ts'

let certificate: TestCertificate
let expired: TestCertificate
let otherName: TestCertificate
beforeAll(async () => {
  const name = ['mx1.example.com']
  ;[certificate, expired, otherName] = await Promise.all([
    testCertificate(name),
    testCertificate(name, { expired: true }),
    testCertificate(['other.test']),
  ])
})

const reasonOf = ({ outcome }: Pick<Attempt, 'outcome'>): string => (outcome.type === 'delivered' ? '' : outcome.reason)
const enforced = () => jobOf({ recipientTls: 'verify' })

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

  it('is given up for plain text, on a new connection, where the handshake fails', async () => {
    const mx = await testMx({ tls: 'garbage' })
    const attempt = await testDelivery([mx]).attempt()
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
    const delivery = testDelivery([mx])
    // Both over the same connection.
    for (let sent = 0; sent < 2; sent++)
      expect(await delivery.attempt()).toMatchObject({ outcome: { type: 'delivered' }, tls: null, plainBecause: reply })
    expect(mx.sessions).toHaveLength(1)
  })
})

describe('TLS that fails', () => {
  const minute = 60_000
  const start = Date.UTC(2026, 10, 22)
  const isStartTls = (command: string): boolean => command === 'STARTTLS'
  const triedByTls = (mx: FakeMx): number => mx.sessions.filter(({ commands }) => commands.some(isStartTls)).length

  it.each<[string, () => FakeMxOptions]>([
    [
      'a client certificate is demanded, which TLS 1.3 says after the handshake',
      () => ({ tls: { ...certificate, demandsCertificate: true } }),
    ],
    ['a client certificate is demanded, by TLS 1.2', () => ({ tls: { ...certificate, demandsCertificate: true, maxVersion: 'TLSv1.2' } })],
    ['EHLO is refused inside TLS', () => ({ tls: certificate, on: { ehlo: (_, { tls }) => (tls ? '550 5.5.1 What?' : undefined) } })],
    ['an old version', () => ({ tls: { ...certificate, minVersion: 'TLSv1', maxVersion: 'TLSv1.1' } })],
  ])('for good is followed by plain text in the same attempt, and by plain text alone for a day: %s', async (_, options) => {
    const mx = await testMx(options())
    const delivery = testDelivery([mx])
    const attempt = await delivery.attempt(jobOf({ at: start }))
    expect(attempt).toMatchObject({ outcome: { type: 'delivered' }, tls: null })
    expect(linesOf(attempt).some(([, , line]) => line.startsWith('(in plain text: TLS failed at 2026-11-22T00:00:00'))).toBe(true)
    await delivery.attempt(jobOf({ at: start + 23 * 60 * minute }))
    expect(triedByTls(mx)).toBe(1)
    await delivery.attempt(jobOf({ at: start + 24 * 60 * minute }))
    expect([triedByTls(mx), mx.messages.length]).toEqual([2, 3])
  })

  const closes: MxHooks = { starttls: () => 'close' }
  it.each<[string, () => FakeMxOptions]>([
    ['closed after the handshake', () => ({ tls: { ...certificate, afterHandshake: 'close' } })],
    ['reset after the handshake', () => ({ tls: { ...certificate, afterHandshake: 'reset' } })],
    ['silent after the handshake', () => ({ tls: { ...certificate, afterHandshake: 'hang' } })],
    ['silent in the handshake', () => ({ tls: 'hang' })],
    ['closed at STARTTLS', () => ({ tls: certificate, on: closes })],
    ['closed at MAIL', () => ({ tls: certificate, on: { mail: (_, __, { tls }) => (tls ? 'close' : undefined) } })],
  ])('for now is tried again, and followed by plain text once it fails after five minutes too: %s', async (_, options) => {
    const mx = await testMx(options())
    const delivery = testDelivery([mx], { timeouts: { handshake: 300, command: 1500 } })
    for (const at of [start, start + minute, start + 5 * minute - 1]) {
      expect(await delivery.attempt(jobOf({ at }))).toMatchObject({ outcome: { type: 'deferred' } })
    }
    expect(await delivery.attempt(jobOf({ at: start + 5 * minute }))).toMatchObject({ outcome: { type: 'delivered' }, tls: null })
    await delivery.attempt(jobOf({ at: start + 6 * minute }))
    expect([triedByTls(mx), mx.messages.length]).toEqual([4, 2])
  })

  it('because the host asks for one handshake after the other ends the connection; one more it may have', async () => {
    const asking = (times: number) =>
      testMx({ tls: { ...certificate, maxVersion: 'TLSv1.2', afterHandshake: (socket) => renegotiate(socket, times) } })
    expect(await testDelivery([await asking(1)]).attempt()).toMatchObject({ outcome: { type: 'delivered' }, tls: { version: 'TLSv1.2' } })
    const endless = await asking(1_000)
    endless.on = { ehlo: (_, { tls }) => (tls ? 'hang' : undefined) }
    const attempt = await testDelivery([endless]).attempt()
    expect(attempt.outcome.type).toBe('deferred')
    expect(reasonOf(attempt)).toContain('one TLS handshake after the other')
  })

  it('while the message flows leaves the next attempt to plain text, since nobody knows what the host has', async () => {
    const mx = await testMx({ tls: certificate, on: { content: (_, { tls }) => (tls ? 'reset' : undefined) } })
    const delivery = testDelivery([mx])
    for (const at of [start, start + 5 * minute])
      expect(await delivery.attempt(jobOf({ at }))).toMatchObject({ outcome: { type: 'deferred' } })
    expect(mx.sessions).toHaveLength(2)
    expect(await delivery.attempt(jobOf({ at: start + 6 * minute }))).toMatchObject({ outcome: { type: 'delivered' }, tls: null })
  })

  it('once is forgotten where it works again', async () => {
    const mx = await testMx({ tls: certificate, on: closes })
    const delivery = testDelivery([mx], { limits: { messagesPerConnection: 1 } })
    await delivery.attempt(jobOf({ at: start }))
    mx.on = {}
    expect(await delivery.attempt(jobOf({ at: start + minute }))).toMatchObject({ tls: { version: 'TLSv1.3' } })
    mx.on = closes
    expect(await delivery.attempt(jobOf({ at: start + 10 * minute }))).toMatchObject({ outcome: { type: 'deferred' } })
    expect(mx.messages.map(({ tls }) => tls)).toEqual([true])
  })

  it('is no reason for plain text while another host has TLS that works', async () => {
    const one = await testMx({ tls: 'garbage' })
    const two = await testMx({ host: '127.0.0.2', port: one.port, tls: certificate })
    const delivery = testDelivery([one, two])
    for (const at of [start, start + minute])
      expect(await delivery.attempt(jobOf({ at }))).toMatchObject({ mxHost: 'mx2.example.com', tls: { version: 'TLSv1.3' } })
    expect(one.sessions).toHaveLength(1)
    await two.close()
    expect(await delivery.attempt(jobOf({ at: start + 2 * minute }))).toMatchObject({
      mxHost: 'mx1.example.com',
      outcome: { type: 'delivered' },
      tls: null,
    })
  })

  it('leaves what is refused in plain text too refused, and TLS to be tried first again', async () => {
    const mx = await testMx({ tls: certificate, on: { ehlo: () => '550 5.7.1 Not you' } })
    const delivery = testDelivery([mx])
    for (const at of [start, start + minute]) expect(await delivery.attempt(jobOf({ at }))).toMatchObject({ outcome: { type: 'deferred' } })
    mx.on = { ehlo: (_, { tls }) => (tls ? '550 5.7.1 Not you' : undefined) }
    expect(await delivery.attempt(jobOf({ at: start + 2 * minute }))).toMatchObject({ outcome: { type: 'delivered' }, tls: null })
  })

  it('never makes mail that demands TLS leave without', async () => {
    const mx = await testMx({ tls: 'garbage' })
    const delivery = testDelivery([mx])
    expect(await delivery.attempt(jobOf({ at: start }))).toMatchObject({ outcome: { type: 'delivered' }, tls: null })
    for (const at of [start + minute, start + 10 * minute]) {
      expect(await delivery.attempt(jobOf({ at, recipientTls: 'verify' }))).toMatchObject({
        outcome: { type: 'deferred', category: 'policy' },
      })
    }
    expect(mx.messages).toHaveLength(1)
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
    expect(mx.sessions.map(({ commands }) => commands)).toEqual([
      ['EHLO relay.test', 'STARTTLS'],
      ['EHLO relay.test', 'STARTTLS'],
    ])
  })
})
