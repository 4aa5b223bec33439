import { expect, onTestFinished, test } from 'vitest'
import { startFakeMx } from '../support/fake-mx.ts'
import { startTestRelay } from '../support/start-relay.ts'

const host = '127.0.2.43'

test('an account has a retry schedule of its own, through a restart and until it is taken back, within the expiry of each email', async () => {
  const mx = await startFakeMx({ host, on: { rcpt: () => '451 4.3.2 Busy' } })
  onTestFinished(() => mx.close())
  const relay = await startTestRelay({ delivery_port: String(mx.port), delivery_retry_schedule: '1m' }, { 'rcpt.example': { a: [host] } })
  onTestFinished(() => relay.stop())
  const { accounts, apiKeys } = relay.relay.services
  const { id: accountId } = accounts.getAccount('test')
  const { token } = await apiKeys.create({ accountId, name: 'op', permission: 'operator' })
  const change = (delays_seconds: unknown) =>
    relay.call('PATCH', `/api/accounts/${accountId}/retry-schedule`, { delays_seconds }, { authorization: `Bearer ${token}` })

  /** How long each deferral of an email waits, in seconds. What is added at random is at most a tenth. */
  const waits = async (id: string, count: number): Promise<number[]> => {
    const deferrals = async () =>
      (await relay.call('GET', `/api/emails/${id}/events`)).body.data.filter(({ type }: { type: string }) => type === 'email.deferred')
    await expect.poll(async () => (await deferrals()).length).toBe(count)
    const inOrder = (await deferrals()).toReversed()
    return inOrder.map(
      ({ data }: { data: Record<string, string> }) => (Date.parse(data['next_attempt_at']!) - Date.parse(data['deferred_at']!)) / 1000,
    )
  }
  const isAbout = (seconds: number) => expect.toSatisfy((wait: number) => wait >= seconds && wait <= seconds * 1.1)

  expect(await waits(await relay.send('ann@rcpt.example'), 1)).toEqual([isAbout(60)])
  expect(await change([600, 30])).toMatchObject({ status: 200, body: { delays_seconds: [600, 30], own: { delays_seconds: [600, 30] } } })
  const id = await relay.send('ann@rcpt.example')
  expect(await waits(id, 1)).toEqual([isAbout(600)])
  await relay.restart()
  relay.clock.advance(660_000)
  expect(await waits(id, 2)).toEqual([isAbout(600), isAbout(30)])
  expect(await waits(await relay.send('ann@rcpt.example', { expires_in: 300 }), 1)).toEqual([300])

  for (const wrong of [[], [0], ['1m'], [90 * 86_400], 60]) expect(await change(wrong)).toMatchObject({ status: 422 })
  expect(await change(null)).toMatchObject({ status: 200, body: { delays_seconds: [60], own: { delays_seconds: null } } })
  expect(await waits(await relay.send('ann@rcpt.example'), 1)).toEqual([isAbout(60)])
})
