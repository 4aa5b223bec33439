import { expect, test } from 'vitest'
import { fanOutReader } from '../../../src/notify/webhook/fan-out.ts'
import type { Statement } from '../../../src/platform/store/database.ts'
import { silentLog } from '../../../src/platform/log.ts'
import { webhookFixture } from '../../support/webhook-fixture.ts'

async function fanOutFixture() {
  const fixture = await webhookFixture()
  const run = async () => {
    const due: string[] = []
    await fanOutReader({ ...fixture, log: silentLog, list: fixture.webhooks.list }, (id) => due.push(id)).catchUp()
    return due
  }
  const cursor = async () => (await fixture.db.read(`select position from cursor where name = 'webhook'`))[0]?.position
  return { ...fixture, run, cursor }
}

/** A message to one recipient, who was tried at a host of this provider. */
const mail = (provider: string): Statement[] => [
  {
    sql: `insert into message (id, account_id, source, sandbox, header_from, header_to, header_cc, reply_to, subject, message_id_header,
                               size, body_type, smtputf8, tags, metadata, created_at)
          values ('em_1', 'acc_one', 'api', 0, '"Ann" <a@example.com>', '[]', '[]', '[]', '', '<1@example.com>', 1, '7bit', 0,
                  '[{"name":"a","value":"b"}]', '{"order":"7"}', 0)`,
  },
  {
    sql: `insert into recipient (id, message_id, account_id, forward_path, destination, type, state, expires_at, provider)
          values ('rcp_1', 'em_1', 'acc_one', 'user@example.com', 'example.com', 'cc', 'delivered', 0, :provider)`,
    params: { provider },
  },
]

test('each webhook gets the events it subscribed to, of its account and mode, since it was created', async () => {
  const { write, add, run, deliveries } = await fanOutFixture()
  await write('email.delivered')
  const all = await add('https://a.example/')
  const some = await add('https://b.example/', { events: ['email.delivered', 'email.bounced'] })
  const sandbox = await add('https://c.example/', {}, { accountId: 'acc_one', sandbox: true })
  const other = await add('https://d.example/', {}, { accountId: 'acc_two', sandbox: false })
  const disabled = await add('https://e.example/', { status: 'disabled' })
  const sent = await write('email.sent')
  const delivered = await write('email.delivered')
  for (const type of ['email.queued', 'email.deferred', 'email.canceled'] as const) await write(type)
  const inSandbox = await write('email.bounced', { sandbox: true })
  const ofOther = await write('email.opened', { accountId: 'acc_two' })

  expect((await run()).toSorted()).toEqual([all.id, some.id, sandbox.id, other.id].toSorted())
  expect(await run()).toEqual([])
  const eventsAt = async (id: string) => (await deliveries(id)).map(({ event_id }) => event_id).toSorted()
  expect(await eventsAt(all.id)).toEqual([sent, delivered].toSorted())
  expect(await eventsAt(some.id)).toEqual([delivered])
  expect(await eventsAt(sandbox.id)).toEqual([inSandbox])
  expect(await eventsAt(other.id)).toEqual([ofOther])
  expect(await eventsAt(disabled.id)).toEqual([])
})

test('the bytes are fixed: four keys in order, data as recorded, additions only on request', async () => {
  const { db, clock, write, add, run, deliveries } = await fanOutFixture()
  const standard = await add('https://a.example/')
  const extended = await add('https://b.example/', { payload: 'extended' })
  await db.write(mail('other'))
  const id = await write('email.delivered', { messageId: 'em_1' })
  await run()
  const time = new Date(clock.now()).toISOString()
  const data = `{"email_id":"em_1","to":"user@example.com","subject":"Grüße 👋 \u2028","delivered_at":"${time}"`
  const start = `{"id":"${id}","type":"email.delivered","created_at":"${time}","data":${data}`
  expect((await deliveries(standard.id))[0]?.body).toBe(`${start}}}`)
  expect((await deliveries(extended.id))[0]?.body).toBe(
    `${start},"from":"\\"Ann\\" <a@example.com>","message_id":"<1@example.com>","recipient_type":"cc",` +
      `"tags":[{"name":"a","value":"b"}],"metadata":{"order":"7"}}}`,
  )
})

test('a bounce and a deferral say their cause and its owner, by the host that the recipient was tried at', async () => {
  const { db, write, add, run, deliveries } = await fanOutFixture()
  const events = ['email.bounced', 'email.deferred'] as const
  const standard = await add('https://a.example/', { events: [...events] })
  const extended = await add('https://b.example/', { events: [...events], payload: 'extended' })
  await db.write(mail('yahoo'))
  const codes = { bounce_category: 'policy', smtp_code: 554, enhanced_status: '5.7.9' }
  await write('email.bounced', { messageId: 'em_1', data: { ...codes, reason: '554 5.7.9 Message not accepted for policy reasons.' } })
  await write('email.deferred', { messageId: 'em_1', data: { reason: '451 4.7.1 Greylisted' } })
  await run()
  for (const { id } of [standard, extended])
    expect((await deliveries(id)).map(({ body }) => JSON.parse(body).data)).toMatchObject([
      { ...codes, cause: 'authentication', owner: 'sender' },
      { cause: 'greylisting', owner: 'network' },
    ])
})

test('opens and clicks by machines come only on request, and why only in extended webhooks', async () => {
  const { write, add, run, deliveries } = await fanOutFixture()
  const people = await add('https://a.example/')
  const all = await add('https://b.example/', { includeBots: true })
  const extended = await add('https://c.example/', { includeBots: true, payload: 'extended' })
  const why = (bot: boolean) => ({ bot, bot_reason: bot ? 'burst' : null, bot_confidence: bot ? 0.9 : 0 })
  const link = 'https://shop.example/?"bot":true,"bot_reason":"x","bot_confidence":1}'
  const byPerson = await write('email.clicked', { data: { link, ...why(false) } })
  const byMachine = await write('email.opened', { data: why(true) })
  await run()
  const dataAt = async (id: string) => (await deliveries(id)).map(({ event_id, body }) => [event_id, JSON.parse(body).data])
  expect(await dataAt(people.id)).toEqual([[byPerson, expect.objectContaining({ link, bot: false })]])
  expect(await dataAt(extended.id)).toMatchObject([
    [byPerson, { link, ...why(false) }],
    [byMachine, why(true)],
  ])
  const told = await dataAt(all.id)
  expect(told).toMatchObject([
    [byPerson, { link, bot: false }],
    [byMachine, { bot: true }],
  ])
  for (const [, data] of told) expect(Object.keys(data).filter((name) => name.startsWith('bot_'))).toEqual([])
})

test('reads a long log in steps, each event once', async () => {
  const { write, add, run, deliveries } = await fanOutFixture()
  const webhook = await add('https://a.example/')
  await Promise.all(Array.from({ length: 1_203 }, () => write('email.sent')))
  await run()
  await write('email.sent')
  await run()
  const ids = (await deliveries(webhook.id)).map(({ event_id }) => event_id)
  expect(new Set(ids).size).toBe(1_204)
  expect(ids).toHaveLength(1_204)
})

test('writes nothing without a webhook, and does not make up for it later', async () => {
  const { webhooks, write, add, run, cursor, deliveries } = await fanOutFixture()
  await write('email.sent')
  await run()
  expect(await cursor()).toBeUndefined()
  const webhook = await add('https://a.example/')
  const first = await write('email.sent')
  await run()
  await webhooks.list.change(webhook, webhook.id, { status: 'disabled' })
  await write('email.sent')
  await webhooks.list.change(webhook, webhook.id, { status: 'enabled' })
  const last = await write('email.sent')
  await run()
  expect((await deliveries(webhook.id)).map(({ event_id }) => event_id).toSorted()).toEqual([first, last].toSorted())
  expect((await deliveries(webhook.id)).find(({ event_id }) => event_id === first)?.state).toBe('canceled')
})
