import { aloneAs } from '../../../src/platform/store/only-node.ts'
import { MailQuotas } from '../../../src/senders/account/mail-quotas.ts'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { Attempt, ContentSupply, DeliveryJob, Outcome, Postponed } from '../../../src/mail-out/delivery/attempt.ts'
import { Health } from '../../../src/platform/health.ts'
import { silentLog } from '../../../src/platform/log.ts'
import { metricsOf } from '../../../src/platform/metrics/metrics.ts'
import { QueueRunner } from '../../../src/mail-out/queue/queue-runner.ts'
import { aloneWithChanges } from '../../../src/platform/store/changes.ts'
import type { Database } from '../../../src/platform/store/database.ts'
import { MemoryPool } from '../../../src/platform/memory-pool.ts'
import type { SendOptions } from '../../../src/mail/message/send-options.ts'
import { accept } from '../../../src/mail-in/submission/accept.ts'
import type { AcceptServices } from '../../../src/mail-in/submission/admit.ts'
import { secretsFrom } from '../../../src/senders/account/key-file.ts'
import { IdempotencyKeys } from '../../../src/mail-in/submission/idempotency-keys.ts'
import { Uploads } from '../../../src/mail-in/submission/upload.ts'
import { accountPolicies } from '../../support/account-policies.ts'
import { settableClock } from '../../support/settable-clock.ts'
import { contentOf, submissionTo } from '../../support/submission-fixture.ts'
import { recipientsInHand } from '../../support/queued-mail.ts'
import { testDatabase } from '../../support/test-database.ts'
import { erasedAddress } from '../../support/erased-address.ts'
import { plainEnvelope } from '../../support/plain-envelope.ts'
import { testReprieve } from '../../support/test-reprieve.ts'
import { OtherForms } from '../../../src/mail/suppression/suppression-list.ts'

const minute = 60_000
const taken: Outcome = { type: 'delivered', reply: { code: 250, enhancedStatus: null, text: 'Ok' } }
const busy: Outcome = { type: 'deferred', reply: { code: 451, enhancedStatus: null, text: 'Busy' }, category: 'other', reason: '451 Busy' }

interface Relay {
  db: Database
  clock: ReturnType<typeof settableClock>
  services: AcceptServices
  jobs: DeliveryJob[]
  /** What the next attempts come to, by forward-path; others are taken. */
  outcomes: Map<string, Outcome[]>
  /** Whether nothing reads the content of a job any more when it ends. */
  saysUnread: (job: DeliveryJob) => boolean
  states(): Promise<Record<string, string>>
  events(): Promise<string[]>
  /** Waits until no recipient is in hand. */
  idle(): Promise<void>
  restart(): Promise<void>
}

let relay: Relay

beforeEach(async () => {
  relay = await startQueue(await testDatabase())
})

async function startQueue(db: Database): Promise<Relay> {
  const clock = settableClock()
  const jobs: DeliveryJob[] = []
  const outcomes = new Map<string, Outcome[]>()
  await db.write([{ sql: "insert into account (id, name, plan, status, created_at) values ('acc_1', 'one', 'free', 'active', 0)" }])
  const deliver = async (job: DeliveryJob, onAttempt: (result: Attempt | Postponed) => void, supply: ContentSupply): Promise<void> => {
    const content = job.content === 'on request' ? await supply.take() : job.content
    supply.giveBack()
    if (relay.saysUnread(job)) supply.noteUnread()
    jobs.push({ ...job, content: content ?? 'on request' })
    for (const { id, forwardPath } of job.recipients) {
      const outcome = outcomes.get(forwardPath)?.shift() ?? taken
      onAttempt({
        recipientId: id,
        outcome,
        durationMs: 5,
        mxHost: 'mx.example',
        address: '192.0.2.1',
        sourceAddress: null,
        tls: null,
        transport: 'plain',
        selectors: ['s1'],
        transcript: '[]',
      })
    }
  }
  const policies = accountPolicies(db, { delivery: { retrySchedule: [minute, 5 * minute] } })
  const newQueue = () =>
    new QueueRunner(
      {
        nodes: aloneAs('node_1'),
        db,
        clock,
        changes: aloneWithChanges,
        deliver,
        erasedAddress,
        metrics: metricsOf(),
        log: silentLog,
        health: new Health({ clock, log: silentLog }),
        choicesFor: () => null,
        isResolverSuspect: () => false,
        isSuspended: () => false,
        holdsMail: () => false,
        reprieve: testReprieve(db, clock),
        policies,

        random: () => 0,
        envelopeFor: ({ firstDueAt }) => ({
          ...plainEnvelope,
          envelopeOf: () => ({ reversePath: `b${firstDueAt}@relay.example`, traceFields: '', fields: [] }),
        }),
      },
      {
        giveUpAfterMs: 48 * 60 * minute,
      },
    )
  const services: AcceptServices = {
    db,
    clock,
    changes: aloneWithChanges,
    log: silentLog,
    erasedAddress,
    otherForms: new OtherForms(db),
    queue: newQueue(),
    urgentMail: { ranked: (submission) => submission },
    slowedMail: { take: () => undefined },
    uploads: new Uploads({ db, owner: 'node_1', log: silentLog, space: { require: () => {} } }),
    idempotencyKeys: new IdempotencyKeys({ db, clock, secrets: secretsFrom(Buffer.alloc(32)), owner: 'node_1' }),
    accounts: {
      accountFor: (id) =>
        id === 'acc_1' ? { id, name: 'one', plan: 'free', status: 'active', slowedUntil: null, harm: null, createdAt: 0 } : undefined,
    },
    verifiedDomainFor: (_, name) => (name === 'sender.example' ? { id: 'dom_1', name, tracking: { opens: false, clicks: false } } : null),
    metrics: metricsOf(),
    quotas: new MailQuotas({ db, clock, log: silentLog, policies }),
    giveUpAfterMs: 48 * 60 * minute,
  }
  await services.queue.start()
  onTestFinished(() => services.queue.stop(5_000))
  return {
    db,
    clock,
    services,
    jobs,
    outcomes,
    saysUnread: () => false,
    async states() {
      const rows = await db.read<{ forward_path: string; state: string }>('select forward_path, state from recipient')
      return Object.fromEntries(rows.map((row) => [row.forward_path, row.state]))
    },
    async events() {
      return (await db.read<{ type: string }>('select type from event order by seq')).map(({ type }) => type)
    },
    async idle() {
      await expect.poll(() => recipientsInHand(db)).toEqual([])
    },
    async restart() {
      await services.queue.stop(5_000)
      services.queue = newQueue()
      await services.queue.start()
    },
  }
}

const send = (addresses: string[], changes = {}) => accept(submissionTo(addresses, changes), relay.services)

test('an accepted message is delivered from memory, and every step is on record', async () => {
  const accepted = await send(['ann@rcpt.example'])
  expect(accepted).toMatchObject({ status: 'queued', replayed: false, recipients: [{ address: 'ann@rcpt.example', state: 'queued' }] })
  await relay.idle()
  expect(await relay.states()).toEqual({ 'ann@rcpt.example': 'delivered' })
  expect(await relay.events()).toEqual(['email.queued', 'email.sent', 'email.delivered'])
  const [job] = relay.jobs
  expect(Buffer.from(job?.content ?? []).toString()).toContain('\r\n\r\nHello.\r\n')
  const [data] = await relay.db.read<{ data: string }>("select data from event where type = 'email.delivered'")
  expect(Object.keys(JSON.parse(data?.data ?? '{}'))).toEqual(['email_id', 'to', 'subject', 'delivered_at'])
})

describe('memory on loan', () => {
  /** A message in memory from a pool, and how much of that is free again once nothing is in hand. */
  async function freeAfter(addresses: string[], options: Partial<SendOptions> = {}): Promise<number> {
    const pool = new MemoryPool()
    const loan = pool.lend(20_000)
    if (!loan) throw new Error('there is no memory')
    const text = 'From: app@sender.example\r\nSubject: Hello\r\n\r\n'.padEnd(20_000, 'x')
    loan.bytes.set(Buffer.from(text))
    await send(addresses, { content: { size: text.length, pending: [loan.bytes], stored: 0, loan }, options })
    await relay.services.queue.stop(5_000)
    return pool.freeBytes
  }

  test('is given back when the message is settled and delivery says that nothing reads it any more', async () => {
    relay.saysUnread = () => true
    expect(await freeAfter(['ann@rcpt.example', 'bob@other.example'])).toBe(32_768)
  })

  test('is never given back if delivery does not say so of one of its jobs', async () => {
    relay.saysUnread = ({ destination }) => destination !== 'other.example'
    expect(await freeAfter(['ann@rcpt.example', 'bob@other.example'])).toBe(0)
  })

  test('is given back once the message is stored if it is not delivered now', async () => {
    expect(await freeAfter(['ann@rcpt.example'], { scheduledAt: relay.clock.now() + minute })).toBe(32_768)
    expect(relay.jobs).toEqual([])
  })
})

test('a deferred recipient is tried again when its time has come, not earlier, and with the same reverse-path', async () => {
  relay.outcomes.set('ann@rcpt.example', [busy, busy])
  await send(['ann@rcpt.example', 'bob@rcpt.example'])
  await relay.idle()
  expect(await relay.states()).toEqual({ 'ann@rcpt.example': 'deferred', 'bob@rcpt.example': 'delivered' })
  relay.clock.advance(minute - 1)
  await relay.idle()
  expect(relay.jobs).toHaveLength(1)
  relay.clock.advance(1)
  await expect.poll(() => relay.jobs.length).toBe(2)
  await relay.idle()
  relay.clock.advance(5 * minute)
  await expect.poll(relay.states).toMatchObject({ 'ann@rcpt.example': 'delivered' })
  const paths = relay.jobs.flatMap(({ recipients }) => recipients.filter(({ forwardPath }) => forwardPath.startsWith('ann')))
  expect(new Set(paths.map(({ reversePath }) => reversePath)).size).toBe(1)
  expect(paths).toHaveLength(3)
  const [row] = await relay.db.read("select attempts from recipient where forward_path = 'ann@rcpt.example'")
  expect(row).toEqual({ attempts: 3 })
})

test('what could not be delivered in time bounces softly, once', async () => {
  relay.outcomes.set(
    'ann@rcpt.example',
    Array.from({ length: 10 }, () => busy),
  )
  await send(['ann@rcpt.example'], { options: { expiresIn: 120 } })
  await relay.idle()
  relay.clock.advance(minute)
  await expect.poll(() => relay.jobs.length).toBe(2)
  await relay.idle()
  relay.clock.advance(minute)
  await expect.poll(relay.states).toEqual({ 'ann@rcpt.example': 'bounced' })
  expect(relay.jobs).toHaveLength(2)
  expect((await relay.events()).filter((type) => type === 'email.bounced')).toHaveLength(1)
})

test('scheduled mail waits for its time', async () => {
  const scheduledAt = relay.clock.now() + 10 * minute
  expect(await send(['ann@rcpt.example'], { options: { scheduledAt } })).toMatchObject({ status: 'scheduled' })
  expect(await relay.states()).toEqual({ 'ann@rcpt.example': 'scheduled' })
  relay.clock.advance(10 * minute)
  await expect.poll(relay.states).toEqual({ 'ann@rcpt.example': 'delivered' })
  // Reports on it are taken for so long from then on, not from when it was handed over.
  expect(relay.jobs[0]?.recipients).toMatchObject([{ reversePath: `b${scheduledAt}@relay.example` }])
})

test('a restart takes up what waited and what the dead process had in hand', async () => {
  await send(['later@rcpt.example'], { options: { scheduledAt: relay.clock.now() + minute } })
  await send(['lost@rcpt.example'])
  await relay.idle()
  await relay.db.write([{ sql: "update recipient set state = 'queued', owner = 'boot_dead', due_at = 0 where forward_path like 'lost%'" }])
  await relay.restart()
  await expect.poll(relay.states).toEqual({ 'later@rcpt.example': 'scheduled', 'lost@rcpt.example': 'delivered' })
  relay.clock.advance(minute)
  await expect.poll(relay.states).toMatchObject({ 'later@rcpt.example': 'delivered' })
})

test('a hard bounce is not written to again, also not by what waits already', async () => {
  const unknown: Outcome = {
    type: 'bounced',
    hard: true,
    category: 'invalid_recipient',
    reason: '550 5.1.1 Unknown',
    reply: { code: 550, enhancedStatus: '5.1.1', text: '5.1.1 Unknown' },
  }
  relay.outcomes.set('Gone@rcpt.example', [unknown])
  await send(['gone@rcpt.example'], { options: { scheduledAt: relay.clock.now() + minute } })
  await send(['Gone@rcpt.example'])
  await relay.idle()
  expect(await send(['GONE@rcpt.example', 'ann@rcpt.example'])).toMatchObject({
    status: 'queued',
    recipients: [{ state: 'suppressed' }, { state: 'queued' }],
  })
  relay.clock.advance(minute)
  await expect.poll(relay.states).toEqual({
    'Gone@rcpt.example': 'bounced',
    'GONE@rcpt.example': 'suppressed',
    'gone@rcpt.example': 'suppressed',
    'ann@rcpt.example': 'delivered',
  })
  expect(relay.jobs.flatMap(({ recipients }) => recipients).map(({ forwardPath }) => forwardPath)).not.toContain('gone@rcpt.example')
  const bounces = (await relay.events()).filter((type) => type === 'email.bounced')
  expect(bounces).toHaveLength(3)
})

describe('an idempotency key', () => {
  const idempotency = { operation: 'send', key: 'order-1', fingerprint: 'aa' }

  test('makes a repeated submission happen once, and gives the same answer again', async () => {
    const first = await send(['ann@rcpt.example'], { idempotency })
    const second = await send(['ann@rcpt.example'], { idempotency })
    expect(second).toEqual({ ...first, replayed: true })
    expect(await relay.db.read('select id from message')).toHaveLength(1)
  })

  test('is refused for another submission, and for one that comes while the first is under way', async () => {
    const [first, second] = await Promise.allSettled([
      send(['ann@rcpt.example'], { idempotency }),
      send(['ann@rcpt.example'], { idempotency }),
    ])
    expect([first?.status, second]).toMatchObject(['fulfilled', { reason: { code: 'concurrent_idempotent_requests' } }])
    const other = send(['bob@rcpt.example'], { idempotency: { ...idempotency, fingerprint: 'bb' } })
    await expect(other).rejects.toMatchObject({ code: 'invalid_idempotent_request' })
    expect(await relay.db.read('select id from message')).toHaveLength(1)
  })

  test('may be used again after a day, and after a submission that was refused', async () => {
    const from = [{ address: 'a@other.example', name: null }]
    await expect(send(['ann@rcpt.example'], { idempotency, header: { from } })).rejects.toMatchObject({ code: 'domain_not_verified' })
    const first = await send(['ann@rcpt.example'], { idempotency })
    relay.clock.advance(24 * 60 * minute)
    const second = await send(['ann@rcpt.example'], { idempotency: { ...idempotency, fingerprint: 'bb' } })
    expect(second.messageId).not.toBe(first.messageId)
  })
})

test.each([
  ['a foreign header From', { header: { from: [{ address: 'ceo@bank.example', name: null }] } }, 'domain_not_verified'],
  [
    'one foreign From of two',
    {
      header: {
        from: [
          { address: 'a@sender.example', name: null },
          { address: 'b@bank.example', name: null },
        ],
      },
    },
    'domain_not_verified',
  ],
  ['a foreign reverse-path', { envelope: { reversePath: 'x@bank.example' } }, 'domain_not_verified'],
  ['an unknown account', { submitter: { accountId: 'acc_2', domainId: null, sandbox: false } }, 'account_suspended'],
  ['a key for another domain', { submitter: { accountId: 'acc_1', domainId: 'dom_2', sandbox: false } }, 'restricted_api_key'],
] as const)('%s is refused and changes nothing', async (_, changes, code) => {
  await expect(send(['ann@rcpt.example'], changes)).rejects.toMatchObject({ code })
  expect(await relay.db.read('select id from message')).toEqual([])
  expect(await relay.db.read('select message_id from content')).toEqual([])
})

test('sandbox mail needs no domain, leaves no machine and runs its whole life', async () => {
  const submitter = { accountId: 'acc_1', domainId: null, sandbox: true }
  const header = { from: [{ address: 'you@example.com', name: null }] }
  await send(['bounced@simulator.test', 'clicked@simulator.test', 'suppressed@simulator.test', 'anybody@real.example'], {
    submitter,
    header,
  })
  await relay.idle()
  expect(await relay.states()).toEqual({
    'bounced@simulator.test': 'bounced',
    'clicked@simulator.test': 'delivered',
    'suppressed@simulator.test': 'suppressed',
    'anybody@real.example': 'delivered',
  })
  expect(relay.jobs).toEqual([])
  expect((await relay.events()).filter((type) => type === 'email.clicked')).toHaveLength(1)
  await send(['bounced@simulator.test'], { submitter, header })
  await relay.idle()
  expect((await relay.events()).filter((type) => type === 'email.bounced')).toHaveLength(3)
})

test('a large message is stored ahead in chunks and delivered from the queue as it was', async () => {
  const chunk = (fill: number, size: number) => new Uint8Array(new SharedArrayBuffer(size)).fill(fill)
  const pending = [...Array.from({ length: 6 }, (_, i) => chunk(65 + i, 256 * 1024)), chunk(90, 1000)]
  const size = pending.reduce((sum, { length }) => sum + length, 0)
  const whole = Buffer.concat(pending)
  await send(['ann@rcpt.example'], { content: { size, pending: [...pending], stored: 0 } })
  await expect.poll(relay.states).toEqual({ 'ann@rcpt.example': 'delivered' })
  expect(Buffer.compare(Buffer.from(relay.jobs[0]?.content ?? []), whole)).toBe(0)
})

test('every recipient counts once, however often it is named', async () => {
  const { recipients } = await send(['ann@rcpt.example', 'ann@rcpt.example', 'bob@rcpt.example'])
  expect(recipients.map(({ address }) => address)).toEqual(['ann@rcpt.example', 'bob@rcpt.example'])
})

test('many messages at once are each delivered once, also when memory is short', async () => {
  const content = contentOf('From: app@sender.example\r\n\r\nHi\r\n')
  await Promise.all(
    Array.from({ length: 300 }, (_, i) => send([`u${i}@rcpt${i % 3}.example`], { content: { ...content, pending: [...content.pending] } })),
  )
  await expect.poll(async () => new Set(Object.values(await relay.states()))).toEqual(new Set(['delivered']))
  expect(relay.jobs.flatMap(({ recipients }) => recipients)).toHaveLength(300)
  expect((await relay.events()).filter((type) => type === 'email.delivered')).toHaveLength(300)
})
