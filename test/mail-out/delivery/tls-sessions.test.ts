import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { jobOf, linesOf, testDelivery, testMx, type ReadAttempt, type TestDelivery } from '../../support/delivery-fixture.ts'
import type { FakeMx, FakeTls } from '../../support/fake-mx.ts'
import { fakeResolver } from '../../support/fake-resolver.ts'
import { testCertificate, type TestCertificate } from '../../support/test-certificates.ts'

const minute = 60_000
const day = 24 * 60 * minute

let valid: TestCertificate
let second: TestCertificate
let otherName: TestCertificate
beforeAll(async () => {
  const name = ['mx1.example.com']
  ;[valid, second, otherName] = await Promise.all([
    testCertificate(name),
    testCertificate(['second.test', ...name]),
    testCertificate(['other.test']),
  ])
})

/** One message a connection. */
const limits = { messagesPerConnection: 1 }

const versions = ['TLSv1.2', 'TLSv1.3'] as const
const enforced = () => jobOf({ recipientTls: 'verify' })
const resumedBy = (mx: FakeMx): boolean[] => mx.sessions.map(({ isResumed }) => isResumed)
const saysResumed = (attempt: ReadAttempt): boolean => linesOf(attempt).some(([, , line]) => /^\(TLS.* session resumed/.test(line))
const delivered = { outcome: { type: 'delivered' } }

/** Several attempts, one after the other. */
async function attempts(delivery: TestDelivery, count: number, job = jobOf): Promise<ReadAttempt[]> {
  const made: ReadAttempt[] = []
  for (let i = 0; i < count; i++) made.push(await delivery.attempt(job()))
  return made
}

describe.each(versions)('a session of %s', (maxVersion) => {
  const host = (tls: Omit<FakeTls, 'maxVersion'>) => testMx({ tls: { ...tls, maxVersion } })

  it('is resumed by the next connections, and the attempts tell the same of the certificate', async () => {
    for (const extraAuthorities of [[valid.cert], []]) {
      const mx = await host(valid)
      const made = await attempts(testDelivery([mx], { limits, extraAuthorities }), 4)
      expect(resumedBy(mx)).toEqual([false, true, true, true])
      expect(made.map(saysResumed)).toEqual(resumedBy(mx))
      const tls = { version: maxVersion, cipher: expect.any(String) as string, verified: extraAuthorities.length > 0 }
      expect(made.map((each) => each.tls)).toMatchObject(resumedBy(mx).map((resumed) => ({ ...tls, resumed })))
    }
  })

  it('is not resumed under a stricter policy: what was not verified stays so', async () => {
    for (const tls of [otherName, valid]) {
      const mx = await host(tls)
      const delivery = testDelivery([mx], { limits, extraAuthorities: [otherName.cert] })
      await attempts(delivery, 2)
      const [refused] = await attempts(delivery, 1, enforced)
      expect(refused).toMatchObject({ outcome: { type: 'deferred', category: 'policy' } })
      expect(refused && saysResumed(refused)).toBe(false)
      expect(mx.messages).toHaveLength(2)
    }
  })

  it('under a policy that requires a valid certificate resumes only what began with one', async () => {
    const mx = await host(valid)
    const delivery = testDelivery([mx], { limits, extraAuthorities: [valid.cert] })
    const made = [...(await attempts(delivery, 1)), ...(await attempts(delivery, 2, enforced)), ...(await attempts(delivery, 1))]
    expect(made.map(saysResumed)).toEqual([false, false, true, true])
    expect(made).toMatchObject(made.map(() => ({ ...delivered, tls: { verified: true } })))
  })

  it('counts for an hour, and no longer than the certificate', async () => {
    let at = Date.now()
    const mx = await host(valid)
    const delivery = testDelivery([mx], { limits, extraAuthorities: [valid.cert], now: () => at })
    for (let i = 0; i < 4; i++) {
      await attempts(delivery, 2, enforced)
      // The certificate lasts for 30 days.
      at += i === 2 ? 30 * day - 3 * 25 * minute - 20 * minute : 25 * minute
    }
    expect(resumedBy(mx)).toEqual([false, true, true, true, true, true, false, true])
  })

  it('does not count while the clock is behind the time it began at', async () => {
    let at = Date.now()
    const mx = await host(valid)
    const delivery = testDelivery([mx], { limits, extraAuthorities: [valid.cert], now: () => at })
    await attempts(delivery, 2, enforced)
    at -= day
    await attempts(delivery, 2, enforced)
    expect(resumedBy(mx)).toEqual([false, true, false, true])
  })

  it('has no part in what a host says after a full handshake, so it is not dialled again for that', async () => {
    const mx = await host({ ...valid, resumes: false })
    const delivery = testDelivery([mx], { limits, extraAuthorities: [valid.cert] })
    await attempts(delivery, 1, enforced)
    mx.on.ehlo = (_, { number, tls }) => (number === 2 && tls ? '554 5.7.1 Not you' : undefined)
    const [refused] = await attempts(delivery, 1, enforced)
    expect(refused?.outcome.type).not.toBe('delivered')
    expect(mx.sessions).toHaveLength(2)
  })

  it('goes when the host shows another certificate', async () => {
    const mx = await host(valid)
    const delivery = testDelivery([mx], { limits, extraAuthorities: [valid.cert, second.cert] })
    await attempts(delivery, 2, enforced)
    mx.options.tls = { ...second, maxVersion }
    const made = await attempts(delivery, 2, enforced)
    mx.options.tls = { ...otherName, maxVersion }
    const [last] = await attempts(delivery, 1, enforced)
    expect(made.map(saysResumed)).toEqual([false, true])
    expect(made).toMatchObject([delivered, delivered])
    expect(last?.outcome).toMatchObject({ type: 'deferred', category: 'policy' })
  })

  it('is not offered under another name of the same address, even if the host would resume it', async () => {
    const ticketKeys = randomBytes(48)
    const mx = await testMx({ tls: { ...valid, maxVersion, ticketKeys } })
    const zone = {
      'example.com': { mx: [[0, 'mx1.example.com']] as [number, string][] },
      'other.example': { mx: [[0, 'mx1.other.example']] as [number, string][] },
      'mx1.example.com': { a: [mx.host] },
      'mx1.other.example': { a: [mx.host] },
    }
    const delivery = testDelivery([mx], { limits, extraAuthorities: [valid.cert], resolver: fakeResolver(zone) })
    await attempts(delivery, 2, enforced)
    const elsewhere = await delivery.attempt({ ...enforced(), destination: 'other.example' })
    expect(elsewhere.outcome).toMatchObject({ type: 'deferred', category: 'policy' })
    expect(resumedBy(mx)).toEqual([false, true, false])
  })

  it('is not needed: a host that never resumes gets full handshakes', async () => {
    const mx = await host({ ...valid, resumes: false })
    expect(await attempts(testDelivery([mx], { limits }), 3)).toMatchObject([delivered, delivered, delivered])
    expect(resumedBy(mx)).toEqual([false, false, false])
  })

  it.each(['reset', 'close'] as const)(
    'that makes a host hang up (%s) is given up for a full handshake in the same attempt',
    async (end) => {
      const mx = await host(valid)
      mx.on.starttls = ({ number }) => (number === 2 ? { reply: '220 2.0.0 Ready', end } : undefined)
      const made = await attempts(testDelivery([mx], { limits, extraAuthorities: [valid.cert] }), 3)
      expect(made).toMatchObject(made.map(() => ({ ...delivered, tls: { verified: true } })))
      expect(made.map(saysResumed)).toEqual([false, false, true])
      expect(mx.sessions).toHaveLength(4)
    },
  )
})

it('connections that are opened at the same time resume one session', async () => {
  const mx = await testMx({ tls: valid })
  const delivery = testDelivery([mx], { limits })
  await attempts(delivery, 1)
  await Promise.all([1, 2, 3].map(() => delivery.attempt()))
  expect(resumedBy(mx)).toEqual([false, true, true, true])
})

it('a session with a certificate of many names is too large to keep', async () => {
  const names = Array.from({ length: 900 }, (_, i) => `host-${i}.example.com`)
  const mx = await testMx({ tls: await testCertificate(['mx1.example.com', ...names]) })
  expect(await attempts(testDelivery([mx], { limits }), 2)).toMatchObject([delivered, delivered])
  expect(resumedBy(mx)).toEqual([false, false])
})
