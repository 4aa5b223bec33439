import { createHmac, timingSafeEqual } from 'node:crypto'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { Webhook as SvixWebhook } from 'svix'
import { expect, onTestFinished, test } from 'vitest'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'
import { hang, startReceiver, status } from '../support/webhook-receiver.ts'

async function relayWithWebhooks(): Promise<TestRelay> {
  const relay = await startTestRelay({ webhooks_allow_private_addresses: 'true' })
  onTestFinished(() => relay.stop())
  return relay
}

async function addWebhook(relay: TestRelay, url: string, fields: Record<string, unknown> = {}): Promise<{ id: string; secret: string }> {
  const { status: code, body } = await relay.call('POST', '/api/webhooks', { url, ...fields })
  expect(code).toBe(201)
  return { id: body.id, secret: body.signing_secret }
}

test('an email is told of as sent and as delivered, with exactly the fields promised, and three ways to check it', async () => {
  const relay = await relayWithWebhooks()
  const receiver = await startReceiver(status(200))
  const { secret } = await addWebhook(relay, receiver.url)
  const id = await relay.send('delivered@simulator.test')
  await expect.poll(() => receiver.posts.length).toBe(2)
  const bodies = receiver.posts.map(({ body }) => JSON.parse(body))
  const delivered = bodies.find(({ type }) => type === 'email.delivered')
  expect(bodies.map(({ type }) => type).toSorted()).toEqual(['email.delivered', 'email.sent'])
  expect(delivered).toEqual({
    id: expect.stringMatching(/^evt_/),
    type: 'email.delivered',
    created_at: expect.stringMatching(/Z$/),
    data: { email_id: id, to: 'delivered@simulator.test', subject: 'Hello', delivered_at: expect.stringMatching(/Z$/) },
  })
  for (const { headers, body } of receiver.posts) {
    const wanted = Buffer.from(createHmac('sha256', secret).update(body).digest('hex'))
    expect(timingSafeEqual(wanted, Buffer.from(headers['x-service-signature'] ?? ''))).toBe(true)
  }
})

test('the same requests pass the Standard Webhooks libraries', async () => {
  const relay = await relayWithWebhooks()
  // Those libraries look at the time, and the relay's clock stands still elsewhere.
  relay.clock.set(Date.now())
  const receiver = await startReceiver(status(200))
  const { secret } = await addWebhook(relay, receiver.url)
  await relay.send('bounced@simulator.test')
  await expect.poll(() => receiver.posts.length).toBe(2)
  for (const { headers, body } of receiver.posts) {
    expect(new StandardWebhook(secret).verify(body, headers)).toEqual(JSON.parse(body))
    expect(new SvixWebhook(secret).verify(body, headers)).toEqual(JSON.parse(body))
  }
})

test('an endpoint that hangs delays no other, and a restart forgets nothing', async () => {
  const relay = await relayWithWebhooks()
  const stuck = await startReceiver(hang)
  const failing = await startReceiver(status(500))
  const healthy = await startReceiver(status(200))
  for (const { url } of [stuck, failing, healthy]) await addWebhook(relay, url, { events: ['email.delivered'] })
  const ids = await Promise.all(Array.from({ length: 20 }, () => relay.send('delivered@simulator.test')))
  const told = () => new Set(healthy.posts.map(({ body }) => JSON.parse(body).data.email_id))
  await expect.poll(() => told().size).toBe(ids.length)
  await expect.poll(() => failing.posts.length).toBe(ids.length)
  await relay.restart()
  failing.behave = status(204)
  relay.clock.advance(61_000)
  await expect.poll(() => failing.posts.length).toBe(2 * ids.length)
  const byId = Map.groupBy(failing.posts, ({ headers }) => headers['webhook-id'])
  expect([...byId.values()].every(([first, second]) => first?.body === second?.body)).toBe(true)
})
