import { expect, onTestFinished, test } from 'vitest'
import { createLog } from '../../src/platform/log.ts'
import { startFakeMx } from '../support/fake-mx.ts'
import { startTestRelay } from '../support/start-relay.ts'

const minute = 60_000

test('a queue in which nothing moves any more is told by /healthz and the log, once, until it moves', async () => {
  const mx = await startFakeMx({ host: '127.0.0.2' })
  onTestFinished(() => mx.close())
  const lines: { fault?: string; level: string; overdueSeconds?: number }[] = []
  const log = createLog('info', (line) => lines.push(JSON.parse(line)))
  const zone = { 'rcpt.example': { mx: [[10, 'mx.rcpt.example']] as [number, string][] }, 'mx.rcpt.example': { a: ['127.0.0.2'] } }
  const relay = await startTestRelay({ delivery_port: String(mx.port) }, zone, { log })
  onTestFinished(() => relay.stop())
  const health = async () => {
    const response = await fetch(`${relay.baseUrl}/healthz`)
    return { status: response.status, faults: ((await response.json()) as { faults: { name: string }[] }).faults.map(({ name }) => name) }
  }
  const { accounts, apiKeys, queueAdmin } = relay.relay.services
  const { token } = await apiKeys.create({ accountId: accounts.getAccount('test').id, name: 'operator', permission: 'operator' })
  const overdue = async () => (await relay.call('GET', '/api/queue', undefined, { authorization: `Bearer ${token}` })).body.overdue_seconds
  const isOver = Promise.withResolvers<void>()
  mx.on = { rcpt: () => ({ reply: '250 2.1.5 Ok', after: isOver.promise }) }

  // What is held, and what is tried within its time, does not count.
  const later = new Date(relay.clock.now() + minute).toISOString()
  const held = await relay.send('held@rcpt.example', { scheduled_at: later })
  await queueAdmin.hold(held)
  const fill = Array.from({ length: 14 }, (_, i) => relay.send(Array.from({ length: 50 }, (__, j) => `u${i}-${j}@rcpt.example`)))
  const ids = await Promise.all(fill)
  await expect.poll(() => mx.sessions.length).toBeGreaterThan(4)
  for (let minutes = 0; minutes < 14; minutes++) relay.clock.advance(minute)
  expect(await health()).toEqual({ status: 200, faults: [] })

  for (let minutes = 0; minutes < 10; minutes++) relay.clock.advance(minute)
  expect(await health()).toEqual({ status: 503, faults: ['queue_stalled'] })
  expect(await overdue()).toBeGreaterThan(0)
  const reported = lines.filter(({ fault, level }) => fault === 'queue_stalled' && level === 'error')
  expect(reported).toMatchObject([{ overdueSeconds: expect.any(Number), inFlight: expect.any(Number) }])

  isOver.resolve()
  const isDelivered = async (id: string) => {
    // What found no free connection meanwhile is due again within seconds.
    relay.clock.advance(5_000)
    return Object.values(await relay.recipients(id)).every(({ status }) => status === 'delivered')
  }
  for (const id of ids) await expect.poll(() => isDelivered(id)).toBe(true)
  relay.clock.advance(minute)
  expect(await health()).toEqual({ status: 200, faults: [] })
  expect(await overdue()).toBe(0)
})
