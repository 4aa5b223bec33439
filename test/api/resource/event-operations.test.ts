import { get, type IncomingMessage } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { EventFeed } from '../../../src/mail/event/event-feed.ts'
import { EventFollower } from '../../../src/mail/event/event-follower.ts'
import { recordEvent } from '../../../src/mail/event/event-log.ts'
import type { EventType } from '../../../src/mail/event/event-type.ts'
import { eventOperations } from '../../../src/api/resource/event-operations.ts'
import { EventStreams } from '../../../src/api/resource/event-streams.ts'
import { silentLog } from '../../../src/platform/log.ts'
import { startApiServer } from '../../support/api-server.ts'

async function startApi() {
  const made: { streams?: EventStreams } = {}
  const api = await startApiServer((services) => {
    const eventFeed = new EventFeed(services.db)
    const follower = new EventFollower({ db: services.db, log: silentLog })
    const eventStreams = new EventStreams({ follower, clock: services.clock })
    Object.assign(made, { streams: eventStreams })
    return eventOperations({ ...services, eventFeed, eventStreams })
  })
  const { streams } = made as Required<typeof made>
  onTestFinished(() => streams.stop())
  const key = await api.token()
  const { id: accountId } = api.accounts.getAccount('acme')
  const about = { accountId, messageId: 'em_1', recipientId: 'rcp_1', to: 'ann@example.com', subject: 'Hello\n\nworld', sandbox: false }
  return {
    ...api,
    key,
    streams,
    /** Writes events of these numbers in one batch. */
    async write(numbers: number[], changes: Partial<typeof about> = {}, type: EventType = 'email.delivered') {
      const at = api.clock.now()
      const own = type === 'email.delivered' ? { delivered_at: new Date(at).toISOString() } : { queued_at: new Date(at).toISOString() }
      await api.db.write(numbers.map((number) => recordEvent({ ...about, messageId: `em_${number}`, ...changes }, type, own, at)))
    },
    get: (query = '', token = key) => api.request('GET', `/api/events${query}`, { token }),
    /** The numbers of a list. */
    async numbers(query = '', token = key) {
      const { body } = await api.request('GET', `/api/events${query}`, { token })
      return numbersIn(body.data as EventObject[])
    },
  }
}

interface EventObject {
  id: string
  data: { email_id: string }
}

const numbersIn = (events: EventObject[]) => events.map(({ data }) => Number(data.email_id.slice(3)))
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1)

/** A reader of the stream, with what has come so far. */
async function listen(
  url: string,
  token: string,
  { query = '', lastId, path = 'stream' }: { query?: string; lastId?: string; path?: string } = {},
) {
  const headers = { authorization: `Bearer ${token}`, ...(lastId === undefined ? {} : { 'last-event-id': lastId }) }
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(`${url}/api/events/${path}${query}`, { headers, agent: false }, resolve).on('error', reject)
  })
  onTestFinished(() => void response.destroy())
  const reader = { response, text: '', isOver: false, events: () => eventsIn(reader.text) }
  response.setEncoding('utf8')
  response.on('data', (part: string) => (reader.text += part))
  response.on('close', () => (reader.isOver = true))
  response.on('error', () => {})
  await expect.poll(() => reader.text).toContain('retry: 3000\n\n')
  return reader
}

function eventsIn(text: string): (EventObject & { type: string })[] {
  const frames = text.split('\n\n').filter((frame) => frame.startsWith('id: '))
  return frames.map((frame) => {
    const [id, type, data = ''] = frame.split('\n').map((line) => line.slice(line.indexOf(': ') + 2))
    const event = JSON.parse(data) as EventObject & { type: string }
    expect([event.id, event.type]).toEqual([id, type])
    return event
  })
}

test('the list has what webhooks receive, and nothing that only the log of an email shows', async () => {
  const { get: list, write } = await startApi()
  await write([1], {}, 'email.queued')
  await write([1])
  const { body } = await list()
  expect(body).toEqual({
    object: 'list',
    has_more: false,
    data: [
      {
        id: expect.stringMatching(/^evt_[0-9a-z]{26}$/),
        type: 'email.delivered',
        created_at: '2026-11-21T06:00:00.000Z',
        data: { email_id: 'em_1', to: 'ann@example.com', subject: 'Hello\n\nworld', delivered_at: '2026-11-21T06:00:00.000Z' },
      },
    ],
  })
  const [event] = body.data as EventObject[]
  expect((await list(`/${event?.id}`)).body).toEqual(event)
  expect(await list('/evt_x')).toMatchObject({ status: 404, body: { name: 'not_found' } })
})

test('pages lead through the list in both orders and directions', async () => {
  const { get: list, write, numbers } = await startApi()
  await write(upTo(7))
  const ids = ((await list('?order=asc')).body.data as EventObject[]).map(({ id }) => id)
  const [, second, third, , , sixth] = ids
  expect(await numbers()).toEqual([7, 6, 5, 4, 3, 2, 1])
  expect(await numbers('?limit=3')).toEqual([7, 6, 5])
  expect(await numbers(`?limit=3&after=${sixth}`)).toEqual([5, 4, 3])
  expect(await numbers(`?limit=3&before=${second}`)).toEqual([5, 4, 3])
  expect(await numbers('?order=asc&limit=3')).toEqual([1, 2, 3])
  expect(await numbers(`?order=asc&limit=3&after=${third}`)).toEqual([4, 5, 6])
  expect(await numbers(`?order=asc&limit=2&before=${sixth}`)).toEqual([4, 5])
  expect((await list(`?order=asc&limit=3&after=${third}`)).body.has_more).toBe(true)
  const end = await list(`?order=asc&after=${ids.at(-1)}`)
  expect(end.body).toEqual({ object: 'list', has_more: false, data: [] })
  await write([8])
  expect(await numbers(`?order=asc&after=${ids.at(-1)}`)).toEqual([8])
})

test('filters', async () => {
  const { accounts, clock, db, numbers, write } = await startApi()
  const { id: accountId } = accounts.getAccount('acme')
  await db.write([
    {
      sql: `insert into message (id, account_id, source, sandbox, header_from, header_to, header_cc, reply_to, subject, message_id_header,
              size, body_type, smtputf8, tags, metadata, created_at)
            values ('em_2', :accountId, 'api', 0, '', '', '', '', '', '', 1, '7bit', 0, '', '', 1)`,
      params: { accountId },
    },
    {
      sql: `insert into recipient (id, message_id, account_id, forward_path, destination, type, state, expires_at)
            values ('rcp_2', 'em_2', 'acc_1', 'Bob@example.com', 'example.com', 'to', 'queued', 1)`,
    },
  ])
  await write([1])
  clock.advance(60_000)
  await write([2], { recipientId: 'rcp_2' }, 'email.queued')
  await write([2], { recipientId: 'rcp_2' })
  expect(await numbers('?email_id=em_2')).toEqual([2])
  expect(await numbers('?to=bob@EXAMPLE.com')).toEqual([2])
  expect(await numbers('?since=2026-11-21T06:00:30Z')).toEqual([2])
  expect(await numbers('?until=2026-11-21T06:00:30Z')).toEqual([1])
  expect(await numbers('?type=email.delivered&order=asc')).toEqual([1, 2])
  expect(await numbers('?type=email.bounced')).toEqual([])
})

test.each(['?after=evt_00000000000000000000000000', '?type=email.queued', '?order=up', '?since=soon', '/stream?after=evt_x'])(
  '%s is refused',
  async (query) => {
    const { get: list, write } = await startApi()
    await write([1])
    expect(await list(query)).toMatchObject({ status: 422, body: { name: 'invalid_parameter' } })
  },
)

test('another account and the other mode see nothing, and cannot go on behind an event of this one', async () => {
  const { get: list, numbers, token, url, write } = await startApi()
  await write([1])
  const [event] = (await list()).body.data as EventObject[]
  for (const stranger of [await token({ account: 'other' }), await token({ sandbox: true })]) {
    expect(await numbers('', stranger)).toEqual([])
    expect((await list(`/${event?.id}`, stranger)).status).toBe(404)
    for (const path of [`?order=asc&after=${event?.id}`, `/stream?after=${event?.id}`])
      expect((await list(path, stranger)).status).toBe(422)
    const reader = await listen(url, stranger)
    await write([2])
    await write([3], { accountId: 'acc_9' })
    expect(reader.events()).toEqual([])
  }
})

test('the stream tells what happens from now on, in a form that passes every proxy', async () => {
  const { key, url, write } = await startApi()
  await write([1])
  const reader = await listen(url, key)
  expect(reader.response.headers).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
  })
  await write([2, 3])
  await write([4], {}, 'email.queued')
  await write([5])
  await expect.poll(() => numbersIn(reader.events())).toEqual([2, 3, 5])
})

test('the stream goes on behind the last event that was seen; the header comes before the parameter', async () => {
  const { get: list, key, url, write } = await startApi()
  await write(upTo(250))
  const ids = ((await list('?order=asc')).body.data as EventObject[]).map(({ id }) => id)
  const byParameter = await listen(url, key, { query: `?after=${ids[0]}` })
  const byHeader = await listen(url, key, { query: `?after=${ids[0]}`, lastId: ids[9]! })
  await expect.poll(() => numbersIn(byParameter.events())).toEqual(upTo(250).slice(1))
  await expect.poll(() => numbersIn(byHeader.events())).toEqual(upTo(250).slice(10))
  await write([251])
  await expect.poll(() => numbersIn(byHeader.events()).at(-1)).toBe(251)
})

test('a reader who does not read costs a page, and gets everything later', async () => {
  const { get: list, key, url, write } = await startApi()
  await write([1])
  const [event] = (await list()).body.data as EventObject[]
  const reader = await listen(url, key)
  reader.response.pause()
  const subject = 'x'.repeat(20_000)
  for (let i = 0; i < 30; i++)
    await write(
      upTo(20).map((n) => 1 + i * 20 + n),
      { subject },
    )
  const other = await listen(url, key, { lastId: event!.id })
  await expect.poll(() => numbersIn(other.events()).length).toBe(600)
  expect(numbersIn(reader.events()).length).toBeLessThan(600)
  reader.response.resume()
  await expect.poll(() => numbersIn(reader.events())).toEqual(upTo(601).slice(1))
})

test('a heartbeat keeps the connection open, and finds what nobody told of', async () => {
  const { accounts, clock, db, key, url } = await startApi()
  const reader = await listen(url, key)
  const { id: accountId } = accounts.getAccount('acme')
  const about = { accountId, messageId: 'em_7', recipientId: 'rcp_1', to: 'ann@example.com', subject: '', sandbox: false }
  await db.write([recordEvent(about, 'email.sent', { sent_at: 'x' }, 1)])
  clock.advance(15_000)
  await expect.poll(() => reader.text).toContain(': still here\n\n')
  await expect.poll(() => numbersIn(reader.events())).toEqual([7])
})

test('with its key the stream ends: nothing that happens later is told', async () => {
  const { accounts, apiKeys, key, url, write } = await startApi()
  const [known] = apiKeys.list(accounts.getAccount('acme').id)
  const readers = [await listen(url, key), await listen(url, key)]
  await apiKeys.revoke(known!.id)
  await write([1])
  for (const reader of readers) await expect.poll(() => reader.isOver).toBe(true)
  expect(readers.map((reader) => reader.events())).toEqual([[], []])
})

test('an account has so many streams and no more, and a place is free again when one is left', async () => {
  const { key, token, url, get: list } = await startApi()
  const readers = []
  for (let i = 0; i < 20; i++) readers.push(await listen(url, key))
  const refused = await list('/stream')
  expect(refused).toMatchObject({ status: 429, body: { name: 'rate_limit_exceeded' } })
  expect(refused.headers.get('retry-after')).toBe('15')
  await listen(url, await token({ account: 'other' }))
  readers[0]?.response.destroy()
  await expect.poll(async () => (await listen(url, key).catch(() => null))?.response.statusCode).toBe(200)
})

test('when the server stops, every stream ends and its connection is closed', async () => {
  const { key, server, streams, url, write } = await startApi()
  const readers = [await listen(url, key), await listen(url, key)]
  await write([1])
  await expect.poll(() => numbersIn(readers[1]!.events())).toEqual([1])
  streams.stop()
  await server.stop(600_000)
  for (const reader of readers) {
    await expect.poll(() => reader.isOver).toBe(true)
    expect(reader.response.complete).toBe(true)
  }
})

test('the changes name every email once, whatever happened to it, and rest in between', async () => {
  const { clock, key, url, write } = await startApi()
  const reader = await listen(url, key, { path: 'changes' })
  const told = () =>
    reader.text
      .split('\n\n')
      .filter((block) => block.startsWith('data: '))
      .map((block) => JSON.parse(block.slice(6)) as { email_ids: string[]; has_more: boolean })
  await write([1], {}, 'email.queued')
  await expect.poll(told).toEqual([{ object: 'email_changes', email_ids: ['em_1'], has_more: false }])
  await write([2, 2, 3])
  await write([4], { sandbox: true })
  await write([5], { accountId: 'acc_9' })
  await write([3], {}, 'email.queued')
  clock.advance(499)
  expect(told().length).toBe(1)
  clock.advance(1)
  await expect.poll(told).toHaveLength(2)
  expect(told()[1]?.email_ids).toEqual(['em_2', 'em_3'])
})

test('many changes are told as more than can be named', async () => {
  const { key, url, write } = await startApi()
  const reader = await listen(url, key, { path: 'changes' })
  await write(upTo(150))
  await expect.poll(() => reader.text).toContain('"has_more":true')
  expect(reader.text.match(/em_\d+/g)).toHaveLength(100)
})
