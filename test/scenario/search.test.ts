import { expect, onTestFinished, test } from 'vitest'
import { silentLog } from '../../src/platform/log.ts'
import { searchIndex } from '../../src/readers/search/search-index.ts'
import { recipientsInHand } from '../support/queued-mail.ts'
import { startTestRelay } from '../support/start-relay.ts'

test('mail is found by recipient, author, status and events at once, and after the log was read for searches', async () => {
  const relay = await startTestRelay()
  onTestFinished(() => relay.stop())
  const { db } = relay.relay.services
  const ids = async (query: string): Promise<string[]> =>
    (await relay.call('GET', `/api/emails?${query}`)).body.data.map(({ id }: { id: string }) => id)
  const types = async (query: string): Promise<string[]> =>
    (await relay.call('GET', `/api/events?${query}`)).body.data.map(({ type }: { type: string }) => type)
  const isQuiet = () => expect.poll(() => recipientsInHand(db)).toEqual([])

  const first = await relay.send('delivered@simulator.test')
  await isQuiet()
  // What is read for searches comes between two emails, so that one is found by it and the other behind it.
  await searchIndex({ db, log: silentLog }).keepUp()
  const later = new Date(relay.clock.now() + 3_600_000).toISOString()
  const second = await relay.send(['Delivered@Simulator.test', 'softbounced@simulator.test'])
  const third = await relay.send('bounced@simulator.test')
  const fourth = await relay.send('ann@rcpt.example', { scheduled_at: later })
  await isQuiet()

  for (const _ of ['before', 'after']) {
    expect(await ids('to=delivered@simulator.test')).toEqual([second, first])
    expect(await ids(`to=delivered@simulator.test&limit=1&after=${second}`)).toEqual([first])
    expect(await ids(`to=delivered@simulator.test&limit=1&before=${first}`)).toEqual([second])
    expect(await ids('to=bounced@simulator.test')).toEqual([third])
    expect(await ids('to=nobody@simulator.test')).toEqual([])
    expect(await ids('from=App@sender.example')).toEqual([fourth, third, second, first])
    expect(await ids('from=app@sender.example&to=ann@rcpt.example')).toEqual([fourth])
    expect(await ids('status=delivered')).toEqual([first])
    expect(await ids('status=bounced')).toEqual([third])
    expect(await ids('status=scheduled')).toEqual([fourth])
    expect(await ids('status=queued')).toEqual([])
    expect(await types('type=email.bounced&to=bounced@simulator.test')).toEqual(['email.bounced'])
    expect(await types('type=email.complained')).toEqual([])
    expect(await types('to=delivered@simulator.test&order=asc&type=email.delivered')).toHaveLength(2)
    await searchIndex({ db, log: silentLog }).keepUp()
  }
})

test('mail is found by what somebody remembers of it, however it was pasted', async () => {
  const relay = await startTestRelay()
  onTestFinished(() => relay.stop())
  const { db } = relay.relay.services
  const found = async (query: Record<string, string>): Promise<string[]> => {
    const { status, body } = await relay.call('GET', `/api/emails?${new URLSearchParams(query)}`)
    return status === 200 ? body.data.map(({ id }: { id: string }) => id) : [`${status}: ${body.message}`]
  }
  const first = await relay.send('ann_b@rcpt.example', { subject: 'Your order 100% done' })
  await searchIndex({ db, log: silentLog }).keepUp()
  const second = await relay.send(['Bob.Miller@other.rcpt.example', 'carl@xn--bcher-kva.example'], {
    subject: 'Überprüfung der BESTELLUNG',
  })
  const { body: email } = await relay.call('GET', `/api/emails/${second}`)
  const messageId = email.message_id as string

  for (const _ of ['before', 'after']) {
    for (const to of [' ann_b@rcpt.example ', 'Ann B <ann_b@RCPT.example>', '"B, Ann" <ann_b@rcpt.example>\n', '<ann_b@rcpt.example>'])
      expect(await found({ to }), to).toEqual([first])
    for (const to of ['ann_', ' N_B@ ', 'nn_b@rcp', '@rcpt.example']) expect(await found({ to }), to).toEqual([first])
    for (const to of ['miller', 'bob.miller', '@bücher.example', 'other.rcpt']) expect(await found({ to }), to).toEqual([second])
    expect(await found({ to: 'rcpt.example' })).toEqual([second, first])
    expect(await found({ to: ' ' })).toEqual([second, first])
    for (const to of ['%', 'ann%', 'nn-b', '@example', "' or 1=1 --", '\0'])
      expect(await found({ to }), to).toEqual(to === '\0' ? [second, first] : [])
    expect(await found({ from: 'App <app@sender.example>' })).toEqual([second, first])
    expect(await found({ from: 'APP' })).toEqual([second, first])
    expect(await found({ from: 'nobody' })).toEqual([])
    for (const subject of ['ORDER 1', '100% d', ' your order 100% done ']) expect(await found({ subject }), subject).toEqual([first])
    for (const subject of ['überprüf', 'bestellung', 'ÜBERPRÜFUNG']) expect(await found({ subject }), subject).toEqual([second])
    expect(await found({ subject: '100_' })).toEqual([])
    for (const form of [messageId, ` ${messageId.slice(1, -1)} `]) expect(await found({ message_id: form }), form).toEqual([second])
    expect(await found({ subject: 'order', to: 'miller' })).toEqual([])
    await searchIndex({ db, log: silentLog }).keepUp()
  }
  expect(await found({ subject: '%'.repeat(1_000) })).toEqual(['422: The parameter subject must have at most 500 characters.'])
})

test('a date as the end of a range means all of that day', async () => {
  const relay = await startTestRelay()
  onTestFinished(() => relay.stop())
  const id = await relay.send('ann@rcpt.example')
  const day = new Date(relay.clock.now()).toISOString().slice(0, 10)
  const dayBefore = new Date(relay.clock.now() - 86_400_000).toISOString().slice(0, 10)
  const ids = async (path: string): Promise<string[]> =>
    (await relay.call('GET', path)).body.data.map((found: { id: string; data?: { email_id?: string } }) => found.data?.email_id ?? found.id)
  expect(await ids(`/api/emails?since=${day}&until=${day}`)).toEqual([id])
  expect(await ids(`/api/emails?until=${dayBefore}`)).toEqual([])
  expect(await ids(`/api/emails?until=${day}T00:00:00Z`)).toEqual([])
  await expect.poll(async () => new Set(await ids(`/api/events?until=${day}`))).toEqual(new Set([id]))
})

test('an id of a recipient, an attempt, an event or a delivery leads to its email or webhook, within the account', async () => {
  const relay = await startTestRelay({ webhooks_allow_private_addresses: 'true' })
  onTestFinished(() => relay.stop())
  const { db } = relay.relay.services
  const { body: webhook } = await relay.call('POST', '/api/webhooks', { url: 'http://127.0.0.1:9/', events: ['email.bounced'] })
  const email = await relay.send('bounced@simulator.test')
  const idOf = async (table: string): Promise<string> => {
    await expect.poll(() => db.read(`select id from ${table}`)).not.toEqual([])
    return String((await db.read(`select id from ${table} limit 1`))[0]?.['id'])
  }
  const nothing = { object: 'found', email_id: null, webhook_id: null, delivery_id: null }
  for (const table of ['recipient', 'event']) {
    const id = await idOf(table)
    expect((await relay.call('GET', `/api/find/${id.toUpperCase()}`)).body).toEqual({ ...nothing, id, email_id: email })
  }
  const delivery = await idOf('webhook_delivery')
  for (const id of [delivery, await idOf('webhook_attempt')]) {
    expect((await relay.call('GET', `/api/find/${id}`)).body).toEqual({ ...nothing, id, webhook_id: webhook.id, delivery_id: delivery })
  }
  await db.write([{ sql: `update webhook set sandbox = 1` }, { sql: `update message set sandbox = 1` }])
  for (const id of [delivery, await idOf('recipient'), 'rcp_0', 'x', '__proto___0', "' or 1"])
    expect((await relay.call('GET', `/api/find/${encodeURIComponent(id)}`)).status, id).toBe(404)
})
