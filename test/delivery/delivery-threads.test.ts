import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Attempt, DeliveryJob, Postponed } from '../../src/delivery/attempt.ts'
import { startDelivery } from '../../src/delivery/delivery-threads.ts'
import type { Delivery, DeliveryOptions } from '../../src/delivery/delivery-threads.ts'
import { silentLog } from '../../src/log.ts'
import { jobOf, testMx } from '../support/delivery-fixture.ts'
import { startFakeDns } from '../support/fake-dns.ts'

async function start(port: number, more: Partial<DeliveryOptions> = {}): Promise<Delivery> {
  const dns = await startFakeDns({
    'example.com': { mx: [[10, 'mx.example.com']], ttl: 60 },
    'mx.example.com': { a: ['127.0.0.1'], ttl: 60 },
  })
  const delivery = startDelivery(
    {
      hostname: 'relay.test',
      dnsServers: [dns.server],
      port,
      smarthost: null,
      threads: 1,
      maxConnectionsPerHost: 5,
      messagesPerConnection: 100,
      idleMs: 1000,
      allowPrivateAddresses: true,
      ownListeners: [],
      interfaceAddresses: ['127.0.0.1'],
      ...more,
    },
    silentLog,
  )
  onTestFinished(async () => {
    await delivery.stop(0)
    await dns.close()
  })
  return delivery
}

async function results(delivery: Delivery, job: DeliveryJob): Promise<(Attempt | Postponed)[]> {
  const all: (Attempt | Postponed)[] = []
  await delivery.deliver(job, (result) => all.push(result))
  return all
}

const delivered = { outcome: { type: 'delivered' } }

describe('the delivery threads', () => {
  it('deliver through real look-ups, signed with the keys that were handed over', async () => {
    const mx = await testMx()
    const delivery = await start(mx.port)
    delivery.addKey('dk_1', generateKeyPairSync('ed25519').privateKey.export({ format: 'der', type: 'pkcs8' }))
    delivery.addKey('dk_bad', Buffer.from('no key'))
    const signingKeys = [{ id: 'dk_1', signingDomain: 'sender.test', selector: 'sel', algorithm: 'ed25519-sha256' as const }]
    const jobs = Array.from({ length: 20 }, (_, i) => jobOf({ to: [`a${i}@example.com`, `b${i}@example.com`], signingKeys }))
    const all = (await Promise.all(jobs.map((job) => results(delivery, job)))).flat()
    expect(all).toHaveLength(40)
    for (const result of all) expect(result).toMatchObject({ ...delivered, selectors: ['sel'], mxHost: 'mx.example.com' })
    expect(mx.messages).toHaveLength(40)
    expect(mx.sessions.length).toBeLessThanOrEqual(5)
    for (const { data } of mx.messages) expect(data.toString()).toMatch(/^DKIM-Signature:/)
    delivery.dropKey('dk_1')
    expect(await results(delivery, jobOf({ signingKeys }))).toMatchObject([{ outcome: { type: 'deferred', category: 'internal_error' } }])
  })

  it('share the destinations among them', async () => {
    const mx = await testMx()
    const delivery = await start(mx.port, { threads: 3, smarthost: { host: '127.0.0.1', port: mx.port } })
    const destinations = Array.from({ length: 12 }, (_, i) => `d${i}.test`)
    const all = await Promise.all(destinations.map((destination) => results(delivery, jobOf({ destination, to: [`a@${destination}`] }))))
    for (const [result] of all) expect(result).toMatchObject(delivered)
    expect(mx.messages).toHaveLength(12)
  })

  it('never connect to what this server listens on', async () => {
    const mx = await testMx()
    const delivery = await start(mx.port)
    delivery.setOwnListeners([{ host: '0.0.0.0', port: mx.port }])
    expect(await results(delivery, jobOf())).toMatchObject([{ outcome: { type: 'bounced', hard: false, category: 'policy' } }])
    expect(mx.sessions).toHaveLength(0)
  })

  it('never connect to private addresses unless it is allowed', async () => {
    const mx = await testMx()
    const delivery = await start(mx.port, { allowPrivateAddresses: false })
    expect(await results(delivery, jobOf())).toMatchObject([{ outcome: { type: 'bounced', hard: false, category: 'policy' }, address: null }])
    expect(mx.sessions).toHaveLength(0)
  })

  it('that crash leave deferrals behind, and another takes their place', async () => {
    const mx = await testMx({ on: { dot: ({ rcptTo }) => (rcptTo[0]?.startsWith('hang') ? 'hang' : undefined) } })
    const delivery = await start(mx.port)
    const hanging = results(delivery, jobOf({ to: ['fine@example.com', 'hang@example.com', 'never@example.com'] }))
    await expect.poll(() => mx.sessions[0]?.commands.filter((command) => command === 'DATA')).toHaveLength(2)
    // No job is like this: it makes the thread throw outside of any delivery.
    let reads = 0
    const { recipients, ...job } = jobOf()
    const poison = Object.defineProperty(job, 'recipients', { enumerable: true, get: () => (reads++ === 0 ? recipients : null) })
    const crashed = { outcome: { type: 'deferred', category: 'internal_error' } }
    expect(await results(delivery, poison as DeliveryJob)).toMatchObject([crashed])
    expect(await hanging).toMatchObject([delivered, crashed, crashed])
    await expect.poll(() => results(delivery, jobOf({ id: `job_${reads++}` }))).toMatchObject([delivered])
  })
})

describe('stopping', () => {
  it('lets what is under way end', async () => {
    const mx = await testMx({ on: { dot: () => ({ slowly: '250 2.0.0 Ok: taken slowly', everyMs: 2 }) } })
    const delivery = await start(mx.port)
    const result = results(delivery, jobOf())
    await mx.waitForMessages(1)
    await delivery.stop(5000)
    expect(await result).toMatchObject([delivered])
    expect(await results(delivery, jobOf())).toEqual([{ recipientId: 'rcp_1', postponed: true }])
  })

  it('is bounded', async () => {
    const mx = await testMx({ on: { dot: () => 'hang' } })
    const delivery = await start(mx.port)
    const result = results(delivery, jobOf({ to: ['a@example.com', 'b@example.com'] }))
    await expect.poll(() => mx.sessions[0]?.commands).toContain('DATA')
    await delivery.stop(30)
    expect(await result).toMatchObject([{ outcome: { type: 'deferred' } }, { postponed: true }])
  })
})

it('a host name that EHLO cannot say is refused at the start', () => {
  const options = { dnsServers: [], port: 25, smarthost: null, threads: 1, maxConnectionsPerHost: 1, messagesPerConnection: 1, idleMs: 1 }
  const guard = { allowPrivateAddresses: false, ownListeners: [], interfaceAddresses: [] }
  for (const hostname of ['', 'a b', 'x\r\nMAIL', '-x']) expect(() => startDelivery({ ...options, ...guard, hostname }, silentLog)).toThrow(/hostname/)
})
