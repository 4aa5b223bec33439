import type { Nodes } from '../../../src/platform/store/nodes.ts'
import { aloneAs } from '../../../src/platform/store/only-node.ts'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { unconnectedAttempt, type Attempt, type DeliveryJob, type Outcome, type Postponed } from '../../../src/mail-out/delivery/attempt.ts'
import { startDelivery } from '../../../src/mail-out/delivery/delivery-threads.ts'
import { Health } from '../../../src/platform/health.ts'
import { silentLog } from '../../../src/platform/log.ts'
import { metricsOf } from '../../../src/platform/metrics/metrics.ts'
import type { DispatchServices } from '../../../src/mail-out/queue/dispatch.ts'
import { QueueRunner } from '../../../src/mail-out/queue/queue-runner.ts'
import type { Lane, NewRecipient } from '../../../src/mail-out/queue/queue-store.ts'
import { aloneWithChanges } from '../../../src/platform/store/changes.ts'
import { DamagedError, type Database } from '../../../src/platform/store/database.ts'
import { accountPolicies } from '../../support/account-policies.ts'
import { erasedAddress } from '../../support/erased-address.ts'
import { startFakeDns } from '../../support/fake-dns.ts'
import { startFakeMx } from '../../support/fake-mx.ts'
import { plainEnvelope } from '../../support/plain-envelope.ts'
import { insertAccount, insertQueued, recipientsInHand, type Message } from '../../support/queued-mail.ts'
import { settableClock, type SettableClock } from '../../support/settable-clock.ts'
import { testReprieve } from '../../support/test-reprieve.ts'
import { testDatabase } from '../../support/test-database.ts'

const minute = 60_000
const hour = 60 * minute
const lane: Lane = { destination: 'rcpt.example', account_id: 'acc_1', urgent: 0 }
/** More than one destination, and new mail for it, may have in hand. */
const many = 150
const taken: Outcome = { type: 'delivered', reply: { code: 250, enhancedStatus: null, text: 'Ok' } }
const later: Outcome = {
  type: 'deferred',
  reply: { code: 451, enhancedStatus: '4.7.1', text: '4.7.1 Later' },
  category: 'other',
  reason: '451 4.7.1 Later',
}

type Result = Outcome | 'postponed'

let db: Database
let clock: SettableClock

beforeEach(async () => {
  db = await testDatabase()
  clock = settableClock()
  await insertAccount(db)
})

/** What the parts around the queue do; those that are given may throw. */
interface Around extends Partial<Pick<DispatchServices, 'envelopeFor' | 'deliver' | 'random'>> {
  nodes?: Pick<Nodes, 'self' | 'freeBuried'>
  isSuspended?: (accountId: string) => boolean
  /** Throws if the suppression policy of an account cannot be had. */
  policyFault?: () => void
}

async function startQueue(around: Around = {}): Promise<QueueRunner> {
  const { policyFault = () => {}, ...services } = around
  const policies = accountPolicies(db)
  const queue = new QueueRunner(
    {
      nodes: aloneAs('node_1'),
      db,
      clock,
      changes: aloneWithChanges,
      log: silentLog,
      metrics: metricsOf(),
      health: new Health({ clock, log: silentLog }),
      envelopeFor: () => plainEnvelope,
      deliver: resultsOf(() => taken),
      choicesFor: () => null,
      isResolverSuspect: () => false,
      isSuspended: () => false,
      holdsMail: () => false,
      reprieve: testReprieve(db, clock),
      policies: {
        of(policy, accountId) {
          if (policy.name === 'suppression_policy') policyFault()
          return policies.of(policy, accountId)
        },
        anywhere: (policy) => policies.anywhere(policy),
      },
      erasedAddress,
      random: () => 0,
      ...services,
    },
    {
      giveUpAfterMs: 48 * hour,
    },
  )
  await queue.start()
  onTestFinished(() => queue.stop(5_000))
  return queue
}

/** Delivery that has this to say of each recipient. */
const resultsOf =
  (of: (forwardPath: string) => Result) =>
  async (job: DeliveryJob, onAttempt: (result: Attempt | Postponed) => void): Promise<void> => {
    for (const { id, forwardPath } of job.recipients) {
      const result = of(forwardPath)
      onAttempt(result === 'postponed' ? { recipientId: id, postponed: true } : unconnectedAttempt(id, result))
    }
  }

/** A message that waits in the queue. */
function waiting(given: Partial<NewRecipient> & Message = {}): Promise<string> {
  const { expiresIn = null, content = 'Hello', scheduledAt = null, ...recipient } = given
  return insertQueued(db, clock.now(), { expiresIn, content, scheduledAt }, [recipient])
}

const states = async () =>
  Object.fromEntries((await db.read('select state, count(*) as n from recipient group by state')).map(({ state, n }) => [state, n]))
const inHand = async () => (await recipientsInHand(db)).length

/** Ten minutes, step by step, in which what is due is worked off. */
async function tenMinutes(): Promise<void> {
  for (let minutes = 0; minutes < 10; minutes++) {
    clock.advance(minute)
    await expect.poll(inHand).toBe(0)
  }
}

const fail = (): never => {
  throw new Error('oops')
}

test.each<[string, (isFaulty: () => boolean) => Around, string]>([
  [
    'its frame cannot be made',
    (isFaulty) => ({
      envelopeFor: () => (isFaulty() ? fail() : plainEnvelope),
    }),
    'deferred',
  ],
  [
    'the frame of its recipients cannot be made',
    (isFaulty) => ({
      envelopeFor: () => ({ ...plainEnvelope, envelopeOf: () => (isFaulty() ? fail() : { reversePath: '', traceFields: '', fields: [] }) }),
    }),
    'deferred',
  ],
  [
    'delivery throws at once',
    (isFaulty) => ({ deliver: (job, onAttempt) => (isFaulty() ? fail() : resultsOf(() => taken)(job, onAttempt)) }),
    'deferred',
  ],
  [
    'delivery fails',
    (isFaulty) => ({ deliver: async (job, onAttempt) => (isFaulty() ? fail() : resultsOf(() => taken)(job, onAttempt)) }),
    'deferred',
  ],
  ['its outcome cannot be settled', (isFaulty) => ({ policyFault: () => isFaulty() && fail() }), 'deferred'],
  ['neither its outcome nor a deferral can be settled', (isFaulty) => ({ random: () => (isFaulty() ? fail() : 0) }), 'queued'],
])('mail keeps no room where %s', async (_, around, state) => {
  let isFaulty = true
  for (let i = 0; i < many; i++) await waiting()
  const queue = await startQueue(around(() => isFaulty))
  await expect.poll(states).toEqual({ [state]: many })
  await expect.poll(inHand).toBe(0)
  isFaulty = false
  await waiting()
  queue.noteWaiting(lane, clock.now())
  await tenMinutes()
  expect(await states()).toEqual({ delivered: many + 1 })
})

test('mail keeps no room where it cannot be read, or ended', async () => {
  let isFaulty = true
  for (let i = 0; i < many; i++) await waiting({ content: null })
  for (let i = 0; i < many; i++) await waiting({ due_at: clock.now() - 1, expires_at: clock.now() - 1 })
  const queue = await startQueue({ policyFault: () => isFaulty && fail() })
  await expect.poll(inHand).toBe(0)
  isFaulty = false
  await waiting()
  queue.noteWaiting(lane, clock.now())
  await tenMinutes()
  expect(await states()).toEqual({ deferred: many, bounced: many, delivered: 1 })
  clock.advance(48 * hour)
  await expect.poll(states).toEqual({ bounced: 2 * many, delivered: 1 })
})

test('a last attempt that found no connection is made later, and a message of no more use is not', async () => {
  const results: Result[] = ['postponed', 'postponed', later]
  const tried: string[] = []
  const expired = { due_at: clock.now() - hour, expires_at: clock.now() - minute }
  await waiting({ ...expired, forward_path: 'last@rcpt.example' })
  await waiting({ expires_at: clock.now() + 1_000, forward_path: 'code@rcpt.example', expiresIn: 60 })
  const of = (forwardPath: string): Result => {
    tried.push(forwardPath)
    return forwardPath.startsWith('code') ? 'postponed' : (results.shift() ?? taken)
  }
  await startQueue({ deliver: resultsOf(of) })
  await expect.poll(() => tried.length).toBe(2)
  await expect.poll(inHand).toBe(0)
  await tenMinutes()
  expect(await states()).toEqual({ bounced: 2 })
  expect(tried.toSorted()).toEqual(['code@rcpt.example', 'last@rcpt.example', 'last@rcpt.example', 'last@rcpt.example'])
  expect(await db.read('select forward_path, attempts, last_response from recipient order by forward_path')).toEqual([
    { forward_path: 'code@rcpt.example', attempts: 0, last_response: null },
    { forward_path: 'last@rcpt.example', attempts: 1, last_response: '451 4.7.1 Later' },
  ])
})

test('a message that crashes the delivery thread is kept apart, and what was tried beside it is delivered as if nothing had been', async () => {
  const mx = await startFakeMx({ host: '127.0.0.2' })
  onTestFinished(() => mx.close())
  const dns = await startFakeDns({ 'rcpt.example': { mx: [[10, 'mx.rcpt.example']] }, 'mx.rcpt.example': { a: [mx.host] } })
  const limits = { threads: 1, maxConnectionsPerHost: 20, messagesPerConnection: 100, idleMs: 1_000 }
  const guard = { allowPrivateAddresses: true, ownListeners: [], interfaceAddresses: [] }
  const delivery = startDelivery(
    { hostname: 'relay.test', dnsServers: [dns.server], port: mx.port, smarthost: null, ...limits, ...guard },
    silentLog,
  )
  onTestFinished(async () => {
    await delivery.stop(0)
    await dns.close()
  })
  const names = Array.from({ length: 20 }, (_, i) => `u${i}@rcpt.example`)
  for (const [place, forwardPath] of names.entries())
    await waiting({ forward_path: forwardPath, due_at: clock.now() - (place < 10 ? 2 : 0) })
  const guilty = await waiting({ forward_path: 'guilty@rcpt.example', due_at: clock.now() - 1 })
  // No message is like this: the thread throws outside of any delivery.
  const crashing = (job: DeliveryJob): DeliveryJob => (job.messageId === guilty ? { ...job, content: null as never } : job)
  await startQueue({ deliver: (job, onAttempt, supply) => delivery.deliver(crashing(job), onAttempt, supply) })

  const put = async () => {
    clock.advance(5_000)
    return states()
  }
  await expect.poll(put).toEqual({ delivered: 20, deferred: 1 })
  expect(await db.read("select attempts, count(*) as n from recipient where state = 'delivered' group by attempts")).toEqual([
    { attempts: 1, n: 20 },
  ])
  const [kept] = await db.read<{ last_response: string }>("select last_response from recipient where state = 'deferred'")
  expect(kept?.last_response).toMatch(/this message crashes the delivery thread/)
  expect(new Set(mx.messages.flatMap(({ rcptTo }) => rcptTo))).toEqual(new Set(names))
})

const setStatus = (status: string) => db.write([{ sql: `update account set status = :status where id = 'acc_1'`, params: { status } }])
const scheduled = (at: number): Promise<string> => waiting({ scheduledAt: at })
const countOf = async (condition: string): Promise<number> =>
  (await db.read<{ count: number }>(`select count(*) as count from recipient where ${condition}`))[0]?.count ?? 0

test('what was held while its account was suspended is due at once, step by step, and what is scheduled for later is not', async () => {
  let isSuspended = true
  await setStatus('suspended')
  const held = 600
  for (let i = 0; i < held; i++) await scheduled(clock.now())
  await scheduled(clock.now() + 30 * hour)
  const queue = await startQueue({ isSuspended: () => isSuspended })
  await expect
    .poll(() => countOf(`last_response like '%suspended%' and state = 'scheduled' and owner is null and due_at > ${clock.now()}`))
    .toBe(held)
  clock.advance(minute)
  isSuspended = false
  await setStatus('active')
  queue.accountResumed('acc_1')
  await expect.poll(() => countOf(`state = 'delivered'`)).toBe(held)
  expect(await countOf(`state = 'scheduled'`)).toBe(1)
  expect(await countOf('1 = 1')).toBe(held + 1)
  expect(await db.read('select id from attempt')).toHaveLength(held)
})

test('nothing is held once the account is active again, and a resumption that was not announced is noticed within the hour', async () => {
  const answers: boolean[] = [true]
  await scheduled(clock.now())
  // The queue asks a moment before the account is active again.
  const queue = await startQueue({ isSuspended: () => answers.shift() ?? false })
  await expect.poll(() => countOf(`owner is null and due_at > ${clock.now()} and last_response is null`)).toBe(1)
  clock.advance(5_000)
  await expect.poll(() => countOf(`state = 'delivered'`)).toBe(1)

  await setStatus('suspended')
  answers.push(true)
  await scheduled(clock.now())
  queue.noteWaiting(lane, clock.now())
  await expect.poll(() => countOf(`last_response like '%suspended%'`)).toBe(1)
  await setStatus('active')
  clock.advance(hour)
  await expect.poll(() => countOf(`state = 'delivered'`)).toBe(2)
})

test('mail that is of no more use does not take the place of the one that finds out whether a host is up again', async () => {
  const useless = 30
  let isDown = true
  const backoff = { key: 'mx', forMs: 5_000, reason: 'refused' }
  const deliver = async (job: DeliveryJob, onAttempt: (result: Attempt | Postponed) => void): Promise<void> => {
    for (const { id } of job.recipients) onAttempt(isDown ? { recipientId: id, postponed: true, backoff } : unconnectedAttempt(id, taken))
  }
  await waiting()
  const queue = await startQueue({ deliver })
  await expect.poll(inHand).toBe(0)
  for (let i = 0; i < useless; i++) await waiting({ due_at: clock.now() - hour, forward_path: 'gone@rcpt.example' })
  await db.write([
    {
      sql: `insert into suppression (id, account_id, address, origin, topic, sandbox, created_at)
            values ('sup_1', 'acc_1', 'gone@rcpt.example', 'manual', '', 0, 0)`,
    },
  ])
  queue.noteWaiting(lane, clock.now())
  isDown = false
  clock.advance(6_000)
  await expect.poll(async () => (await states())['delivered']).toBe(1)
})

test('mail that expires while its host rests is given up behind a recipient that the disk has damaged', async () => {
  const { write } = db
  db = {
    ...db,
    write: async (batch, options) => {
      const meetsIt = batch.some(({ sql, params }) => sql.includes('order by expires_at') && params?.['skip'] === 0)
      if (meetsIt) throw new DamagedError('its page cannot be read', { tables: ['recipient'], keepsOut: false, statement: 0 })
      return write(batch, options)
    },
  }
  for (let seconds = 20; seconds <= 40; seconds += 10) await waiting({ expires_at: clock.now() + seconds * 1_000 })
  const backoff = { key: 'mx', forMs: 24 * hour, reason: 'refused' }
  await startQueue({
    deliver: async ({ recipients }, onAttempt) => recipients.forEach(({ id }) => onAttempt({ recipientId: id, postponed: true, backoff })),
  })
  await expect.poll(inHand).toBe(0)
  const fifteenSecondsOn = () => {
    clock.advance(15_000)
    return states()
  }
  await expect.poll(fifteenSecondsOn).toEqual({ bounced: 2, queued: 1 })
})

test('what another process has claimed stays with it while it is there; then it is free, and comes to one outcome', async () => {
  const nodes = ['node_1', 'node_2', 'node_3']
  await db.write(nodes.map((name) => ({ sql: 'insert into node (name, started_at) values (:name, 0)', params: { name } })))
  const claimedBy = async () =>
    (await db.read('select owner, count(*) as n from recipient where owner is not null group by owner')).map(({ owner, n }) => [owner, n])
  for (let n = 0; n < 3; n++) await waiting()
  const held = Promise.withResolvers<void>()
  const deliver = async (job: DeliveryJob, onAttempt: (result: Attempt | Postponed) => void): Promise<void> => {
    await held.promise
    return resultsOf(() => later)(job, onAttempt)
  }
  await startQueue({ nodes: aloneAs('node_1'), deliver })
  await expect.poll(claimedBy).toEqual([['node_1', 3]])
  await waiting()
  await startQueue({ nodes: aloneAs('node_2') })
  await expect.poll(states).toEqual({ queued: 3, delivered: 1 })
  expect(await claimedBy()).toEqual([['node_1', 3]])
  await db.write([{ sql: `delete from node where name = 'node_1'` }])
  await startQueue({ nodes: aloneAs('node_3') })
  await expect.poll(states).toEqual({ delivered: 4 })
  held.resolve()
  await expect.poll(() => db.read('select attempts, count(*) as n from recipient group by attempts')).toEqual([{ attempts: 1, n: 4 }])
  expect(await states()).toEqual({ delivered: 4 })
})

/** A queue whose deliveries end when the test says so. */
async function startGatedQueue(): Promise<{ queue: QueueRunner; ends: ((result: Result) => void)[] }> {
  const ends: ((result: Result) => void)[] = []
  const deliver: DispatchServices['deliver'] = (job, onAttempt) =>
    new Promise((resolve) => ends.push((result) => resolve(resultsOf(() => result)(job, onAttempt))))
  return { queue: await startQueue({ deliver }), ends }
}

const toRcpt = [lane]

describe('a submitter', () => {
  let queue: QueueRunner
  let ends: ((result: Result) => void)[]
  const endAll = (result: Result) => ends.splice(0).forEach((end) => end(result))

  /** The destination has as much in hand as it may have, some of it waits in the queue, and its last mail led to this. */
  async function fill(last: Result | null, inHandMost = 64): Promise<void> {
    if (last !== null) {
      await waiting({ forward_path: 'first@rcpt.example' })
      queue.noteWaiting(lane, clock.now())
      await expect.poll(() => ends.length).toBe(1)
      endAll(last)
      await expect.poll(inHand).toBe(0)
    }
    for (let i = 0; i < 70; i++) await waiting()
    queue.noteWaiting(lane, clock.now())
    await expect.poll(() => ends.length).toBe(inHandMost)
  }

  beforeEach(async () => {
    ;({ queue, ends } = await startGatedQueue())
  })

  test('waits for a destination that takes mail, behind what waits in the queue; others do not wait', async () => {
    await fill(taken)
    const slot = queue.reserve(toRcpt, 100)
    expect(slot).toBeInstanceOf(Promise)
    expect(queue.reserve([{ destination: 'new.example', urgent: 0 }], 100)).toMatchObject({ content: null })
    expect(queue.reserve([...toRcpt, { destination: 'new.example', urgent: 0 }], 100)).toBeNull()
    endAll(taken)
    expect(await slot).toMatchObject({ content: null })
    await expect.poll(() => ends.length).toBe(6)
    endAll(taken)
  })

  test('waits a quarter of a second at most', async () => {
    await fill(taken)
    const slot = queue.reserve(toRcpt, 100)
    clock.advance(250)
    expect(await slot).toBeNull()
    expect(queue.reserve(toRcpt, 100)).toBeInstanceOf(Promise)
    clock.advance(1)
    expect(queue.reserve(toRcpt, 100)).toBeNull()
    clock.advance(250)
    endAll(taken)
    await expect.poll(() => ends.length).toBe(6)
    endAll(taken)
  })

  test('does not wait where nothing is known of the destination, or its last mail was deferred', async () => {
    await fill(null, 5)
    expect(queue.reserve(toRcpt, 100)).toBeNull()
    endAll(later)
    await expect.poll(() => ends.length).toBe(60)
    endAll(later)
    await expect.poll(() => ends.length).toBe(5)
    await fill(null)
    expect(queue.reserve(toRcpt, 100)).toBeNull()
    endAll(taken)
  })

  test('does not wait for room in memory that others have', async () => {
    await waiting()
    queue.noteWaiting(lane, clock.now())
    await expect.poll(() => ends.length).toBe(1)
    endAll(taken)
    await expect.poll(inHand).toBe(0)
    await waiting()
    queue.noteWaiting(lane, clock.now())
    await expect.poll(() => ends.length).toBe(1)
    for (let i = 0; i < 128; i++) queue.reserve([{ destination: `hangs${i % 2}.example`, urgent: 0 }], 100)
    expect(queue.reserve(toRcpt, 100)).toBeNull()
    endAll(taken)
  })

  test('has no more than 64 of one destination in memory, and 128 of all', () => {
    const reserve = (destination: string) =>
      Array.from({ length: 65 }, () => queue.reserve([{ destination, urgent: 0 }], 100)).filter(Boolean).length
    expect([reserve('a.example'), reserve('b.example'), reserve('c.example')]).toEqual([64, 64, 0])
  })
})
