import { expect, onTestFinished, test } from 'vitest'
import { startFakeMx } from '../support/fake-mx.ts'
import { startTestRelay } from '../support/start-relay.ts'

const hour = 3_600_000

async function start() {
  const mx = await startFakeMx({ host: '127.0.0.2' })
  onTestFinished(() => mx.close())
  const relay = await startTestRelay({ delivery_port: String(mx.port) }, { 'rcpt.example': { a: ['127.0.0.2'] } })
  onTestFinished(() => relay.stop())
  const { accounts, apiKeys } = relay.relay.services
  const host = await accounts.create('host', 'free')
  const { token } = await apiKeys.create({ accountId: host.id, name: 'operator', permission: 'operator' })
  const { id } = accounts.getAccount('test')
  return {
    mx,
    relay,
    at: (hours: number): string => new Date(relay.clock.now() + hours * hour).toISOString(),
    statusOf: async (email: string): Promise<string> => (await relay.call('GET', `/api/emails/${email}`)).body.status,
    last: async (email: string): Promise<string | null> => Object.values(await relay.recipients(email))[0]?.last_response ?? null,
    setStatus: async (status: string): Promise<void> => {
      const answer = await relay.call('PATCH', `/api/accounts/${id}`, { status }, { authorization: `Bearer ${token}` })
      expect(answer.status).toBe(200)
    },
  }
}

test('scheduled mail of a suspended account is held when it is due, and goes once the account is active again', async () => {
  const { mx, relay, at, statusOf, last, setStatus } = await start()
  const soon = await Promise.all(Array.from({ length: 3 }, (_, place) => relay.send(`soon${place}@rcpt.example`, { scheduled_at: at(1) })))
  const [first = ''] = soon
  const later = await relay.send('later@rcpt.example', { scheduled_at: at(20) })
  await setStatus('suspended')
  relay.clock.advance(hour)
  for (const id of soon) await expect.poll(() => last(id)).toContain('suspended')
  expect(await statusOf(first)).toBe('scheduled')
  await relay.restart()
  relay.clock.advance(6 * hour)
  await expect
    .poll(() => relay.relay.services.db.read<{ due_at: number }>(`select due_at from recipient where forward_path = 'soon0@rcpt.example'`))
    .toSatisfy(([row]: { due_at: number }[]) => (row?.due_at ?? 0) > relay.clock.now())
  expect(mx.messages).toEqual([])
  expect(await relay.events(first)).toEqual(['email.queued'])

  await setStatus('active')
  for (const id of soon) await expect.poll(() => statusOf(id)).toBe('delivered')
  expect(await statusOf(later)).toBe('scheduled')
  expect((await relay.events(first)).toSorted()).toEqual(['email.delivered', 'email.queued', 'email.sent'])
  relay.clock.advance(13 * hour)
  await expect.poll(() => statusOf(later)).toBe('delivered')
  expect(mx.messages).toHaveLength(4)
})

test('what is held for a suspended account expires in its time, and can be canceled before, but not sent', async () => {
  const { mx, relay, at, statusOf, last, setStatus } = await start()
  const schedule = (name: string) => relay.send(`${name}@rcpt.example`, { scheduled_at: at(1), expires_in: 3 * 3600 })
  const [expiring, canceled] = [await schedule('expiring'), await schedule('canceled')]
  await setStatus('suspended')
  relay.clock.advance(hour)
  for (const id of [expiring, canceled]) await expect.poll(() => last(id)).toContain('suspended')
  expect((await relay.call('POST', `/api/emails/${canceled}/cancel`)).status).toBe(200)
  expect(await relay.call('PATCH', `/api/emails/${expiring}`, { scheduled_at: at(-1) })).toMatchObject({
    status: 403,
    body: { name: 'account_suspended' },
  })
  relay.clock.advance(3 * hour)
  await expect.poll(() => statusOf(expiring)).toBe('bounced')
  const { body } = await relay.call('GET', `/api/emails/${expiring}/events`)
  expect(body.data.find(({ type }: { type: string }) => type === 'email.bounced').data).toMatchObject({
    bounce_type: 'soft',
    bounce_category: 'expired',
    reason: expect.stringContaining('suspended'),
  })
  await setStatus('active')
  relay.clock.advance(2 * hour)
  await expect.poll(() => relay.relay.services.db.read('select id from recipient where due_at is not null')).toEqual([])
  expect([await statusOf(expiring), await statusOf(canceled), mx.messages]).toEqual(['bounced', 'canceled', []])
})

test('what was on its way when the account was suspended is delivered', async () => {
  const { mx, relay, at, statusOf, setStatus } = await start()
  mx.on = { rcpt: () => '451 4.7.1 Later' }
  const scheduled = await relay.send('a@rcpt.example', { scheduled_at: at(1) })
  const queued = await relay.send('b@rcpt.example')
  relay.clock.advance(hour)
  for (const id of [scheduled, queued]) await expect.poll(() => relay.events(id)).toContain('email.deferred')
  await setStatus('suspended')
  mx.on = {}
  relay.clock.advance(hour)
  for (const id of [scheduled, queued]) await expect.poll(() => statusOf(id)).toBe('delivered')
})
