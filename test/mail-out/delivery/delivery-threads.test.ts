import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Attempt, DeliveryJob, Postponed } from '../../../src/mail-out/delivery/attempt.ts'
import { startDelivery, type Delivery, type DeliveryOptions } from '../../../src/mail-out/delivery/delivery-threads.ts'
import { nobody, type Told } from '../../../src/mail-out/delivery/told.ts'
import type { SessionSum } from '../../../src/mail-out/delivery/session-tally.ts'
import { createLog, silentLog } from '../../../src/platform/log.ts'
import { jobOf, testMx, noSupply } from '../../support/delivery-fixture.ts'
import { largePolicies } from '../../support/keep-sts-policy.ts'
import { startFakeDns } from '../../support/fake-dns.ts'

async function start(port: number, more: Partial<DeliveryOptions> = {}, log = silentLog, told?: Told): Promise<Delivery> {
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
    log,
    told,
  )
  onTestFinished(async () => {
    await delivery.stop(0)
    await dns.close()
  })
  return delivery
}

async function results(delivery: Delivery, job: DeliveryJob): Promise<(Attempt | Postponed)[]> {
  const all: (Attempt | Postponed)[] = []
  await delivery.deliver(job, (result) => all.push(result), noSupply)
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

  it.each([
    ['are counted, to the last one before the end', true],
    ['are not counted where nobody reports on them', false],
  ])('TLS sessions %s', async (_, countsSessions) => {
    const mx = await testMx()
    const sums: SessionSum[] = []
    const told: Told = { ...nobody, tlsSessions: (each) => sums.push(...each) }
    const delivery = await start(mx.port, { countsSessions }, silentLog, told)
    expect(await results(delivery, jobOf())).toMatchObject([delivered])
    await delivery.stop(1000)
    expect(mx.sessions).toHaveLength(1)
    const sum = { destination: 'example.com', failure: { type: 'starttls-not-supported' }, sessions: 1 }
    expect(sums).toMatchObject(countsSessions ? [sum] : [])
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
    expect(await results(delivery, jobOf())).toMatchObject([
      { outcome: { type: 'bounced', hard: false, category: 'policy' }, address: null },
    ])
    expect(mx.sessions).toHaveLength(0)
  })

  it('defer mail whose key cannot be used, and that alone, and say what is wrong with it', async () => {
    const mx = await testMx()
    const delivery = await start(mx.port)
    delivery.addKey('dk_bad', Buffer.from('no key'))
    const signingKeys = [{ id: 'dk_bad', signingDomain: 'sender.test', selector: 'sel', algorithm: 'ed25519-sha256' as const }]
    const [bad, good] = await Promise.all([results(delivery, jobOf({ signingKeys })), results(delivery, jobOf({ to: ['b@example.com'] }))])
    expect(bad).toMatchObject([
      { outcome: { type: 'deferred', category: 'internal_error', reason: expect.stringMatching(/DKIM key dk_bad is not a private key/) } },
    ])
    expect(good).toMatchObject([delivered])
  })
})

describe('a thread that crashes', () => {
  /** No job is like this: it makes the thread throw outside of any delivery. */
  const poisonous = (job: DeliveryJob): DeliveryJob => ({ ...job, content: null as never })
  const postponed = { postponed: true }
  const named = (name: string) => {
    const job = jobOf({ to: [`${name}@example.com`] })
    return { ...job, messageId: name, recipients: job.recipients.map((recipient) => ({ ...recipient, id: name })) }
  }

  it('is replaced, and what was under way is put back untried', async () => {
    const mx = await testMx({ on: { dot: ({ rcptTo }) => (rcptTo[0]?.startsWith('hang') ? 'hang' : undefined) } })
    const delivery = await start(mx.port)
    const hanging = results(delivery, jobOf({ to: ['fine@example.com', 'hang@example.com', 'never@example.com'] }))
    await expect.poll(() => mx.sessions[0]?.commands.filter((command) => command === 'DATA')).toHaveLength(2)
    expect(await results(delivery, poisonous(named('bad')))).toMatchObject([postponed])
    expect(await hanging).toMatchObject([delivered, postponed, postponed])
    expect(await results(delivery, named('new'))).toMatchObject([delivered])
  })

  it('is replaced by one that asks for the MTA-STS policies that memory had no room for', async () => {
    const mx = await testMx()
    const asked: [string, string | null][] = []
    const told: Told = { ...nobody, stsWanted: async (...wanted) => asked.push(wanted) > 0 }
    const delivery = await start(mx.port, { mtaSts: true }, silentLog, told)
    for (const large of largePolicies(Date.now())) delivery.setStsPolicy(large)
    expect(await results(delivery, poisonous(named('bad')))).toMatchObject([postponed])
    expect(await results(delivery, named('new'))).toMatchObject([delivered])
    expect(asked).toEqual([['example.com', null]])
  })

  it('may still have read the content that it had in hand, and a job that has ended may not', async () => {
    const mx = await testMx({ on: { dot: ({ rcptTo }) => (rcptTo[0]?.startsWith('hang') ? 'hang' : undefined) } })
    const delivery = await start(mx.port)
    const unread: string[] = []
    const run = (name: string, job = named(name)): Promise<void> =>
      delivery.deliver(job, () => {}, { ...noSupply, noteUnread: () => unread.push(name) })
    await run('fine')
    const hanging = run('hang')
    await expect.poll(() => mx.sessions[0]?.commands.filter((command) => command === 'DATA')).toHaveLength(2)
    await run('bad', poisonous(named('bad')))
    await hanging
    expect(unread).toEqual(['fine'])
  })

  it('tells by a second time which message it was, and that one is kept apart', async () => {
    const mx = await testMx({ on: { rcpt: () => 'hang' } })
    const lines: string[] = []
    const delivery = await start(
      mx.port,
      {},
      createLog('error', (line) => lines.push(line)),
    )
    const first = ['a', 'b', 'c'].map((name) => results(delivery, named(name)))
    await expect.poll(() => mx.sessions).toHaveLength(3)
    expect(await results(delivery, poisonous(named('bad')))).toMatchObject([postponed])
    for (const suspect of first) expect(await suspect).toMatchObject([postponed])
    mx.on = {}

    // As the queue does, they come back together, while new mail goes on.
    const [a, b, bad, c, fresh] = await Promise.all([
      results(delivery, named('a')),
      results(delivery, named('b')),
      results(delivery, poisonous(named('bad'))),
      results(delivery, named('c')),
      results(delivery, named('fresh')),
    ])
    const isCause = {
      outcome: { type: 'deferred', category: 'internal_error', reason: expect.stringMatching(/this message crashes the delivery thread/) },
    }
    expect(bad).toMatchObject([isCause])
    expect([a, b, c, fresh]).toMatchObject([[delivered], [delivered], [delivered], [delivered]])
    expect(lines.filter((line) => line.includes('kept apart'))).toMatchObject([expect.stringContaining('"messageId":"bad"')])

    // Whenever it is tried again, nobody else notices.
    const beside = Array.from({ length: 20 }, (_, i) => results(delivery, named(`beside${i}`)))
    await expect.poll(() => results(delivery, poisonous(named('bad')))).toMatchObject([isCause])
    for (const result of await Promise.all(beside)) expect(result).toMatchObject([delivered])
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
  for (const hostname of ['', 'a b', 'x\r\nMAIL', '-x'])
    expect(() => startDelivery({ ...options, ...guard, hostname }, silentLog)).toThrow(/hostname/)
})
