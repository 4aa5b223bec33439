import { execFileSync } from 'node:child_process'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Attempt } from '../../../src/mail-out/delivery/attempt.ts'
import { ConnectionPool, type Lease } from '../../../src/mail-out/delivery/connection-pool.ts'
import type { PoolLimits } from '../../../src/mail-out/delivery/pool-limits.ts'
import type { MxConnection } from '../../../src/mail-out/delivery/mx-connection.ts'
import { opportunistic } from '../../../src/mail-out/delivery/transport-policy.ts'
import { jobOf, testDelivery, testMx } from '../../support/delivery-fixture.ts'
import { fakeResolver } from '../../support/fake-resolver.ts'
import type { MxHooks, MxSession } from '../../support/fake-mx.ts'

const delivered = { outcome: { type: 'delivered' } }
const isOpen = ({ closed }: MxSession): boolean => !closed

describe('connections', () => {
  it('are used again', async () => {
    const mx = await testMx()
    const delivery = testDelivery([mx])
    for (let i = 0; i < 5; i++) expect(await delivery.attempt()).toMatchObject(delivered)
    expect(mx.messages).toHaveLength(5)
    expect(mx.sessions).toHaveLength(1)
  })

  it('carry so many messages', async () => {
    const mx = await testMx()
    const delivery = testDelivery([mx], { limits: { messagesPerConnection: 2 } })
    for (let i = 0; i < 5; i++) await delivery.attempt()
    expect(mx.sessions).toHaveLength(3)
    expect(mx.sessions[0]?.commands.filter((command) => command === 'DATA')).toHaveLength(2)
    await vi.waitFor(() => expect(mx.sessions[0]?.commands.at(-1)).toBe('QUIT'), { timeout: 90_000 })
  })

  it('are no more than the limit, however many wait, and all are served', async () => {
    let atOnce = 0
    let most = 0
    const mx = await testMx({
      on: {
        mail: () => {
          most = Math.max(most, ++atOnce)
          return undefined
        },
        dot: () => {
          atOnce--
          return undefined
        },
      },
    })
    const delivery = testDelivery([mx], { limits: { maxConnectionsPerHost: 3, messagesPerConnection: 4 } })
    const attempts = await Promise.all(Array.from({ length: 40 }, () => delivery.attempt()))
    for (const attempt of attempts) expect(attempt).toMatchObject(delivered)
    expect(mx.messages).toHaveLength(40)
    expect(most).toBeLessThanOrEqual(3)
  })

  it('are served in order', async () => {
    const mx = await testMx()
    const delivery = testDelivery([mx], { limits: { maxConnectionsPerHost: 1 } })
    const names = Array.from({ length: 10 }, (_, i) => `user${i}@example.com`)
    await Promise.all(names.map((name) => delivery.attempt(jobOf({ to: [name] }))))
    expect(mx.messages.map(({ rcptTo }) => rcptTo[0])).toEqual(names)
  })

  /** Hosts of a.example, b.example and c.example, and delivery to them. */
  async function threeHosts(on: MxHooks, limits: Partial<PoolLimits>) {
    const first = await testMx({ on })
    const others = await Promise.all(['127.0.0.2', '127.0.0.3'].map((host) => testMx({ host, port: first.port, on })))
    const resolver = fakeResolver({
      'a.example': { a: ['127.0.0.1'] },
      'b.example': { a: ['127.0.0.2'] },
      'c.example': { a: ['127.0.0.3'] },
    })
    const delivery = testDelivery([first], { limits, resolver })
    return {
      hosts: [first, ...others],
      send: (name: string) => delivery.attempt(jobOf({ destination: `${name}.example`, to: [`user@${name}.example`] })),
    }
  }

  it('to all hosts together are no more than the limit, and every host has its turn', async () => {
    let [atOnce, most] = [0, 0]
    const begin = () => void (most = Math.max(most, ++atOnce))
    const { hosts, send } = await threeHosts(
      { mail: begin, dot: () => void atOnce-- },
      { maxConnections: 2, messagesPerPrivateConnection: 4 },
    )
    const attempts = await Promise.all(Array.from({ length: 45 }, (_, i) => send(['a', 'b', 'c'][i % 3] ?? '')))
    for (const attempt of attempts) expect(attempt).toMatchObject(delivered)
    expect(hosts.map(({ messages }) => messages.length)).toEqual([15, 15, 15])
    expect(most).toBeLessThanOrEqual(2)
  })

  it('that are idle give way to those of other hosts', async () => {
    const { hosts, send } = await threeHosts({}, { maxConnections: 2, idleMs: 600_000, waitMs: 600_000 })
    for (const name of ['a', 'b', 'b', 'c']) expect(await send(name)).toMatchObject(delivered)
    await vi.waitFor(
      () => expect(hosts.map(({ sessions }) => sessions.map(({ commands }) => commands.at(-1)))).toEqual([['QUIT'], ['DATA'], ['DATA']]),
      { timeout: 90_000 },
    )
  })

  it("that this process may not open are not the host's fault: the message is postponed", () => {
    const words = [
      '-c',
      'ulimit -n 80; exec "$@"',
      'sh',
      process.execPath,
      new URL('../../support/exhausted-process.ts', import.meta.url).pathname,
    ]
    const { exhausted, afterwards } = JSON.parse(execFileSync('sh', words, { encoding: 'utf8' })) as Record<string, string[]>
    expect({ exhausted, afterwards }).toEqual({ exhausted: ['postponed', 'postponed'], afterwards: ['deferred', 'deferred'] })
  })

  it('are closed when they have been idle', async () => {
    const mx = await testMx()
    await testDelivery([mx], { limits: { idleMs: 20 } }).attempt()
    await vi.waitFor(() => expect(mx.sessions[0]).toMatchObject({ closed: true, commands: expect.arrayContaining(['QUIT']) }), {
      timeout: 90_000,
    })
  })

  it('that the host closed between messages are dialled again, which is no attempt', async () => {
    const mx = await testMx({ on: { dot: () => ({ reply: '250 2.0.0 Ok', end: 'close' }) } })
    const delivery = testDelivery([mx])
    for (let i = 0; i < 3; i++) expect(await delivery.attempt()).toMatchObject(delivered)
    expect(mx.sessions).toHaveLength(3)
  })

  it('that turn out closed or weary at the next message are dialled again, too', async () => {
    for (const action of ['close', 'reset', '421 4.4.2 idle for too long'] as const) {
      const mails = new Map<number, number>()
      const mx = await testMx({
        on: {
          mail: (_address, _params, { number }) => {
            mails.set(number, (mails.get(number) ?? 0) + 1)
            return mails.get(number) === 2 ? action : undefined
          },
        },
      })
      const delivery = testDelivery([mx])
      expect(await delivery.attempt()).toMatchObject(delivered)
      expect(await delivery.attempt()).toMatchObject(delivered)
      expect(mx.sessions).toHaveLength(2)
      expect(mx.messages).toHaveLength(2)
    }
  })

  describe('that are idle', () => {
    beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
    afterEach(() => void vi.useRealTimers())

    const host = { name: 'mx', address: '192.0.2.1', port: 25 }

    /** A pool of connections that only have names, and which of them it closed. */
    function namedConnections(perHost: number) {
      const limit = { perHost }
      const quits: string[] = []
      const pool = new ConnectionPool({
        get maxConnectionsPerHost() {
          return limit.perHost
        },
        maxConnections: 40,
        messagesPerConnection: 100,
        messagesPerPrivateConnection: 100,
        idleMs: 1_000,
        waitMs: 60_000,
      })
      onTestFinished(() => pool.stop())
      /** A connection for one message: another one, by this name, if none is idle. */
      const take = async (name: string) => {
        const lease = await pool.acquire(host, opportunistic)
        const another = { host, isUsable: true, isWorn: () => false, quit: () => quits.push(name) } as unknown as MxConnection
        const connection = lease?.connection ?? another
        return { giveBack: () => lease?.release(connection), hangUp: () => (Reflect.get(connection, 'onGone') as () => void)() }
      }
      const use = async (name: string): Promise<{ hangUp(): void }> => {
        const taken = await take(name)
        taken.giveBack()
        return taken
      }
      return { quits, take, use, limit }
    }

    it('are as few, and carry as few messages, as a large provider wants', () => {
      const worn: number[] = []
      const pool = new ConnectionPool({
        maxConnectionsPerHost: 20,
        maxConnections: Infinity,
        messagesPerConnection: 100,
        messagesPerPrivateConnection: 1000,
        idleMs: 1_000,
        waitMs: 60_000,
      })
      onTestFinished(() => pool.stop())
      const isWorn = (messages: number): boolean => (worn.push(messages), true)
      const most = (name: string, address: string): number => {
        const to = { name, address, port: 25 }
        const leases = Array.from({ length: 30 }, () => pool.acquireNow(to, opportunistic)).filter((lease) => lease !== null)
        leases[0]?.release({ host: to, isUsable: true, isWorn, quit: () => {} } as unknown as MxConnection)
        for (const lease of leases) lease.release(null)
        return leases.length
      }
      const hosts: [string, string][] = [
        ['mta5.am0.yahoodns.net', '8.8.8.8'],
        ['mx-in.g.apple.mail.icloud.com', '8.8.8.9'],
        ['mx.rcpt.example', '8.8.8.10'],
        ['mta5.am0.yahoodns.net', '10.0.0.1'],
      ]
      expect(hosts.map(([name, address]) => most(name, address))).toEqual([3, 5, 20, 20])
      expect(worn).toEqual([20, 5, 100, 1000])
    })

    it('are kept four times as long once one has been used again, until the host closes one', async () => {
      const { quits, use } = namedConnections(1)
      await use('first')
      vi.advanceTimersByTime(1_002)
      expect(quits).toEqual(['first'])
      await use('second')
      vi.advanceTimersByTime(900)
      const second = await use('none')
      vi.advanceTimersByTime(3_900)
      expect(quits).toEqual(['first'])
      second.hangUp()
      for (const name of ['third', 'fourth']) {
        await use(name)
        vi.advanceTimersByTime(500)
        await use('none')
        vi.advanceTimersByTime(1_002)
        expect(quits.at(-1)).toBe(name)
      }
    })

    it('are closed when they come back, as many as are too many since another node has joined', async () => {
      const { quits, take, limit } = namedConnections(4)
      const taken = [await take('first'), await take('second'), await take('third')]
      limit.perHost = 2
      for (const each of taken) each.giveBack()
      expect(quits).toEqual(['first'])
    })

    it('are closed each in its time, whatever the order in which they came back', async () => {
      const { quits, take, use } = namedConnections(3)
      const [first, second, third] = [await take('first'), await take('second'), await take('third')]
      first.giveBack()
      await use('none')
      second.giveBack()
      second.hangUp()
      third.giveBack()
      vi.advanceTimersByTime(1_002)
      expect(quits).toEqual(['third'])
    })
  })

  it('that the host speaks on while idle are not used', async () => {
    const mx = await testMx({ on: { dot: () => 'raw:250 2.0.0 Ok\r\n421 4.4.2 bye\r\n' } })
    const delivery = testDelivery([mx])
    for (let i = 0; i < 2; i++) await delivery.attempt()
    expect(mx.sessions).toHaveLength(2)
  })

  it('are not leaked by failures: every slot comes back', async () => {
    let refuse = true
    const mx = await testMx({
      on: { banner: () => (refuse ? '421 busy' : undefined), rcpt: (address) => (address.startsWith('reset') ? 'reset' : undefined) },
    })
    const delivery = testDelivery([mx], { limits: { maxConnectionsPerHost: 2 } })
    // It would rest.
    const isProbe = true
    await Promise.all(Array.from({ length: 10 }, () => delivery.attempt(jobOf({ isProbe }))))
    refuse = false
    await Promise.all(Array.from({ length: 10 }, () => delivery.attempt(jobOf({ to: ['reset@example.com'], isProbe }))))
    for (const attempt of await Promise.all(Array.from({ length: 10 }, () => delivery.attempt()))) expect(attempt).toMatchObject(delivered)
    expect(mx.sessions.filter(isOpen).length).toBeLessThanOrEqual(2)
  })
})

describe('when most connections are in use', () => {
  const hostAt = (number: number) => ({ name: `mx${number}.example`, address: `127.0.9.${number}`, port: 25 })
  /** A pool of 40, where a host that answers is one of those. */
  function startPool(answering: number[] = []) {
    const hasAnswered = ({ address }: { address: string }) => answering.some((number) => hostAt(number).address === address)
    const limits = { maxConnectionsPerHost: 20, maxConnections: 40, messagesPerConnection: 1, messagesPerPrivateConnection: 1 }
    const pool = new ConnectionPool({ ...limits, idleMs: 1_000, waitMs: 60_000, hasAnswered })
    onTestFinished(() => pool.stop())
    return pool
  }
  /** How many connections a host gets of those that it wants. */
  function takeAll(pool: ConnectionPool, number: number): number {
    const taken = Array.from({ length: 20 }, () => pool.acquire(hostAt(number), opportunistic))
    return taken.filter((lease) => !(lease instanceof Promise)).length
  }

  it('each host gets fewer, and none takes all', () => {
    const pool = startPool([1, 2, 3, 4, 5, 6])
    const taken = [1, 2, 3, 4, 5, 6].map((number) => takeAll(pool, number))
    expect(taken).toEqual(taken.toSorted((a, b) => b - a))
    expect(taken[0]).toBeLessThan(20)
    expect(taken.at(-1)).toBeGreaterThan(0)
  })

  it('the last ones are for hosts that are known to answer', () => {
    const known = 200
    const pool = startPool([known])
    const strangers = Array.from({ length: 100 }, (_, number) => takeAll(pool, number + 1))
    expect(strangers.reduce((sum, count) => sum + count, 0)).toBe(35)
    expect(takeAll(pool, known)).toBeGreaterThan(0)
  })

  it('one that comes free goes to a stranger that waits, unless it is kept', async () => {
    const pool = startPool()
    const leases = Array.from({ length: 35 }, (_, number) => pool.acquire(hostAt(number + 1), opportunistic) as Lease)
    const waiting = pool.acquire(hostAt(100), opportunistic)
    expect(waiting).toBeInstanceOf(Promise)
    leases[0]?.release(null)
    expect(await waiting).toMatchObject({ connection: null })
  })
})

describe('a message that finds no connection', () => {
  it('is postponed with its recipients, and nothing was tried', async () => {
    const mx = await testMx({ on: { rcpt: (address) => (address.startsWith('slow') ? 'hang' : undefined) } })
    const delivery = testDelivery([mx], { limits: { maxConnectionsPerHost: 1, waitMs: 30 }, timeouts: { rcpt: 300 } })
    const slow = delivery.deliver(jobOf({ to: ['slow@example.com'] }))
    await vi.waitFor(() => expect(mx.sessions[0]?.commands).toHaveLength(3), { timeout: 90_000 })
    expect(await delivery.deliver(jobOf({ to: ['a@example.com', 'b@example.com'] }))).toEqual([
      { recipientId: 'rcp_1', postponed: true },
      { recipientId: 'rcp_2', postponed: true },
    ])
    expect(mx.sessions).toHaveLength(1)
    expect(((await slow)[0] as Attempt).outcome).toMatchObject({ type: 'deferred', category: 'timeout' })
  })
})

describe('stopping', () => {
  it('lets transactions end, postpones what waits, closes what is idle', async () => {
    const mx = await testMx({ on: { dot: () => ({ slowly: '250 2.0.0 Ok: taken slowly', everyMs: 5 }) } })
    const delivery = testDelivery([mx], { limits: { maxConnectionsPerHost: 1 } })
    const first = delivery.deliver()
    await mx.waitForMessages(1)
    const second = delivery.deliver()
    await new Promise(setImmediate)
    delivery.services.pool.stop()
    expect(await second).toEqual([{ recipientId: 'rcp_1', postponed: true }])
    expect(await first).toMatchObject([delivered])
    expect(await delivery.deliver()).toEqual([{ recipientId: 'rcp_1', postponed: true }])
    await vi.waitFor(() => expect(mx.sessions.filter(isOpen)).toEqual([]), { timeout: 90_000 })
  })

  it('breaks off what does not end: its outcome is not known, so it is deferred', async () => {
    const mx = await testMx({ on: { dot: () => 'hang' } })
    const delivery = testDelivery([mx])
    const result = delivery.deliver()
    await vi.waitFor(() => expect(mx.sessions[0]?.commands).toContain('DATA'), { timeout: 90_000 })
    delivery.services.pool.stop()
    delivery.services.pool.destroy()
    expect(await result).toMatchObject([{ outcome: { type: 'deferred' } }])
  })
})

describe('those who wait for a host', () => {
  const host = { name: 'mx', address: '192.0.2.1', port: 25 }

  /** Has each of these wait for the only connection, and says in which order they get it. */
  async function orderOf(waiters: string[]): Promise<string[]> {
    const limits = { maxConnectionsPerHost: 1, maxConnections: 10, messagesPerConnection: 1, messagesPerPrivateConnection: 1 }
    const pool = new ConnectionPool({ ...limits, idleMs: 1_000, waitMs: 60_000 })
    onTestFinished(() => pool.stop())
    const first = await pool.acquire(host, opportunistic)
    const served: string[] = []
    const all = waiters.map(async (name) => {
      const waiter = { account: name.charCodeAt(0), isUrgent: name.includes('!') }
      const lease = await pool.acquire(host, opportunistic, waiter)
      served.push(name)
      lease?.release(null)
    })
    first?.release(null)
    await Promise.all(all)
    return served
  }

  it('get it by turns of their accounts, each in order, and urgent mail first, every other time', async () => {
    const waiters = ['a1', 'a2', 'a3', 'a4', 'b1', 'a5', 'b2', 'c1', 'a!1', 'a!2', 'a!3', 'b!1']
    const order = ['a!1', 'a1', 'b!1', 'b1', 'a!2', 'c1', 'a!3', 'a2', 'b2', 'a3', 'a4', 'a5']
    expect(await orderOf(waiters)).toEqual(order)
  })

  it('all get it, though urgent mail comes without end: for one host, and for hosts that share all connections', async () => {
    for (const [urgentHost, maxConnections] of [
      [host, 10],
      [{ ...host, address: '192.0.2.2' }, 1],
    ] as const) {
      const limits = { maxConnectionsPerHost: 1, maxConnections, messagesPerConnection: 1, messagesPerPrivateConnection: 1 }
      const pool = new ConnectionPool({ ...limits, hasAnswered: () => true, idleMs: 1_000, waitMs: 60_000 })
      onTestFinished(() => pool.stop())
      const first = await pool.acquire(urgentHost, opportunistic)
      let [isEnded, urgent] = [false, 0]
      const urgentMail = async (account: number): Promise<void> => {
        while (!isEnded && urgent < 1_000) {
          const lease = await pool.acquire(urgentHost, opportunistic, { account, isUrgent: true })
          urgent++
          // The next is there before this one ends.
          setImmediate(() => lease?.release(null))
        }
      }
      const urgentOnes = [1, 2, 3].map(urgentMail)
      const usualOnes = [4, 5].map(async (account) => {
        const lease = await pool.acquire(host, opportunistic, { account, isUrgent: false })
        setImmediate(() => lease?.release(null))
        return urgent
      })
      first?.release(null)
      expect(await Promise.all(usualOnes)).toEqual([1, 2])
      isEnded = true
      await Promise.all(urgentOnes)
    }
  })

  it('wait no longer than those before them, whatever their turn', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const limits = { maxConnectionsPerHost: 1, maxConnections: 10, messagesPerConnection: 1, messagesPerPrivateConnection: 1 }
    const pool = new ConnectionPool({ ...limits, idleMs: 1_000, waitMs: 60_000 })
    onTestFinished(() => pool.stop())
    await pool.acquire(host, opportunistic)
    const ended: string[] = []
    const wait = (name: string, account: number): void =>
      void Promise.resolve(pool.acquire(host, opportunistic, { account, isUrgent: false })).then((lease) => ended.push(`${name} ${lease}`))
    for (const name of ['a1', 'a2']) wait(name, 1)
    vi.advanceTimersByTime(30_000)
    wait('b1', 2)
    await vi.advanceTimersByTimeAsync(30_010)
    expect(ended).toEqual(['a1 null', 'a2 null'])
    await vi.advanceTimersByTimeAsync(30_010)
    expect(ended).toEqual(['a1 null', 'a2 null', 'b1 null'])
  })
})
