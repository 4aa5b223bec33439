import { expect, onTestFinished, test } from 'vitest'
import { aloneAs } from '../../../src/platform/store/only-node.ts'
import { secretsFrom } from '../../../src/senders/account/key-file.ts'
import { SharedHits } from '../../../src/readers/engagement/shared-hits.ts'
import { HitRecorder } from '../../../src/readers/engagement/hit-recorder.ts'
import type { ReaderHit } from '../../../src/readers/engagement/reader-hit.ts'
import { newId } from '../../../src/platform/id.ts'
import { createLog } from '../../../src/platform/log.ts'
import { BusyError, type Database } from '../../../src/platform/store/database.ts'
import { erasedDomain } from '../../../src/mail/suppression/erased-address.ts'
import type { HitMessage, HitJudgement } from '../../../src/readers/tracking/hit.ts'
import { settableClock } from '../../support/settable-clock.ts'
import { testDatabase } from '../../support/test-database.ts'

const person: HitJudgement = { bot: false, reason: null, confidence: 0 }
const machine: HitJudgement = { bot: true, reason: 'burst', confidence: 0.9 }

interface Wishes {
  judge?: (message: HitMessage) => HitJudgement[]
  addresses?: 'full' | 'truncated' | 'none'
  address?: string
  tracking?: string
}

/** A recorder, and a delivered recipient whose token it meets. */
async function start({
  judge = ({ hits }) => hits.map(() => person),
  addresses = 'truncated',
  address = 'ann@rcpt.example',
  tracking = 'opens,clicks',
}: Wishes = {}) {
  const store = await testDatabase()
  const clock = settableClock()
  const [messageId, recipientId] = [newId('em', clock.now()), newId('rcp', clock.now())]
  await store.write([
    { sql: "insert into account (id, name, plan, status, created_at) values ('acc_1', 'a', 'free', 'active', 0)" },
    {
      sql: `insert into message (id, account_id, source, sandbox, header_from, header_to, header_cc, reply_to, subject, message_id_header, size, body_type,
                                 smtputf8, tags, metadata, tracking, created_at)
            values (:messageId, 'acc_1', 'api', 0, '', '[]', '[]', '[]', 'Hi', '', 0, '7bit', 0, '[]', '{}', :tracking, 0)`,
      params: { messageId, tracking },
    },
    {
      sql: `insert into recipient (id, message_id, account_id, forward_path, destination, type, state, expires_at, delivered_at)
            values (:recipientId, :messageId, 'acc_1', :address, 'rcpt.example', 'to', 'delivered', 0, :now)`,
      params: { recipientId, messageId, address, now: clock.now() },
    },
  ])
  const state = { error: null as Error | null, refused: 0, logged: [] as string[] }
  const db: Database = {
    ...store,
    write(...args) {
      if (!state.error) return store.write(...args)
      state.refused++
      return Promise.reject(state.error)
    },
  }
  const log = createLog('info', (line) => state.logged.push(line))
  const shared = new SharedHits({ db, log, secrets: secretsFrom(Buffer.alloc(32)), nodes: aloneAs('node_1') })
  const open = (): HitRecorder => {
    const recorder = new HitRecorder({ db, clock, log, judge, shared }, { settleMs: 30_000, addresses, scheme: 'https' })
    recorder.settle()
    onTestFinished(() => recorder.stop())
    return recorder
  }
  const hit = (more: Partial<ReaderHit> = {}): ReaderHit => ({
    recipientId,
    what: 'open',
    link: null,
    links: 0,
    at: clock.now(),
    method: 'GET',
    headers: { 'user-agent': 'Reader' },
    ip: '203.0.113.7',
    ...more,
  })
  const hits = () =>
    store.read(
      'select type, link, ip_address, user_agent, bot, bot_reason, case when event_id is null then 0 else 1 end as told from hit order by id',
    )
  const recipient = async () => (await store.read('select open_count, opened_at, click_count from recipient'))[0]
  const events = async () =>
    (await store.read<{ type: string; data: string }>('select type, data from event order by seq')).map(({ type, data }) => ({
      type,
      data: JSON.parse(data),
    }))
  return { store, clock, state, open, hit, hits, recipient, events, recipientId, messageId }
}

test('writes hits from while the database was locked afterwards, with their events', async () => {
  const { clock, state, open, hit, hits, events } = await start()
  const recorder = open()
  state.error = new BusyError()
  recorder.record(hit())
  await expect.poll(() => state.refused).toBe(1)
  state.error = null
  await expect.poll(hits).toHaveLength(1)
  state.error = new BusyError()
  clock.advance(30_000)
  await expect.poll(() => state.refused).toBe(2)
  state.error = null
  await expect.poll(events).toMatchObject([{ type: 'email.opened', data: { ip_address: '203.0.113.0', user_agent: 'Reader', bot: false } }])
  expect(state.logged).toEqual([])
})

test('hits that cannot be written do not hold up others', async () => {
  const { state, open, hit, hits } = await start()
  const recorder = open()
  state.error = new Error('nobody knows')
  recorder.record(hit())
  await expect.poll(() => state.logged.length).toBeGreaterThan(0)
  state.error = null
  recorder.record(hit({ what: 'click:1', link: 'https://shop.example/', links: 3 }))
  await expect.poll(hits).toMatchObject([{ type: 'click', link: 'https://shop.example/' }])
})

test("a hit that turns out to be a machine's no longer counts, and is corrected where it was reported", async () => {
  // The hidden link tells of all that came before it.
  const judge = ({ hits }: HitMessage) => hits.map(() => (hits.some(({ what }) => what === 'honeypot') ? machine : person))
  const { clock, open, hit, hits, recipient, events } = await start({ judge })
  const recorder = open()
  recorder.record(hit())
  await expect.poll(recipient).toMatchObject({ open_count: 1 })
  clock.advance(30_000)
  await expect.poll(events).toHaveLength(1)
  recorder.record(hit({ what: 'click:0', link: 'https://shop.example/', links: 1 }))
  await expect.poll(recipient).toMatchObject({ open_count: 1, click_count: 1 })
  recorder.record(hit({ what: 'honeypot' }))
  await expect.poll(recipient).toEqual({ open_count: 0, opened_at: null, click_count: 0 })
  clock.advance(30_000)
  await expect.poll(events).toHaveLength(3)
  const [opened, rejudged, clicked] = await events()
  expect(opened).toMatchObject({ type: 'email.opened', data: { bot: false } })
  expect(rejudged).toMatchObject({
    type: 'email.rejudged',
    data: { type: 'email.opened', at: opened?.data.opened_at, bot: true, bot_reason: 'burst', bot_confidence: 0.9 },
  })
  expect(clicked).toMatchObject({ type: 'email.clicked', data: { bot: true, bot_reason: 'burst' } })
  // The hidden link itself is no event.
  expect(await hits()).toMatchObject([
    { type: 'open', bot: 1, told: 1 },
    { type: 'click', bot: 1, told: 1 },
  ])
})

test.each<[what: string, wishes: Wishes, headers: Record<string, string>, kept: { ip_address: string | null; user_agent: string | null }]>([
  ['the network', {}, {}, { ip_address: '203.0.113.0', user_agent: 'Reader' }],
  ['the address where that is set', { addresses: 'full' }, {}, { ip_address: '203.0.113.7', user_agent: 'Reader' }],
  ['no address where that is set', { addresses: 'none' }, {}, { ip_address: null, user_agent: 'Reader' }],
  ['nothing where the sender wants that', { addresses: 'full', tracking: 'opens,anonymous' }, {}, { ip_address: null, user_agent: null }],
  ['nothing where the reader says Sec-GPC', { addresses: 'full' }, { 'sec-gpc': '1' }, { ip_address: null, user_agent: null }],
  ['nothing where the reader says DNT', { addresses: 'full' }, { dnt: '1' }, { ip_address: null, user_agent: null }],
])('stores %s of a reader', async (_, wishes, headers, kept) => {
  const { open, hit, hits } = await start(wishes)
  open().record(hit({ headers: { 'user-agent': 'Reader', ...headers } }))
  await expect.poll(hits).toMatchObject([kept])
})

test.each<[what: string, wishes: Wishes, more: Partial<ReaderHit>]>([
  ['somebody who was erased', { address: `x@${erasedDomain}` }, {}],
  ['somebody who is not there any more', {}, { recipientId: newId('rcp', 0) }],
])('stores nothing of %s', async (_, wishes, more) => {
  const { open, hit, hits, store } = await start(wishes)
  const recorder = open()
  recorder.record(hit(more))
  await recorder.stop()
  expect(await hits()).toEqual([])
  expect(await store.read('select seq from event')).toEqual([])
})

test('stores a hundred hits per recipient, over all processes', async () => {
  const { open, hit, hits } = await start()
  const first = open()
  for (let i = 0; i < 70; i++) first.record(hit())
  await first.stop()
  const second = open()
  for (let i = 0; i < 70; i++) second.record(hit())
  await second.stop()
  expect(await hits()).toHaveLength(100)
})

test('a machine that fetches everything leaves half of the hundred for people', async () => {
  const judge = ({ hits }: HitMessage) => hits.map(({ headers }) => (headers['user-agent'] === 'scanner' ? machine : person))
  const { open, hit, hits } = await start({ judge })
  const recorder = open()
  for (let i = 0; i < 130; i++) recorder.record(hit({ headers: { 'user-agent': 'scanner' } }))
  await recorder.stop()
  const next = open()
  for (let i = 0; i < 5; i++) next.record(hit({ headers: { 'user-agent': i === 4 ? 'mail program' : 'scanner' } }))
  await next.stop()
  expect((await hits()).map(({ bot }) => bot)).toEqual([...Array<number>(50).fill(1), 0])
})
