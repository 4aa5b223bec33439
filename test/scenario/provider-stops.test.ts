import { expect, onTestFinished, test } from 'vitest'
import { startFakeMx, type FakeMx, type MxAction } from '../support/fake-mx.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'
import { passTime, startTwoNodes } from '../support/two-nodes.ts'

const [host, otherHost] = ['127.0.8.21', '127.0.8.22']
const zone = {
  'one.example': { mx: [[0, 'mx.shared.example']] as [number, string][] },
  'two.example': { mx: [[0, 'mx.shared.example']] as [number, string][] },
  'mx.shared.example': { a: [host] },
  'free.example': { mx: [[0, 'mx.free.example']] as [number, string][] },
  'mx.free.example': { a: [otherHost] },
}
const refusal = '421 4.7.0 Too many messages from your address, try again in 30 minutes'
const halfHour = 33 * 60_000

/** A provider that refuses all mail while it is told to, and how many messages it was asked to take. */
async function startProvider(): Promise<{ mx: FakeMx; state: { refuses: boolean; asked: number; most: number } }> {
  const state = { refuses: true, asked: 0, most: 0 }
  let atOnce = 0
  const dot = (): undefined => void atOnce--
  const mail = (): MxAction | undefined => {
    state.asked++
    if (state.refuses) return refusal
    state.most = Math.max(state.most, ++atOnce)
    return undefined
  }
  const mx = await startFakeMx({ on: { mail, dot }, host })
  onTestFinished(() => mx.close())
  return { mx, state }
}

test('a provider that refuses our address is sent nothing, for any domain, until one message gets through', async () => {
  const { mx, state } = await startProvider()
  const free = await startFakeMx({ host: otherHost, port: mx.port })
  onTestFinished(() => free.close())
  const relay = await startTestRelay({ delivery_port: String(mx.port), delivery_threads: '2' }, zone)
  onTestFinished(() => relay.stop())
  const first = await relay.send('ann@one.example')
  await expect.poll(() => relay.recipients(first)).toMatchObject({ 'ann@one.example': { status: 'deferred', attempts: 1 } })
  const { db } = relay.relay.services
  const stops = () => db.read('select id, step from provider_stop')
  await expect.poll(stops).toEqual([{ id: 'site:mx.shared.example from any IPv4 address', step: 0 }])

  const held = [await relay.send('bob@one.example'), await relay.send('carl@two.example'), await relay.send('dora@two.example')]
  await freeMailArrives(relay, free, 1)
  expect(await attemptsOf(relay, held)).toEqual([0, 0, 0])
  expect(state.asked).toBe(1)

  const { accounts, apiKeys } = relay.relay.services
  const { token } = await apiKeys.create({ accountId: accounts.getAccount('test').id, name: 'operator', permission: 'operator' })
  const headers = { authorization: `Bearer ${token}` }
  const until = new Date(relay.clock.now() + halfHour).toISOString().slice(0, 11)
  const reason = expect.stringContaining(`refuses mail from this server, so it gets none until one message is tried at ${until}`)
  expect((await relay.call('GET', '/api/explain?to=eve@two.example', undefined, headers)).body).toMatchObject({ next: 'defer', reason })
  expect((await relay.call('GET', '/api/explain?to=eve@free.example', undefined, headers)).body).toMatchObject({
    next: 'deliver',
    reason: null,
  })
  expect((await relay.call('GET', '/api/shaping', undefined, headers)).body.data).toEqual([
    {
      object: 'provider_stop',
      group: 'site:mx.shared.example',
      source_address: null,
      family: 'ipv4',
      until: expect.stringContaining(until),
      refused_probes: 0,
      reason: refusal,
    },
  ])

  await relay.restart()
  held.push(await relay.send('emil@two.example'))
  await freeMailArrives(relay, free, 2)
  expect([await attemptsOf(relay, held), state.asked]).toEqual([[0, 0, 0, 0], 1])

  relay.clock.advance(halfHour)
  await expect.poll(() => relay.relay.services.db.read('select step from provider_stop')).toEqual([{ step: 1 }])
  await freeMailArrives(relay, free, 3)
  expect(state.asked).toBe(2)

  state.refuses = false
  relay.clock.advance(halfHour)
  await mx.waitForMessages(5)
  // Each thread has its own count.
  expect(state.most).toBeLessThanOrEqual(2)
  await expect.poll(() => relay.relay.services.db.read('select id from provider_stop')).toEqual([])
})

test('of two addresses, the one that was refused is used again once its time is over, though the other gets mail through', async () => {
  const asked: string[] = []
  const mx = await startFakeMx({
    host,
    on: { mail: (_, __, { remoteAddress }) => (asked.push(remoteAddress) === 1 ? refusal : undefined) },
  })
  onTestFinished(() => mx.close())
  const relay = await startTestRelay({ delivery_port: String(mx.port), delivery_source_addresses: '127.0.8.31, 127.0.8.32' }, zone)
  onTestFinished(() => relay.stop())
  const stops = () => relay.relay.services.db.read('select id from provider_stop')
  await relay.send('ann@one.example')
  await expect.poll(stops).toHaveLength(1)
  await relay.send('bob@one.example')
  await mx.waitForMessages(1)
  relay.clock.advance(halfHour)
  await mx.waitForMessages(2)
  await expect.poll(stops).toEqual([])
  const [refused, other] = asked
  expect(asked).toEqual([refused, other, refused])
  expect(other).not.toBe(refused)
})

test('a route past the provider that refuses our mail frees what waits for it, and stops count again without it', async () => {
  const { mx, state } = await startProvider()
  const smarthost = await startFakeMx({ host: otherHost, port: mx.port })
  onTestFinished(() => smarthost.close())
  const relay = await startTestRelay({ delivery_port: String(mx.port) }, zone)
  onTestFinished(() => relay.stop())
  const { db, smarthosts, smarthostRoutes } = relay.relay.services
  await relay.send('ann@one.example')
  await expect.poll(() => db.read('select id from provider_stop')).toHaveLength(1)
  const held = [await relay.send('bob@one.example'), await relay.send('carl@two.example')]
  await smarthosts.create({ name: 'backup', host: otherHost, port: smarthost.port })
  const route = (recipientDomain: string) =>
    smarthostRoutes.create({ accountId: null, sendingDomain: null, provider: null, recipientDomain, via: 'backup' })
  const ids = [(await route('two.example')).id]
  await smarthost.waitForMessages(1)
  expect(smarthost.messages[0]?.rcptTo).toEqual(['carl@two.example'])
  await expect.poll(async () => (await relay.recipients(held[1]!))['carl@two.example']?.status).toBe('sent')
  ids.push((await route('one.example')).id)
  await smarthost.waitForMessages(2)
  expect([smarthost.messages[1]?.rcptTo, state.asked]).toEqual([['bob@one.example'], 1])
  for (const id of ids) await smarthostRoutes.remove(id)
  held.push(await relay.send('dora@two.example'))
  await freeMailArrives(relay, smarthost, 3)
  expect((await attemptsOf(relay, held)).at(-1)).toBe(0)
  expect(state.asked).toBe(1)
})

test('what one node has been told, the others keep to', async () => {
  const { mx, state } = await startProvider()
  const free = await startFakeMx({ host: otherHost, port: mx.port })
  onTestFinished(() => free.close())
  const { a, b } = await startTwoNodes({ delivery_port: String(mx.port) }, zone)
  const { accounts, apiKeys, sendingDomains, db } = a.relay.services
  const account = await accounts.create('shop', 'enterprise')
  await sendingDomains.verifyManually((await sendingDomains.add(account.id, 'sender.example')).id)
  const { token } = await apiKeys.create({ accountId: account.id, name: 'shop', permission: 'full_access' })
  const send = async (to: string, { call }: typeof a): Promise<void> => {
    const body = { from: 'app@sender.example', to, subject: 'Hi', text: 'Hi' }
    expect((await call('POST', '/api/send', { token, body })).status).toBe(200)
  }
  await send('ann@one.example', a)
  await expect.poll(() => db.read('select id from provider_stop')).toHaveLength(1)
  await passTime(1_000, a, b)
  for (const { relay } of [a, b]) await relay.services.changes.caughtUp()
  for (const [i, node] of [a, b].entries()) {
    await send('bob@two.example', node)
    await send('ann@free.example', node)
    await free.waitForMessages(i + 1)
  }
  expect(state.asked).toBe(1)
})

async function freeMailArrives(relay: TestRelay, free: FakeMx, count: number): Promise<void> {
  await relay.send('ann@free.example')
  await free.waitForMessages(count)
}

async function attemptsOf(relay: TestRelay, ids: string[]): Promise<(number | undefined)[]> {
  const all = await Promise.all(ids.map((id) => relay.recipients(id)))
  return all.map((recipients) => Object.values(recipients)[0]?.attempts)
}
