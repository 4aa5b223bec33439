import { simpleParser } from 'mailparser'
import { expect } from 'vitest'
import { HitRecorder } from '../../src/readers/engagement/hit-recorder.ts'
import { SharedHits } from '../../src/readers/engagement/shared-hits.ts'
import type { HitMessage } from '../../src/readers/tracking/hit.ts'
import type { FakeMx } from './fake-mx.ts'
import type { TestRelay } from './start-relay.ts'

/** What a relay is started with for all of this to happen. */
export const trackingSettings = { tracking_hidden_link: 'true', tracking_settle: '5s' }

const html = '<p>News</p><a href="https://shop.example/">Shop</a>'
const browser = {
  'user-agent': 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
  accept: 'text/html',
  'accept-language': 'en',
}

/** Somebody reads a mail; what then follows a link that nobody sees shows that it was none. */
export async function readMail(relay: TestRelay, mx: FakeMx): Promise<void> {
  await relay.call('PATCH', '/api/domains/sender.example', { open_tracking: true })
  const id = await relay.send('reader@rcpt.example', { html, tracking: { clicks: true } })
  const sent = () => mx.messages.find(({ rcptTo }) => rcptTo[0] === 'reader@rcpt.example')
  await expect.poll(() => sent()).toBeDefined()
  const arrived = (await simpleParser(sent()?.data ?? '')).html || ''
  const follow = async (kind: string): Promise<void> => {
    const path = new RegExp(`https?://[^/]+(/t/${kind}/[\\w/-]+)`).exec(arrived)?.[1] ?? ''
    await fetch(relay.baseUrl + path, { headers: browser, redirect: 'manual' })
  }
  const { db } = relay.relay.services
  const hits = (): Promise<unknown[]> => db.read('select type, bot, event_id from hit where event_id is not null')
  await follow('o')
  await follow('c')
  await expect.poll(() => db.read('select id from hit')).toHaveLength(2)
  relay.clock.advance(5_000)
  await expect.poll(hits).toHaveLength(2)
  await follow('h')
  const rejudged = (): Promise<unknown[]> => db.read("select seq from event where message_id = :id and type = 'email.rejudged'", { id })
  await expect.poll(rejudged).not.toEqual([])
  await recordBesideOthers(relay)
  await relay.call('PATCH', '/api/domains/sender.example', { open_tracking: false })
}

/** As a node does that is not alone; then what it knows of hits goes. */
async function recordBesideOthers({ relay: { services }, clock }: TestRelay): Promise<void> {
  const { db } = services
  const shared = new SharedHits({ ...services, nodes: { live: () => ['node_a', 'node_b'] } })
  const judge = ({ hits }: HitMessage) => hits.map(() => ({ bot: false, reason: null, confidence: 0 }))
  const recorder = new HitRecorder({ ...services, shared, judge }, { settleMs: 5_000, addresses: 'none', scheme: 'https' })
  const [row] = await db.read<{ recipient_id: string }>('select recipient_id from hit limit 1')
  const recipientId = row?.recipient_id ?? ''
  recorder.record({ recipientId, what: 'open', method: 'GET', headers: {}, ip: '192.0.2.1', link: null, links: 0, at: clock.now() })
  await recorder.stop()
  expect(await db.read('select id from shared_hit')).toHaveLength(1)
  await shared.sweep(clock.now() + 1)
  expect(await db.read('select id from shared_hit')).toEqual([])
}
