import { createHmac, timingSafeEqual } from 'node:crypto'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { Webhook as SvixWebhook } from 'svix'
import { expect, onTestFinished, test } from 'vitest'
import { startFakeMx } from '../support/fake-mx.ts'
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
  expect(bodies.map(({ type }) => type)).toEqual(['email.sent', 'email.delivered'])
  expect(bodies[0].id < bodies[1].id && bodies[0].created_at <= bodies[1].created_at).toBe(true)
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

const shapes: [payload: string, name: (body: any) => string, ids: (body: any) => unknown][] = [
  ['sendgrid', ([{ event }]) => event, ([{ sg_message_id: id }]) => id],
  ['postmark', ({ RecordType: record, Type: type }) => type ?? record, ({ MessageID: id }) => id],
  [
    'mailgun',
    ({ 'event-data': { event, severity } }) => severity ?? event,
    ({ 'event-data': { message } }) => message.headers['message-id'],
  ],
  ['resend', ({ type }) => type, ({ data }) => data.email_id],
  ['postal', ({ event }) => event, ({ payload }) => payload.message.token],
]

const people = ['delivered', 'bounced', 'softbounced', 'suppressed', 'clicked', 'complained', 'unsubscribed']
const times = (count: number, word: string): string[] => Array.from({ length: count }, () => word)

const toldOf: Record<string, string[]> = {
  sendgrid: [
    'bounce',
    'bounce',
    'click',
    'dropped',
    'open',
    'spamreport',
    'unsubscribe',
    ...times(4, 'delivered'),
    ...times(6, 'processed'),
  ],
  postmark: ['Click', 'HardBounce', 'Open', 'SoftBounce', 'SpamComplaint', 'SubscriptionChange', ...times(4, 'Delivery')],
  mailgun: ['clicked', 'complained', 'opened', 'unsubscribed', ...times(3, 'permanent'), ...times(4, 'delivered'), ...times(6, 'accepted')],
  resend: [
    'email.clicked',
    'email.complained',
    'email.opened',
    'email.suppressed',
    ...times(2, 'email.bounced'),
    ...times(4, 'email.delivered'),
    ...times(6, 'email.sent'),
  ],
  postal: ['MessageHeld', 'MessageLinkClicked', 'MessageLoaded', ...times(2, 'MessageDeliveryFailed'), ...times(4, 'MessageSent')],
}

test.each(shapes)('%s: what becomes of mail is told in its words, with the ids that it was sent with', async (payload, name, idOf) => {
  const relay = await relayWithWebhooks()
  const receiver = await startReceiver(status(200))
  const { secret } = await addWebhook(relay, receiver.url, { payload })
  const ids: string[] = []
  for (const person of people) ids.push(await relay.send(`${person}@simulator.test`))
  await expect.poll(() => receiver.posts.map(({ body }) => name(JSON.parse(body))).toSorted()).toEqual(toldOf[payload]?.toSorted())
  for (const { headers, body } of receiver.posts) {
    expect(headers['x-service-signature']).toBe(createHmac('sha256', secret).update(body).digest('hex'))
    const id = idOf(JSON.parse(body))
    if (payload === 'mailgun') expect(id).toMatch(/@sender\.example$/)
    else if (payload === 'postal') expect(id).toMatch(/^rcp_/)
    else expect(ids).toContain(id)
  }
})

test('a deferral is told to those who know one, and to others only if they ask', async () => {
  const mx = await startFakeMx({ host: '127.0.2.1', on: { rcpt: () => '451 4.7.1 Greylisted' } })
  onTestFinished(() => mx.close())
  const relay = await startTestRelay(
    { delivery_port: String(mx.port), webhooks_allow_private_addresses: 'true' },
    { 'rcpt.example': { mx: [[10, 'mx.rcpt.example']] }, 'mx.rcpt.example': { a: ['127.0.2.1'] } },
  )
  onTestFinished(() => relay.stop())
  const told: Record<string, string[]> = {}
  for (const [payload, name] of [...shapes, ['standard', ({ type }: any) => type] as const]) {
    const receiver = await startReceiver(status(200))
    await addWebhook(relay, receiver.url, { payload })
    Object.defineProperty(told, payload, {
      enumerable: true,
      get: () => receiver.posts.map(({ body }) => name(JSON.parse(body))).toSorted(),
    })
  }
  const asking = await startReceiver(status(200))
  await addWebhook(relay, asking.url, { events: ['email.deferred'] })
  await relay.send('ann@rcpt.example')
  await expect
    .poll(() => asking.posts.map(({ body }) => JSON.parse(body).data.reason))
    .toEqual([expect.stringContaining('451 4.7.1 Greylisted')])
  await expect
    .poll(() => ({ ...told }))
    .toEqual({
      sendgrid: ['deferred', 'processed'],
      postmark: ['Transient'],
      mailgun: ['accepted', 'temporary'],
      resend: ['email.delivery_delayed', 'email.sent'],
      postal: ['MessageDelayed'],
      standard: ['email.sent'],
    })
})
