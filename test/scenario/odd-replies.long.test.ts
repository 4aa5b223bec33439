import { expect, onTestFinished, test } from 'vitest'
import { isAboutCommand } from '../../src/delivery/outcome.ts'
import { madeReplies, type MadeReply } from '../support/made-replies.ts'
import { addressOf, startReplyingHosts } from '../support/replying-host.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

/** For each phase. */
const count = Number(process.env['STERNA_REPLIES'] ?? 200)
const rounds = 3

/** One email to each host. */
async function sendToAll(relay: TestRelay): Promise<void> {
  const to = Object.keys(relay.dns.zone).map((domain) => `u@${domain}`)
  for (let i = 0; i < to.length; i += 100) {
    const emails = to.slice(i, i + 100).map((address) => ({ from: 'app@sender.example', to: address, subject: 'Hello', text: 'Hello' }))
    expect(await relay.call('POST', '/api/emails/batch', emails)).toMatchObject({ status: 200 })
  }
}

/** Once every email that still waits was tried so often. */
async function tried({ relay }: TestRelay, times: number): Promise<void> {
  const waiting = `select count(*) as n from recipient where due_at is not null and (attempts < ${times} or owner is not null)`
  await expect.poll(async () => (await relay.services.db.read<{ n: number }>(waiting))[0]?.n, { timeout: 60_000 }).toBe(0)
}

/** What should become of an email after three attempts, and how many copies the host should have got. */
function rightFor({ phase, code, isCutShort, isGarbled, closes }: MadeReply): string {
  const kind = Math.floor((code ?? 0) / 100)
  if (phase === 'dot') {
    if (kind === 2) return 'delivered 1'
    if (kind === 5) return 'bounced 1'
    // The connection was lost before the reply was whole, so nobody knows.
    return kind === 4 || isCutShort ? `deferred ${rounds}` : 'bounced 2'
  }
  const right = { banner: code === 220, ehlo: kind === 2, mail: kind === 2, rcpt: kind === 2, data: code === 354 }[phase]
  if (right && !isGarbled && !closes) return 'delivered 1'
  if (kind !== 5 || isGarbled) return 'deferred 0'
  if (phase === 'banner') return code === 521 || code === 556 ? 'bounced 0' : 'deferred 0'
  if (phase === 'ehlo') return (code === 521 || code === 556) && !closes ? 'bounced 0' : 'deferred 0'
  return isAboutCommand({ code: code ?? 0, enhancedStatus: null, text: '' }) ? 'deferred 0' : 'bounced 0'
}

test(
  '1,200 replies, sensible or not, make no copy where one was decisive, and two at most where none was',
  { timeout: 180_000 },
  async () => {
    const replies = madeReplies(count, 27)
    const hosts = await startReplyingHosts(replies)
    onTestFinished(() => hosts.close())
    const zone = Object.fromEntries(replies.map((reply, i) => [`c${i}.example`, { a: [addressOf(reply, i)], ttl: 600 }]))
    const relay = await startTestRelay({ delivery_port: String(hosts.port), delivery_retry_schedule: '1m' }, zone)
    onTestFinished(() => relay.stop())

    await sendToAll(relay)
    for (let round = 1; round <= rounds; round++) {
      await tried(relay, round)
      if (round < rounds) relay.clock.advance(70_000)
    }
    const rows = await relay.relay.services.db.read<{ destination: string; state: string }>('select destination, state from recipient')
    const states = new Map(rows.map(({ destination, state }) => [destination, state]))
    const became = replies.map(
      ({ phase, form, bytes }, i) =>
        `${phase} ${form} ${JSON.stringify(bytes.slice(0, 60))}: ${states.get(`c${i}.example`)} ${hosts.copies[i]}`,
    )
    const right = replies.map((reply, i) => `${became[i]?.slice(0, became[i]?.lastIndexOf(': '))}: ${rightFor(reply)}`)
    expect(became).toEqual(right)
  },
)
