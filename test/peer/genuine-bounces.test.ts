import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../bench/free-port.ts'
import { startBouncingExim } from '../support/bouncing-exim.ts'
import { startBouncingOpensmtpd } from '../support/bouncing-opensmtpd.ts'
import { startBouncingPostfix } from '../support/bouncing-postfix.ts'
import { startFakeDns, type FakeDns } from '../support/fake-dns.ts'
import { startFakeMx, type FakeMx } from '../support/fake-mx.ts'
import type { MailSurroundings, MailSystem } from '../support/mail-system.ts'
import { SmtpClient } from '../support/smtp-client.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'
import { startReceiver, status } from '../support/webhook-receiver.ts'

/**
 * Debian's mail systems as the MX of our recipients: they take our mail and return it later, for every reason there is.
 * What they write, and to whom, is their own; it comes in by the return path, at the address that each message left from.
 */
interface Peer {
  host: string
  start(surroundings: MailSurroundings): Promise<MailSystem>
}
const peers: Record<string, Peer> = {
  postfix: { host: '127.0.0.11', start: startBouncingPostfix },
  exim: { host: '127.0.0.12', start: startBouncingExim },
  opensmtpd: { host: '127.0.0.13', start: startBouncingOpensmtpd },
}
/** Domains that each hands on, as subdomains of its own name. */
const onward = ['unknown', 'full', 'refused', 'expired', 'big', 'nohost', 'loop', 'again']
const afterHops = '127.0.0.20'

let relay: TestRelay
let dns: FakeDns
let port: number
let nextHop: FakeMx
let smallHop: FakeMx
let farHop: FakeMx

beforeAll(async () => {
  port = await freePort()
  relay = await startTestRelay({
    delivery_port: String(port),
    webhooks_allow_private_addresses: 'true',
    return_path_messages_per_minute: '0',
  })
  // What the mail systems ask. It knows no name at all.
  dns = await startFakeDns({}, undefined, { host: '127.0.0.54', port: 53 })
  nextHop = await startFakeMx({ host: afterHops, on: { rcpt: replyToRecipient } })
  const isTooBig = (params: string): boolean => Number(/SIZE=(\d+)/.exec(params)?.[1]) > 1000
  const tooBig = '552 5.3.4 Message size exceeds fixed limit'
  smallHop = await startFakeMx({
    host: afterHops,
    extensions: ['PIPELINING', 'SIZE 1000', '8BITMIME', 'ENHANCEDSTATUSCODES'],
    on: {
      mail: (_address, params) => (isTooBig(params) ? tooBig : undefined),
      dot: ({ data }) => (data.length > 1000 ? tooBig : undefined),
    },
  })
  // Stands for the ninety-six hosts of a ring that a message has been through when it comes by again.
  farHop = await startFakeMx({ host: afterHops, on: { dot: (message) => void sendOn(message) } })
}, 180_000)

afterAll(async () => {
  await relay.stop()
  await Promise.all([dns.close(), nextHop.close(), smallHop.close(), farHop.close()])
})

function replyToRecipient(address: string): string | undefined {
  const domain = address.split('@')[1] ?? ''
  if (domain.startsWith('unknown.')) return `550 5.1.1 <${address}>: Recipient address rejected: User unknown`
  if (domain.startsWith('full.')) return `552 5.2.2 <${address}> Quota exceeded (mailbox for user is full)`
  if (domain.startsWith('refused.')) return '550 5.7.1 Service unavailable; client [192.0.2.1] blocked using dnsbl.example'
  if (domain.startsWith('expired.')) return '451 4.3.2 System not accepting network messages'
  return undefined
}

async function sendOn({ mailFrom, rcptTo, data }: { mailFrom: string; rcptTo: string[]; data: Buffer }): Promise<void> {
  const [to = ''] = rcptTo
  const system = to.split('.')[1] ?? ''
  const client = await SmtpClient.connect(port, { host: peers[system]?.host ?? '' })
  await client.command('EHLO far.example')
  const traces = Array.from(
    { length: 96 },
    (_, hop) => `Received: from hop${hop}.far.example by hop${hop + 1}.far.example; Sat, 21 Nov 2026 12:00:00 +0000\r\n`,
  )
  await client.send(traces.join('') + data.toString('latin1'), { from: mailFrom, to: [to.replace('@loop.', '@again.')] })
  client.close()
}

/** What became of a recipient, and who was told. */
interface Result {
  status: string | undefined
  events: string[]
  bounce: string
  suppressed: boolean
}
const isBounced = (bounce: 'hard' | 'soft', category: string): Result => ({
  status: 'bounced',
  events: ['email.bounced', 'email.delivered', 'email.sent', 'email.queued'],
  bounce: `1 time ${bounce} ${category}`,
  // The name server that a mail system asks may be wrong.
  suppressed: bounce === 'hard' && category !== 'domain_not_found',
})

/** By the recipient; `local` at the system's own domain, else at one that it hands on. */
type Results = Record<string, Result>
const everywhere: Results = {
  'ann@unknown': isBounced('hard', 'invalid_recipient'),
  'ann@full': isBounced('soft', 'mailbox_full'),
  'ann@refused': isBounced('soft', 'reputation'),
  'ann@expired': isBounced('soft', 'expired'),
  'ann@big': isBounced('soft', 'content_rejected'),
  'ann@loop': isBounced('soft', 'other'),
  'ann@nohost': isBounced('hard', 'domain_not_found'),
}
const results: Record<string, Results> = {
  postfix: {
    ...everywhere,
    unknown: isBounced('hard', 'invalid_recipient'),
    full: isBounced('soft', 'mailbox_full'),
    forwarded: isBounced('soft', 'invalid_recipient'),
  },
  exim: {
    ...everywhere,
    unknown: isBounced('hard', 'invalid_recipient'),
    full: isBounced('soft', 'mailbox_full'),
    // Its status has the address that it was given, and its text the one that it forwards to.
    forwarded: isBounced('soft', 'invalid_recipient'),
    // It says no more than that the address has no route.
    'ann@nohost': isBounced('hard', 'invalid_recipient'),
  },
  opensmtpd: { ...everywhere, forwarded: isBounced('soft', 'invalid_recipient') },
}

test.each(Object.keys(peers))(
  '%s',
  async (name) => {
    const { host, start } = peers[name] as Peer
    const own = `${name}.example`
    for (const domain of [own, ...onward.map((cause) => `${cause}.${own}`)]) relay.dns.zone[domain] = { a: [host] }
    const to = (cause: string, hop: { host: string; port: number }) => [`${cause}.${own}`, { host: hop.host, port: hop.port }]
    const itself = { host, port }
    const routes = Object.fromEntries([
      ...['unknown', 'full', 'refused', 'expired'].map((cause) => to(cause, nextHop)),
      to('big', smallHop),
      to('loop', name === 'opensmtpd' ? farHop : itself),
      to('again', itself),
      ['relay.example', { host: '127.0.0.1', port: relay.returnPathPort }],
    ])
    const domains = onward.map((cause) => `${cause}.${own}`)
    const system = await start({
      listen: { host, port },
      nameServer: '127.0.0.54',
      routes,
      onward: domains,
      forwardTo: `bob@unknown.${own}`,
    })
    try {
      const expected = results[name] as Results
      const receiver = await startReceiver(status(200))
      await relay.call('POST', '/api/webhooks', { url: receiver.url, events: ['email.bounced'] })
      const before = await counts()
      const sent = await Promise.all(
        Object.keys(expected).map(async (who) => {
          const address = who.includes('@') ? `${who}.${own}` : `${who}@${own}`
          return {
            who,
            address,
            id: await relay.send(address, { text: 'a line of sixty letters, so that it is too long for some ..\r\n'.repeat(20) }),
          }
        }),
      )
      const bounces = () => receiver.posts.map(({ body }) => JSON.parse(body).data)
      const seen = async () =>
        Object.fromEntries(await Promise.all(sent.map(async ({ who, address, id }) => [who, await resultOf(address, id, bounces())])))
      await expect.poll(seen, { timeout: 50_000, interval: 500 }).toEqual(expected)
      const hard = Object.values(expected).filter(({ bounce }) => bounce.includes('hard')).length
      const all = sent.length
      await expect
        .poll(async () => difference(await counts(), before))
        .toEqual({ sent: all, delivered: all, bounced: all, bounced_permanent: hard })
    } catch (error) {
      throw new Error(`${name} logged:\n${system.log()}`, { cause: error })
    } finally {
      await system.stop()
    }
  },
  180_000,
)

async function resultOf(
  address: string,
  id: string,
  bounces: { email_id: string; bounce_type: string; bounce_category: string }[],
): Promise<Result> {
  const own = bounces.filter(({ email_id }) => email_id === id)
  const [first] = own
  return {
    status: (await relay.recipients(id))[address]?.status,
    events: await relay.events(id),
    bounce: `${own.length} time ${first?.bounce_type} ${first?.bounce_category}`,
    suppressed: (await relay.call('GET', `/api/suppressions/${encodeURIComponent(address)}`)).status === 200,
  }
}

async function counts(): Promise<Record<string, number>> {
  return (await relay.call('GET', '/api/analytics?metrics=sent,delivered,bounced,bounced_permanent')).body.totals
}

const difference = (after: Record<string, number>, before: Record<string, number>): Record<string, number> =>
  Object.fromEntries(Object.entries(after).map(([metric, count]) => [metric, count - (before[metric] ?? 0)]))
