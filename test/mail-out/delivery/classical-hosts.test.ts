import { beforeAll, describe, expect, it } from 'vitest'
import { classicalForMs, lostAgainMs } from '../../../src/mail-out/delivery/classical-hosts.ts'
import { jobOf, linesOf, testDelivery, testMx } from '../../support/delivery-fixture.ts'
import { helloProxy } from '../../support/hello-proxy.ts'
import { testCertificate, type TestCertificate } from '../../support/test-certificates.ts'

const hour = 3_600_000
const day = 24 * hour
/** One message a connection. */
const limits = { messagesPerConnection: 1 }

let certificate: TestCertificate
beforeAll(async () => {
  certificate = await testCertificate(['mx1.example.com'])
})

/** A host that asks for X25519MLKEM768. */
const modernHost = () => testMx({ tls: { ...certificate, resumes: false } })

describe('the hello', () => {
  it('is small, and the host agrees to the post-quantum group all the same', async () => {
    const proxy = await helloProxy(await modernHost(), () => false)
    const attempt = await testDelivery([proxy], { limits }).attempt()
    expect(attempt).toMatchObject({ outcome: { type: 'delivered' }, tls: { version: 'TLSv1.3' } })
    const [[first = 0, second = 0] = []] = proxy.hellos
    expect(first).toBeLessThan(500)
    expect(second).toBeGreaterThan(1_400)
  })

  it('is the only one where the host knows classical groups alone', async () => {
    const mx = await testMx({ tls: { ...certificate, groups: 'X25519:P-256' } })
    const proxy = await helloProxy(mx, () => false)
    await testDelivery([proxy]).attempt()
    expect(proxy.hellos).toHaveLength(1)
    expect(proxy.hellos[0]).toHaveLength(1)
  })
})

describe.each<[string, (hello: { bytes: number; number: number }) => boolean]>([
  ['hellos over 1,400 bytes', ({ bytes }) => bytes > 1_400],
  ['the second hello', ({ number }) => number === 2],
])('a host that resets %s', (_, resets) => {
  it.each(['opportunistic', 'verify'] as const)('gets its mail over TLS in the same attempt: %s', async (recipientTls) => {
    const mx = await modernHost()
    const delivery = testDelivery([await helloProxy(mx, resets)], { limits, extraAuthorities: [certificate.cert] })
    const attempt = await delivery.attempt(jobOf({ recipientTls }))
    expect(attempt).toMatchObject({ outcome: { type: 'delivered' }, tls: { version: 'TLSv1.3', verified: true } })
    expect(linesOf(attempt).some(([, , line]) => line.startsWith('(again, with classical groups only'))).toBe(true)
    expect(mx.messages).toMatchObject([{ tls: true }])
  })

  it('is offered classical groups only for a week', async () => {
    const proxy = await helloProxy(await modernHost(), resets)
    const at = Date.UTC(2026, 10, 28)
    let now = at
    const delivery = testDelivery([proxy], { limits, now: () => now })
    const key = `${proxy.host} ${proxy.port}`
    const sendAfter = (ms: number) => delivery.attempt(jobOf({ at: (now = at + ms) }))
    for (const after of [0, 1_000]) await sendAfter(after)
    expect(delivery.classicalHosts).toEqual([])
    const foundAt = at + lostAgainMs
    for (const after of [0, day, classicalForMs - 2 * hour]) await sendAfter(lostAgainMs + after)
    // A session that began with classical groups is not resumed by a hello that names all: that would lose another.
    expect(proxy.hellos.map(({ length }) => length)).toEqual([2, 1, 2, 1, 2, 1, 1, 1])
    expect(delivery.classicalHosts).toEqual([{ key, foundAt }])
    await sendAfter(lostAgainMs + classicalForMs)
    expect(proxy.hellos.map(({ length }) => length).slice(8, 9)).toEqual([2])
    expect(delivery.classicalHosts).toHaveLength(1)
  })
})

it('a healthy host whose handshakes break off now and then is not noted', async () => {
  let isBroken = false
  const mx = await modernHost()
  const proxy = await helloProxy(mx, ({ number }) => isBroken && number === 2)
  const at = Date.UTC(2026, 10, 28)
  let now = at
  const delivery = testDelivery([proxy], { limits, now: () => now })
  const send = (ms: number, broken: boolean) => ((isBroken = broken), delivery.attempt(jobOf({ at: (now = at + ms) })))
  for (const [minutes, broken] of [
    [0, true],
    [10, false],
    [20, true],
    [30, true],
    [40, false],
  ] as const)
    expect(await send(minutes * 60_000, broken)).toMatchObject({ outcome: { type: 'delivered' }, tls: { classical_only: broken } })
  expect(delivery.classicalHosts).toEqual([])
})

it('a noted host is offered all groups again once a handshake has failed there', async () => {
  let resets: (hello: { number: number }) => boolean = ({ number }) => number === 2
  const proxy = await helloProxy(await modernHost(), (hello) => resets(hello))
  const at = Date.UTC(2026, 10, 28)
  let now = at
  const delivery = testDelivery([proxy], { limits, now: () => now })
  const key = `${proxy.host} ${proxy.port}`
  const sendAfter = (ms: number) => delivery.attempt(jobOf({ at: (now = at + ms), recipientTls: 'require' }))
  await sendAfter(0)
  await sendAfter(lostAgainMs)
  resets = () => true
  expect(await sendAfter(hour)).toMatchObject({ outcome: { type: 'deferred' } })
  expect(delivery.classicalHosts).toEqual([
    { key, foundAt: at + lostAgainMs },
    { key, foundAt: null },
  ])
  resets = () => false
  expect(await sendAfter(2 * hour)).toMatchObject({ outcome: { type: 'delivered' }, tls: { classical_only: false } })
})

it('a host whose handshake fails with classical groups too is offered all again', async () => {
  let isBroken = true
  const proxy = await helloProxy(await modernHost(), ({ number }) => isBroken && (number === 2 || proxy.hellos.length === 2))
  const delivery = testDelivery([proxy], { limits })
  expect(await delivery.attempt()).toMatchObject({ outcome: { type: 'deferred' }, tls: null })
  isBroken = false
  expect(await delivery.attempt()).toMatchObject({ outcome: { type: 'delivered' }, tls: { version: 'TLSv1.3' } })
  expect(proxy.hellos.map(({ length }) => length)).toEqual([2, 1, 2])
  expect(delivery.classicalHosts).toEqual([])
})

it('a host with TLS from the first byte that resets the second hello gets its mail too', async () => {
  const mx = await testMx({ tls: certificate, isImplicitTls: true })
  const proxy = await helloProxy(mx, ({ number }) => number === 2)
  const delivery = testDelivery([proxy], { limits, extraAuthorities: [certificate.cert] })
  delivery.services.route.smarthost = {
    host: proxy.host,
    port: proxy.port,
    tls: { isImplicit: true, policy: 'require' },
  }
  expect(await delivery.attempt()).toMatchObject({ outcome: { type: 'delivered' }, tls: { version: 'TLSv1.3' } })
  await delivery.attempt(jobOf({ at: jobOf().at + lostAgainMs }))
  expect(delivery.classicalHosts).toHaveLength(1)
})

it('a host with TLS from the first byte that nothing answers at is unreachable, and no suspect', async () => {
  const mx = await testMx({ tls: certificate, isImplicitTls: true })
  const delivery = testDelivery([mx], { limits })
  delivery.services.route.smarthost = { host: mx.host, port: mx.port, tls: { isImplicit: true, policy: 'require' } }
  await mx.close()
  expect(await delivery.attempt()).toMatchObject({
    outcome: { type: 'deferred', reason: expect.stringContaining('ECONNREFUSED') as string },
  })
  expect(delivery.classicalHosts).toEqual([])
})
