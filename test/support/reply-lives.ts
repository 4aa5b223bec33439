import { expect, onTestFinished } from 'vitest'
import type { MadeReply } from './made-replies.ts'
import { addressOf, startReplyingHosts } from './replying-host.ts'
import { startTestRelay, type TestRelay } from './start-relay.ts'

/** What became of a message to the host of a reply, and how often the host got it. */
export interface ReplyLife {
  state: 'delivered' | 'deferred' | 'bounced'
  copies: number
}

export const domainOf = (i: number): string => `c${i}.example`

/** Sends a message to the host of each reply, and attempts so often what is deferred. */
export async function livesWithSterna(replies: MadeReply[], attempts: number): Promise<ReplyLife[]> {
  const hosts = await startReplyingHosts(replies)
  onTestFinished(() => hosts.close())
  const zone = Object.fromEntries(replies.map((reply, i) => [domainOf(i), { a: [addressOf(reply, i)], ttl: 600 }]))
  const relay = await startTestRelay({ delivery_port: String(hosts.port), delivery_retry_schedule: '1m' }, zone)
  onTestFinished(() => relay.stop())
  await sendToAll(relay)
  for (let attempt = 1; attempt <= attempts; attempt++) {
    await tried(relay, attempt)
    if (attempt < attempts) relay.clock.advance(70_000)
  }
  const rows = await relay.relay.services.db.read<Pick<ReplyLife, 'state'> & { destination: string }>(
    'select destination, state from recipient',
  )
  const states = new Map(rows.map(({ destination, state }) => [destination, state]))
  return hosts.copies.map((copies, i) => ({ state: states.get(domainOf(i)) ?? 'deferred', copies }))
}

async function sendToAll(relay: TestRelay): Promise<void> {
  const to = Object.keys(relay.dns.zone).map((domain) => `u@${domain}`)
  for (let i = 0; i < to.length; i += 100) {
    const emails = to.slice(i, i + 100).map((address) => ({ from: 'app@sender.example', to: address, subject: 'Hello', text: 'Hello' }))
    expect(await relay.call('POST', '/api/emails/batch', emails)).toMatchObject({ status: 200 })
  }
}

/** Once every message that still waits was tried so often. */
async function tried({ relay }: TestRelay, times: number): Promise<void> {
  const waiting = `select count(*) as n from recipient where due_at is not null and (attempts < ${times} or owner is not null)`
  await expect.poll(async () => (await relay.services.db.read<{ n: number }>(waiting))[0]?.n).toBe(0)
}
