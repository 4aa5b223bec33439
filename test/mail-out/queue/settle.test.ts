import { beforeEach, describe, expect, test } from 'vitest'
import { systemAccountId } from '../../../src/senders/account/system-account.ts'
import { unconnectedAttempt, type Outcome } from '../../../src/mail-out/delivery/attempt.ts'
import type { NewRecipient } from '../../../src/mail-out/queue/queue-store.ts'
import { recordReactions, settleAttempt, settleUntried, type Result } from '../../../src/mail-out/queue/settle.ts'
import { ConflictError, type Database } from '../../../src/platform/store/database.ts'
import { eventTypes, insertAccount, insertQueued, recipientRows, takeInHand, type Message } from '../../support/queued-mail.ts'
import { suppressAtOnce } from '../../support/suppress-at-once.ts'
import { testDatabase } from '../../support/test-database.ts'

const minute = 60_000
const now = Date.UTC(2026, 10, 21, 6)
const owner = 'boot_1'
const delivered: Outcome = { type: 'delivered', reply: { code: 250, enhancedStatus: '2.0.0', text: '2.0.0 Ok' } }
const deferred: Outcome = {
  type: 'deferred',
  reply: { code: 451, enhancedStatus: '4.7.1', text: '4.7.1 Later' },
  category: 'policy',
  reason: '451 4.7.1 Later',
}
const unknown: Outcome = {
  type: 'bounced',
  hard: true,
  category: 'invalid_recipient',
  reply: { code: 550, enhancedStatus: '5.1.1', text: '5.1.1 Unknown' },
  reason: '550 5.1.1 Unknown',
}
const context = {
  owner,
  now,
  retrySchedule: [minute],
  viaSmarthost: false,
  isResolverSuspect: false,
  random: 0,
  policyFor: () => suppressAtOnce,
}

let db: Database

beforeEach(async () => {
  db = await testDatabase()
  await insertAccount(db)
})

async function inHand(given: Partial<NewRecipient> = {}, message: Message = {}) {
  const taken = await takeInHand(db, await insertQueued(db, now, message, [given]), { owner, now })
  return { message: taken.message, recipient: taken.recipients[0]! }
}

const suppressed = async () => (await db.read<{ address: string }>('select address from suppression')).map(({ address }) => address)

interface Case {
  name: string
  outcome: Outcome
  given?: Partial<NewRecipient>
  viaSmarthost?: boolean
  state: string
  dueAt?: number
  result: Result | null
  events: string[]
}

describe('an attempt', () => {
  test.each<Case>([
    { name: 'delivered', outcome: delivered, state: 'delivered', result: 'delivered', events: ['email.sent', 'email.delivered'] },
    {
      name: 'taken by a smarthost',
      outcome: delivered,
      viaSmarthost: true,
      state: 'sent',
      result: 'sent',
      events: ['email.sent', 'email.relayed'],
    },
    {
      name: 'deferred',
      outcome: deferred,
      state: 'deferred',
      dueAt: now + minute,
      result: null,
      events: ['email.sent', 'email.deferred'],
    },
    {
      name: 'deferred when its time is over',
      outcome: deferred,
      given: { expires_at: now },
      state: 'bounced',
      result: 'expired',
      events: ['email.sent', 'email.bounced'],
    },
    { name: 'bounced', outcome: unknown, state: 'bounced', result: 'bounced', events: ['email.sent', 'email.bounced'] },
    {
      name: 'impossible by a fault of ours',
      outcome: { ...unknown, hard: false, category: 'internal_error' },
      state: 'failed',
      result: 'failed',
      events: ['email.sent', 'email.bounced'],
    },
  ])('$name', async ({ outcome, given, viaSmarthost = false, state, dueAt = null, result, events }) => {
    const { message, recipient } = await inHand(given)
    const attempt = { ...unconnectedAttempt(recipient.id, outcome), durationMs: 900, mxHost: 'mx.rcpt.example', selectors: ['a', 'b'] }
    const settlement = settleAttempt(message, recipient, attempt, { ...context, viaSmarthost })
    expect(settlement).toMatchObject({ dueAt, result })
    await db.write(settlement.batch)
    expect(await recipientRows(db, 'state, due_at, owner, attempts')).toEqual([{ state, due_at: dueAt, owner: null, attempts: 1 }])
    expect(await db.read('select outcome, duration_ms, mx_host, selectors, smtp_code from attempt')).toEqual([
      { outcome: outcome.type, duration_ms: 900, mx_host: 'mx.rcpt.example', selectors: 'a,b', smtp_code: outcome.reply?.code },
    ])
    expect(await eventTypes(db)).toEqual(events)
  })

  test.each<[string, number, number]>([
    ['when it began', 900, now - 900],
    ['not before it could begin, if the clock was set', 90_000, now - minute],
    ['not after its end, if the clock was set', -5, now],
  ])('was sent %s', async (_, durationMs, beganAt) => {
    const { message, recipient } = await inHand()
    const attempt = { ...unconnectedAttempt(recipient.id, delivered), durationMs }
    await db.write(settleAttempt({ ...message, firstDueAt: now - minute }, recipient, attempt, context).batch)
    expect(await db.read('select sent_at, delivered_at from recipient')).toEqual([{ sent_at: beganAt, delivered_at: now }])
    expect(await db.read('select started_at from attempt')).toEqual([{ started_at: beganAt }])
    const events = await db.read<{ id: string }>('select id, type, created_at from event order by seq')
    expect(events).toMatchObject([
      { type: 'email.sent', created_at: beganAt },
      { type: 'email.delivered', created_at: now },
    ])
    expect(events.map(({ id }) => id).toSorted()).toEqual(events.map(({ id }) => id))
  })

  test('of a recipient that somebody else has in hand by now changes nothing at all', async () => {
    const { message, recipient } = await inHand()
    await db.write([{ sql: `update recipient set owner = 'boot_2'` }])
    const { batch } = settleAttempt(message, recipient, unconnectedAttempt(recipient.id, unknown), context)
    await expect(db.write(batch)).rejects.toThrow(ConflictError)
    expect(await recipientRows(db, 'state, owner, attempts')).toEqual([{ state: 'queued', owner: 'boot_2', attempts: 0 }])
    expect([await db.read('select id from attempt'), await eventTypes(db), await suppressed()]).toEqual([[], [], []])
  })

  test.each<[string, string[], Partial<NewRecipient>, Message]>([
    ['ann@rcpt.example', ['ann@rcpt.example'], {}, {}],
    ['nobody, for mail of our own', [], {}, { accountId: systemAccountId }],
    ['nobody, in the simulator', [], { forward_path: 'bounced@simulator.test', destination: 'simulator.test' }, {}],
  ])('that bounces hard suppresses %s', async (_, addresses, given, message) => {
    const taken = await inHand(given, message)
    const attempt = unconnectedAttempt(taken.recipient.id, unknown)
    await db.write(settleAttempt(taken.message, taken.recipient, attempt, context).batch)
    expect(await suppressed()).toEqual(addresses)
  })

  test('that only the name servers speak against is made again', async () => {
    const { message, recipient } = await inHand()
    const absent: Outcome = { ...unknown, reply: null, category: 'domain_not_found', reason: '5.1.2 no such domain', isAbsence: true }
    const { batch, dueAt, result } = settleAttempt(message, recipient, unconnectedAttempt(recipient.id, absent), context)
    expect({ dueAt, result }).toEqual({ dueAt: now + 15 * minute, result: null })
    await db.write(batch)
    expect(await recipientRows(db, 'state, absent_since')).toEqual([{ state: 'deferred', absent_since: now }])
  })
})

describe('a recipient that is not tried any more', () => {
  test('because its time is over bounces with the last reply', async () => {
    const { message, recipient } = await inHand()
    Object.assign(recipient, { attempts: 2, lastResponse: '451 4.7.1 Later', smtpCode: 451, enhancedStatus: '4.7.1' })
    const settlement = settleUntried(message, recipient, context)
    expect(settlement).toMatchObject({ dueAt: null, result: 'expired' })
    await db.write(settlement.batch)
    expect(await recipientRows(db, 'state, attempts, smtp_code')).toEqual([{ state: 'bounced', attempts: 0, smtp_code: 451 }])
    expect([await eventTypes(db), await db.read('select id from attempt'), await suppressed()]).toEqual([['email.bounced'], [], []])
  })

  test('because it is suppressed was never sent', async () => {
    const { message, recipient } = await inHand()
    const settlement = settleUntried(message, { ...recipient, suppressed: true }, context)
    expect(settlement).toMatchObject({ dueAt: null, result: 'suppressed' })
    await db.write(settlement.batch)
    expect(await recipientRows(db, 'state, sent_at')).toEqual([{ state: 'suppressed', sent_at: null }])
    expect(await eventTypes(db)).toEqual(['email.bounced'])
  })
})

test('simulated readers leave what real ones would', async () => {
  const { message, recipient } = await inHand()
  await db.write(recordReactions(message, recipient, ['opened', 'clicked', 'complained', 'unsubscribed'], now))
  expect(await recipientRows(db, 'state, open_count, click_count, opened_at, clicked_at, complained_at, unsubscribed_at')).toEqual([
    { state: 'complained', open_count: 1, click_count: 1, opened_at: now, clicked_at: now, complained_at: now, unsubscribed_at: now },
  ])
  expect(await eventTypes(db)).toEqual(['email.opened', 'email.clicked', 'email.complained', 'email.unsubscribed'])
})
