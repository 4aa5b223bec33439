import { createHmac } from 'node:crypto'
import { expect, test, vi } from 'vitest'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { hour, minute, scope, webhookFixture } from '../../support/webhook-fixture.ts'
import { dribble, hang, startReceiver, status, type WebhookReceiver } from '../../support/webhook-receiver.ts'

type Fixture = Awaited<ReturnType<typeof webhookFixture>>
const eventually = <T>(check: () => T | Promise<T>) => vi.waitFor(check, { timeout: 90_000, interval: 5 })

const stateIs = (fixture: Fixture, webhookId: string, wanted: object) =>
  eventually(async () => expect((await fixture.deliveries(webhookId))[0]).toMatchObject(wanted))

const isGenuine = ({ posts }: WebhookReceiver, secret: string, header = 'x-service-signature') =>
  posts.every(({ headers, body }) => headers[header] === createHmac('sha256', secret).update(body).digest('hex'))

test('posts an event at once, signed for every kind of receiver', async () => {
  const fixture = await webhookFixture({}, Date.now())
  const { webhooks, add, write } = fixture
  const receiver = await startReceiver(status(204))
  const webhook = await add(receiver.url)
  await webhooks.start()
  const id = await write('email.delivered')
  await stateIs(fixture, webhook.id, { state: 'success', attempts: 1, next_attempt_at: null })
  expect(receiver.posts).toHaveLength(1)
  expect(isGenuine(receiver, webhook.secret)).toBe(true)
  const [post] = receiver.posts
  expect(new StandardWebhook(webhook.secret).verify(post?.body ?? '', post?.headers ?? {})).toMatchObject({ id, type: 'email.delivered' })
})

test('an attempt whose request cannot be made has failed, and is made again', async () => {
  const fixture = await webhookFixture()
  const { clock, webhooks, add, write } = fixture
  const receiver = await startReceiver(status(200))
  const webhook = await add(receiver.url, { payload: 'sendgrid', events: ['email.bounced'] })
  const { signingKey } = webhook
  Object.assign(webhooks.list.findWebhook(webhook.id) ?? {}, { signingKey: 'no key' })
  await webhooks.start()
  await write('email.bounced')
  await stateIs(fixture, webhook.id, { state: 'pending', attempts: 1, owner: null })
  Object.assign(webhooks.list.findWebhook(webhook.id) ?? {}, { signingKey })
  clock.advance(minute)
  await stateIs(fixture, webhook.id, { state: 'success', attempts: 2 })
  expect(receiver.posts).toHaveLength(1)
})

test('a failing endpoint gets six attempts at the documented times, and delays no healthy one', async () => {
  const fixture = await webhookFixture({ timeoutMs: 300 })
  const { clock, webhooks, add, write, deliveries } = fixture
  const elsewhere = await startReceiver(status(200))
  const failing = await Promise.all([
    startReceiver(status(500)),
    startReceiver(status(301, { location: elsewhere.url })),
    startReceiver(hang),
    startReceiver(dribble('HTTP/1.1 200 OK\r\n\r\n', 100)),
  ])
  const ids = (await Promise.all(failing.map(({ url }) => add(url, { events: ['email.bounced'] })))).map(({ id }) => id)
  const healthy = await startReceiver(status(200))
  await add(healthy.url, { events: ['email.sent'] })
  await webhooks.start()

  const start = clock.now()
  await write('email.bounced')
  let attempts = 0
  for (const wait of [0, minute, 5 * minute, 30 * minute, 2 * hour, 24 * hour]) {
    // A millisecond early nothing happens, but to the healthy one.
    if (wait > 0) clock.advance(wait - 1)
    await write('email.sent')
    await eventually(() => expect(healthy.posts).toHaveLength(attempts + 1))
    if (wait > 0) for (const { posts } of failing) expect(posts).toHaveLength(attempts)
    clock.advance(wait > 0 ? 1 : 0)
    attempts++
    for (const id of ids) await stateIs(fixture, id, { attempts, state: attempts === 6 ? 'failed' : 'pending' })
  }
  for (const { posts } of failing) {
    expect(posts).toHaveLength(6)
    expect(posts.map(({ headers }) => headers['x-service-attempt'])).toEqual(['1', '2', '3', '4', '5', '6'])
    expect(new Set(posts.map(({ body }) => body)).size).toBe(1)
    expect(new Set(posts.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
  }
  const times = [0, minute, 6 * minute, 36 * minute, 156 * minute, 156 * minute + 24 * hour]
  for (const id of ids) {
    const [delivery] = await deliveries(id)
    const made = await webhooks.history.attempts(delivery?.id ?? '')
    expect(made.map(({ sent_at }) => sent_at - start)).toEqual(times)
  }
  const [delivery] = await deliveries(ids[2] ?? '')
  expect((await webhooks.history.attempts(delivery?.id ?? ''))[0]).toMatchObject({
    number: 1,
    http_status_code: null,
    error: 'No response within 0.3 seconds.',
  })
  expect(elsewhere.posts).toEqual([])
  clock.advance(1_000 * hour)
  await write('email.sent')
  await eventually(() => expect(healthy.posts).toHaveLength(7))
  for (const { posts } of failing) expect(posts).toHaveLength(6)
})

test('hanging endpoints with a long backlog do not delay another', async () => {
  const { webhooks, add, write } = await webhookFixture()
  const hanging = await startReceiver(hang)
  for (let i = 0; i < 40; i++) await add(`${hanging.url}&n=${i}`, { events: ['email.bounced'] })
  await webhooks.start()
  await Promise.all(Array.from({ length: 20 }, () => write('email.bounced')))
  await eventually(() => expect(hanging.posts).toHaveLength(40 * 5))
  const healthy = await startReceiver(status(200))
  await add(healthy.url, { events: ['email.sent'] })
  await write('email.sent')
  await eventually(() => expect(healthy.posts).toHaveLength(1))
  expect(hanging.posts).toHaveLength(40 * 5)
})

test('a busy endpoint gets everything once', async () => {
  const { webhooks, add, write, db } = await webhookFixture()
  const receiver = await startReceiver(status(200))
  await add(receiver.url)
  await webhooks.start()
  const ids = await Promise.all(Array.from({ length: 800 }, () => write('email.sent')))
  await eventually(() => expect(receiver.posts.length).toBeGreaterThanOrEqual(800))
  expect(receiver.posts.map(({ headers }) => headers['webhook-id']).toSorted()).toEqual(ids.toSorted())
  await eventually(async () =>
    expect(await db.read(`select state, count(*) as n from webhook_delivery group by state`)).toEqual([{ state: 'success', n: 800 }]),
  )
})

const eventsOf = ({ posts }: WebhookReceiver, email: string) =>
  posts.filter(({ body }) => body.includes(email)).map(({ headers }) => headers['webhook-id'])

test('the events of an email come in order, each after the answer to the one before it; emails do not wait for each other', async () => {
  const { webhooks, add, write } = await webhookFixture()
  const answers: (() => void)[] = []
  const receiver = await startReceiver((res) => void answers.push(() => res.writeHead(200).end()))
  await add(receiver.url)
  const emails = ['em_a', 'em_b', 'em_c']
  const ids: string[] = []
  for (const messageId of emails) for (const type of ['email.sent', 'email.delivered'] as const) ids.push(await write(type, { messageId }))
  await webhooks.start()
  for (const posted of [3, 6]) {
    await eventually(() => expect(receiver.posts).toHaveLength(posted))
    for (const answer of answers.splice(0)) answer()
  }
  expect(receiver.posts.map(({ headers }) => headers['x-service-event'])).toEqual([
    ...Array(3).fill('email.sent'),
    ...Array(3).fill('email.delivered'),
  ])
  expect(emails.flatMap((email) => eventsOf(receiver, email))).toEqual(ids)
})

test('hundreds of events of one email hold up no other email', async () => {
  const { webhooks, add, write } = await webhookFixture()
  const receiver = await startReceiver(hang)
  await add(receiver.url)
  await Promise.all(Array.from({ length: 300 }, () => write('email.clicked', { messageId: 'em_a' })))
  const other = await write('email.sent', { messageId: 'em_b' })
  await webhooks.start()
  await eventually(() => expect(eventsOf(receiver, 'em_b')).toEqual([other]))
  expect(receiver.posts).toHaveLength(2)
})

test('an event that fails holds up no later one of its email, nor does its next attempt', async () => {
  const { clock, webhooks, add, write } = await webhookFixture()
  const receiver = await startReceiver(
    (res, { headers }) => void res.writeHead(headers['x-service-event'] === 'email.sent' ? 500 : 200).end(),
  )
  await add(receiver.url)
  await webhooks.start()
  const sent = await write('email.sent', { messageId: 'em_a' })
  const delivered = await write('email.delivered', { messageId: 'em_a' })
  await eventually(() => expect(eventsOf(receiver, 'em_a')).toEqual([sent, delivered]))
  receiver.behave = hang
  clock.advance(minute)
  await eventually(() => expect(receiver.posts).toHaveLength(3))
  const opened = await write('email.opened', { messageId: 'em_a' })
  await eventually(() => expect(eventsOf(receiver, 'em_a')).toEqual([sent, delivered, sent, opened]))
})

test.each<[string, Partial<Parameters<Fixture['add']>[1]>]>([
  ['our own shape', {}],
  ["another service's shape", { payload: 'mailgun' }],
])('a long backlog comes in the order of events, over restarts as well: %s', async (_, fields) => {
  const fixture = await webhookFixture()
  const { clock, webhooks, restart, add, write } = fixture
  const receiver = await startReceiver(hang)
  const { id } = await add(receiver.url, fields)
  const order = ['email.sent', 'email.delivered', 'email.opened', 'email.complained'] as const
  const ids: string[][] = []
  for (let i = 0; i < 40; i++) {
    ids.push([])
    for (const type of order) ids[i]?.push(await write(type, { messageId: `em_${i}` }))
    clock.advance(i % 3)
  }
  await webhooks.start()
  await eventually(() => expect(receiver.posts).toHaveLength(5))
  let last = webhooks
  for (let posted = 5; posted < 15; posted += 5) {
    await last.stop(0)
    receiver.posts = []
    clock.advance(1_000)
    last = await restart()
    await last.start()
    await eventually(() => expect(receiver.posts).toHaveLength(5))
  }
  await last.stop(0)
  receiver.posts = []
  receiver.behave = status(200)
  await (await restart()).start()
  await eventually(async () => expect((await fixture.deliveries(id)).every(({ state }) => state === 'success')).toBe(true))
  const posted = receiver.posts.map(({ headers }) => headers['webhook-id'])
  expect(ids.map((ofEmail) => posted.filter((event) => ofEmail.includes(event ?? '')))).toEqual(ids)
})

test('the next process continues what was in hand, and keeps to the schedule', async () => {
  const fixture = await webhookFixture()
  const { clock, webhooks, restart, add, write } = fixture
  const hanging = await startReceiver(hang)
  const failing = await startReceiver(status(500))
  const inHand = await add(hanging.url)
  const waiting = await add(failing.url)
  await webhooks.start()
  const id = await write('email.sent')
  await eventually(() => expect(hanging.posts).toHaveLength(1))
  await stateIs(fixture, waiting.id, { state: 'pending', attempts: 1 })
  await webhooks.stop(0)
  await stateIs(fixture, inHand.id, { state: 'pending', attempts: 0 })
  const unseen = await write('email.delivered')

  hanging.behave = status(200)
  clock.advance(30_000)
  await (await restart()).start()
  await eventually(() => expect(hanging.posts).toHaveLength(3))
  const again = hanging.posts.filter(({ headers }) => headers['webhook-id'] === id)
  expect(again.map(({ headers }) => headers['x-service-attempt'])).toEqual(['1', '1'])
  expect(again[1]?.body).toBe(again[0]?.body)
  expect(hanging.posts.map(({ headers }) => headers['webhook-id'])).toContain(unseen)
  expect(failing.posts.filter(({ headers }) => headers['webhook-id'] === id)).toHaveLength(1)
  clock.advance(30_000)
  await eventually(() => expect(failing.posts.filter(({ headers }) => headers['webhook-id'] === id)).toHaveLength(2))
})

test('what another process attempts is left to it while it is there; once it has ended, only the next one counts', async () => {
  const fixture = await webhookFixture()
  const { db, webhooks, restart, add, write, deliveries } = fixture
  const hanging = await startReceiver(hang)
  const webhook = await add(hanging.url)
  await webhooks.start()
  await write('email.sent')
  await eventually(() => expect(hanging.posts).toHaveLength(1))
  const [{ name }] = (await db.read<{ name: string }>('select name from node')) as [{ name: string }]
  const second = await restart()
  await db.write([{ sql: `insert into node (name, started_at) values (:name, 0)`, params: { name } }])
  await second.start()
  const later = await write('email.delivered')
  await eventually(() => expect(hanging.posts.some(({ headers }) => headers['webhook-id'] === later)).toBe(true))
  await stateIs(fixture, webhook.id, { state: 'attempting', attempts: 0 })
  expect(hanging.posts.filter(({ headers }) => headers['webhook-id'] !== later)).toHaveLength(1)
  await second.stop(0)

  hanging.behave = status(200)
  await (await restart()).start()
  await eventually(async () => expect((await deliveries(webhook.id)).every(({ state }) => state === 'success')).toBe(true))
  await webhooks.stop(0)
  expect((await deliveries(webhook.id)).map(({ attempts }) => attempts)).toEqual([1, 1])
})

test('a node whose claims may be another’s posts nothing, until it can say again that it lives', async () => {
  const fixture = await webhookFixture()
  const { clock, nodes, webhooks, add, write } = fixture
  const receiver = await startReceiver(status(200))
  const webhook = await add(receiver.url)
  await webhooks.start()
  nodes.deadline.set(0)
  const id = await write('email.delivered')
  await stateIs(fixture, webhook.id, { state: 'attempting' })
  // Gets there after whatever was posted before it.
  await webhooks.sendSample(webhook, 'email.delivered')
  expect(receiver.posts).toHaveLength(1)
  nodes.deadline.set(60_000)
  clock.advance(100)
  await stateIs(fixture, webhook.id, { state: 'success', attempts: 1 })
  expect(receiver.posts.map(({ headers }) => headers['webhook-id'] === id)).toEqual([false, true])
})

test('a stop puts back what a node could not post because it might be another’s', async () => {
  const fixture = await webhookFixture()
  const { nodes, webhooks, add, write } = fixture
  const receiver = await startReceiver(status(200))
  const webhook = await add(receiver.url)
  await webhooks.start()
  nodes.deadline.set(0)
  await write('email.delivered')
  await stateIs(fixture, webhook.id, { state: 'attempting' })
  const stopped = webhooks.stop(0)
  await eventually(() => {
    fixture.clock.advance(100)
    return expect(fixture.deliveries(webhook.id)).resolves.toMatchObject([{ state: 'pending', attempts: 0, owner: null }])
  })
  await stopped
  expect(receiver.posts).toEqual([])
})

test('a stop lets attempts in hand finish', async () => {
  const fixture = await webhookFixture()
  const { webhooks, add, write } = fixture
  const receiver = await startReceiver(hang)
  const webhook = await add(receiver.url)
  await webhooks.start()
  await write('email.sent')
  let finish = () => {}
  receiver.behave = (res) => (finish = () => void res.writeHead(200).end())
  await eventually(() => expect(receiver.posts).toHaveLength(1))
  const stopped = webhooks.stop(10_000)
  finish()
  await stopped
  expect((await fixture.deliveries(webhook.id))[0]).toMatchObject({ state: 'success' })
})

test('after a rotation, both secrets sign until the overlap ends', async () => {
  const { clock, webhooks, add, write } = await webhookFixture()
  const receiver = await startReceiver(status(200))
  const { id, secret: old } = await add(receiver.url)
  await webhooks.start()
  const postOne = async () => {
    receiver.posts = []
    await write('email.sent')
    await eventually(() => expect(receiver.posts).toHaveLength(1))
  }
  const { secret } = await webhooks.list.rotateSecret(scope, id, { overlapMs: hour, force: false })
  await postOne()
  expect(isGenuine(receiver, secret)).toBe(true)
  expect(isGenuine(receiver, old, 'x-service-signature-previous')).toBe(true)
  expect(receiver.posts[0]?.headers['webhook-signature']?.split(' ')).toHaveLength(2)
  await expect(webhooks.list.rotateSecret(scope, id, { overlapMs: hour, force: false })).rejects.toMatchObject({
    code: 'rotation_in_progress',
  })

  clock.advance(hour)
  await postOne()
  expect(isGenuine(receiver, secret)).toBe(true)
  expect(receiver.posts[0]?.headers).not.toHaveProperty('x-service-signature-previous')
  const { previousSecret } = await webhooks.list.rotateSecret(scope, id, { overlapMs: 0, force: false })
  expect(previousSecret).toBeNull()
})

test('a replay has the same id and bytes, and its own schedule', async () => {
  const fixture = await webhookFixture()
  const { clock, webhooks, add, write, deliveries } = fixture
  const receiver = await startReceiver(status(500))
  const webhook = await add(receiver.url)
  await webhooks.start()
  await write('email.delivered')
  await stateIs(fixture, webhook.id, { state: 'pending', attempts: 1 })
  const [first] = await deliveries(webhook.id)
  if (!first) throw new Error('no delivery')
  await expect(webhooks.history.replay(webhook, first)).rejects.toMatchObject({ code: 'invalid_state' })
  for (const wait of [1, 5, 30, 120, 1440]) {
    clock.advance(wait * minute)
    await eventually(async () => expect((await deliveries(webhook.id))[0]).not.toMatchObject({ next_attempt_at: clock.now() }))
    await eventually(async () => expect((await deliveries(webhook.id))[0]?.state).not.toBe('attempting'))
  }
  await stateIs(fixture, webhook.id, { state: 'failed', attempts: 6 })

  receiver.behave = status(200)
  clock.advance(1)
  expect(await webhooks.history.replayAll(webhook, { state: 'failed', since: 0, until: clock.now() })).toBe(1)
  await eventually(() => expect(receiver.posts).toHaveLength(7))
  const last = receiver.posts.at(-1)
  expect(last?.body).toBe(receiver.posts[0]?.body)
  expect(last?.headers).toMatchObject({ 'webhook-id': first.event_id, 'x-service-attempt': '1' })
  expect(last?.headers['webhook-timestamp']).toBe(String(Math.floor(clock.now() / 1000)))
  expect(isGenuine(receiver, webhook.secret)).toBe(true)
  // What has succeeded since is not replayed again.
  await eventually(async () => expect((await deliveries(webhook.id))[1]?.state).toBe('success'))
  expect(await webhooks.history.replayAll(webhook, { state: 'failed', since: 0, until: clock.now() })).toBe(0)
})

test('a disabled or deleted webhook gets nothing more', async () => {
  const fixture = await webhookFixture()
  const { clock, webhooks, add, write } = fixture
  const receiver = await startReceiver(status(500))
  const [one, two] = [await add(receiver.url), await add(receiver.url)]
  await webhooks.start()
  await write('email.sent')
  for (const { id } of [one, two]) await stateIs(fixture, id, { state: 'pending', attempts: 1 })
  await webhooks.list.change(scope, one.id, { status: 'disabled' })
  await webhooks.list.remove(scope, two.id)
  for (const { id } of [one, two]) await stateIs(fixture, id, { state: 'canceled', attempts: 1, next_attempt_at: null })
  expect(() => webhooks.list.getWebhook(scope, two.id)).toThrow('no webhook')
  const healthy = await startReceiver(status(200))
  await add(healthy.url)
  clock.advance(hour)
  await write('email.sent')
  await eventually(() => expect(healthy.posts).toHaveLength(1))
  expect(receiver.posts).toHaveLength(2)
})

test('five days without success and ten exhausted deliveries disable a webhook', async () => {
  const fixture = await webhookFixture({ retrySchedule: [] })
  const { clock, webhooks, restart, add, write, db } = fixture
  const receiver = await startReceiver(status(500))
  const { id } = await add(receiver.url)
  await webhooks.start()
  const fail = async (count: number) => {
    const [{ before } = { before: 0 }] = await db.read<{ before: number }>('select count(*) as before from webhook_attempt')
    await Promise.all(Array.from({ length: count }, () => write('email.sent')))
    await eventually(async () => expect(await db.read('select count(*) as n from webhook_attempt')).toEqual([{ n: before + count }]))
  }
  const webhook = () => webhooks.list.findWebhook(id)
  await fail(20)
  clock.advance(4 * 24 * hour)
  receiver.behave = status(200)
  await fail(1)
  receiver.behave = status(500)
  await fail(5)
  clock.advance(5 * 24 * hour)
  await fail(4)
  expect(webhook()?.status).toBe('enabled')
  await fail(1)
  await eventually(() => expect(webhook()).toMatchObject({ status: 'disabled', disabledReason: 'failures' }))
  expect((await restart()).list.findWebhook(id)).toMatchObject({ status: 'disabled', disabledReason: 'failures' })
})

test('after an outage a failed attempt ends no delivery, and the outage does not count as time without success', async () => {
  const fixture = await webhookFixture({ retrySchedule: [] })
  const { clock, webhooks, add, write, db } = fixture
  const receiver = await startReceiver(status(500))
  const { id } = await add(receiver.url)
  await webhooks.start()
  const states = async () => (await fixture.deliveries(id)).map(({ state, attempts }) => `${state} ${attempts}`)
  await write('email.sent')
  await eventually(async () => expect(await states()).toEqual(['failed 1']))

  clock.correct(10 * 24 * hour)
  for (let number = 0; number < 10; number++) await write('email.sent')
  await eventually(async () => expect(await states()).toEqual(['failed 1', ...Array(10).fill('pending 1')]))
  clock.advance(minute)
  await eventually(async () => expect(await states()).toEqual(['failed 1', ...Array(10).fill('pending 2')]))
  // After the reprieve they fail, and the webhook has failed for two days.
  clock.advance(48 * hour)
  await eventually(async () => expect(await states()).toEqual(['failed 1', ...Array(10).fill('failed 3')]))
  expect(webhooks.list.findWebhook(id)?.status).toBe('enabled')
  const [{ failing_since: since } = { failing_since: 0 }] = await db.read<{ failing_since: number }>('select failing_since from webhook')
  expect(clock.now() - since).toBeLessThan(3 * 24 * hour)
})

test('a delivery does not wait for the time of a clock that was ahead', async () => {
  const fixture = await webhookFixture()
  const { clock, webhooks, add, write } = fixture
  const receiver = await startReceiver(status(500))
  const { id } = await add(receiver.url)
  await webhooks.start()
  clock.correct(10 * 24 * hour)
  await write('email.sent')
  await stateIs(fixture, id, { state: 'pending', attempts: 1 })
  receiver.behave = status(200)
  clock.correct(-10 * 24 * hour)
  webhooks.clockSetBack()
  await stateIs(fixture, id, { state: 'success', attempts: 2 })
})

test('nor does its first attempt, so that later events do not come before it', async () => {
  const { clock, webhooks, add, write } = await webhookFixture()
  const answers: (() => void)[] = []
  const receiver = await startReceiver((res) => void answers.push(() => res.writeHead(200).end()))
  await add(receiver.url)
  await webhooks.start()
  const ids: string[] = []
  for (let i = 0; i < 7; i++) ids.push(await write('email.sent', { messageId: `em_${i}` }))
  await eventually(() => expect(receiver.posts).toHaveLength(5))
  clock.correct(-hour)
  webhooks.clockSetBack()
  await eventually(() => {
    for (const answer of answers.splice(0)) answer()
    expect(receiver.posts.map(({ headers }) => headers['webhook-id']).toSorted()).toEqual(ids.toSorted())
  })
})

test('a sample is signed, marked, and not recorded', async () => {
  const { webhooks, add, db } = await webhookFixture({}, Date.now())
  const receiver = await startReceiver(status(202, {}, 'thanks'))
  const webhook = await add(receiver.url, { status: 'disabled', payload: 'extended' })
  expect(await webhooks.sendSample(webhook, 'email.bounced')).toMatchObject({ statusCode: 202, response: 'thanks' })
  const [post] = receiver.posts
  expect(post?.headers).toMatchObject({ 'x-service-test': 'true', 'x-service-event': 'email.bounced' })
  const body = new StandardWebhook(webhook.secret).verify(post?.body ?? '', post?.headers ?? {}) as { id: string; data: object }
  expect(body.id).toMatch(/^evt_test_[0-9a-z]{26}$/)
  expect(Object.keys(body)).toEqual(['id', 'type', 'created_at', 'data'])
  expect(body.data).toMatchObject({ bounce_type: 'hard', recipient_type: 'to', tags: [], metadata: {} })
  expect(await db.read('select count(*) as n from webhook_delivery')).toEqual([{ n: 0 }])
})

test('secrets are encrypted in the database, and a webhook survives a restart', async () => {
  const { webhooks, restart, add, db } = await webhookFixture()
  const webhook = await add('https://example.com/', { description: 'ours', events: ['email.sent'], payload: 'extended' })
  const rotated = await webhooks.list.rotateSecret(scope, webhook.id, { overlapMs: hour, force: false })
  const [row] = await db.read<{ secret: Uint8Array; previous_secret: Uint8Array }>('select secret, previous_secret from webhook')
  for (const sealed of [row?.secret, row?.previous_secret]) expect(Buffer.from(sealed ?? []).includes('whsec_')).toBe(false)
  expect((await restart()).list.findWebhook(webhook.id)).toEqual(rotated)
})
