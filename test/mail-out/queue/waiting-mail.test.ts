import { beforeEach, describe, expect, test } from 'vitest'
import { WaitingMail } from '../../../src/mail-out/queue/waiting-mail.ts'
import type { Database } from '../../../src/platform/store/database.ts'
import { eventTypes, insertAccount, insertQueued, recipientRows, takeInHand } from '../../support/queued-mail.ts'
import { settableClock, type SettableClock } from '../../support/settable-clock.ts'
import { testDatabase } from '../../support/test-database.ts'

const hour = 3_600_000
const retryPeriod = 48 * hour

let db: Database
let clock: SettableClock
/** What the queue was told. */
let noted: [destination: string, dueAt: number][]

beforeEach(async () => {
  db = await testDatabase()
  clock = settableClock()
  noted = []
  await insertAccount(db)
})

/** `meanwhile` comes between what is read and what is written. */
function waitingMail(meanwhile?: () => Promise<unknown>): WaitingMail {
  const write: Database['write'] = async (batch) => {
    await meanwhile?.()
    return db.write(batch)
  }
  return new WaitingMail({
    db: { ...db, write },
    clock,
    noteWaiting: ({ destination }, dueAt) => noted.push([destination, dueAt]),
  })
}

const messageOf = (id: string) => ({ id, accountId: 'acc_1', sandbox: false, subject: 'Hello' })
const two = [{}, { forward_path: 'bob@other.example', destination: 'other.example' }]
const claim = (messageId: string) => takeInHand(db, messageId, { owner: 'boot_1', now: clock.now() })
const set = (change: string) => db.write([{ sql: `update recipient set ${change} where forward_path = 'ann@rcpt.example'` }])

describe('canceling', () => {
  test.each([null, hour])('ends every recipient, and may be repeated (scheduled in %j ms)', async (inMs) => {
    const id = await insertQueued(db, clock.now(), { scheduledAt: inMs === null ? null : clock.now() + inMs }, two)
    await waitingMail().cancel(messageOf(id))
    await waitingMail().cancel(messageOf(id))
    const canceled = { state: 'canceled', due_at: null }
    expect(await recipientRows(db, 'state, due_at')).toEqual([canceled, canceled])
    expect(await eventTypes(db)).toEqual(['email.canceled', 'email.canceled'])
  })

  test('leaves a suppressed recipient as it is', async () => {
    const id = await insertQueued(db, clock.now(), {}, two)
    await set(`state = 'suppressed', due_at = null`)
    await waitingMail().cancel(messageOf(id))
    await waitingMail().cancel(messageOf(id))
    expect(await recipientRows(db, 'state')).toEqual([{ state: 'suppressed' }, { state: 'canceled' }])
  })

  test.each(['deferred', 'delivered', 'bounced'])('is too late where one recipient is %s', async (state) => {
    const id = await insertQueued(db, clock.now(), {}, two)
    await set(`state = '${state}'`)
    await expect(waitingMail().cancel(messageOf(id))).rejects.toMatchObject({ code: 'invalid_state' })
    expect(await recipientRows(db, 'state')).toEqual([{ state }, { state: 'queued' }])
    expect(await eventTypes(db)).toEqual([])
  })

  test('is too late where one recipient is in hand', async () => {
    const id = await insertQueued(db, clock.now(), {}, two)
    await set(`owner = 'boot_1'`)
    await expect(waitingMail().cancel(messageOf(id))).rejects.toMatchObject({ code: 'invalid_state' })
    expect(await recipientRows(db, 'state')).toEqual([{ state: 'queued' }, { state: 'queued' }])
  })

  test('is too late where the queue is quicker', async () => {
    const id = await insertQueued(db, clock.now(), {}, two)
    await expect(waitingMail(() => claim(id)).cancel(messageOf(id))).rejects.toMatchObject({ code: 'invalid_state' })
    expect(await recipientRows(db, 'state, owner')).toEqual([
      { state: 'queued', owner: 'boot_1' },
      { state: 'queued', owner: 'boot_1' },
    ])
    expect(await eventTypes(db)).toEqual([])
  })

  test('by two at once succeeds for both', async () => {
    const id = await insertQueued(db, clock.now())
    await waitingMail(() => waitingMail().cancel(messageOf(id))).cancel(messageOf(id))
    expect(await eventTypes(db)).toEqual(['email.canceled'])
  })
})

describe('rescheduling', () => {
  test('moves a message with the time it has, and tells the queue once for each destination', async () => {
    const id = await insertQueued(db, clock.now(), { scheduledAt: clock.now() + hour }, [...two, { forward_path: 'eve@rcpt.example' }])
    const at = clock.now() + 5 * hour
    await waitingMail().reschedule(id, at)
    const moved = { state: 'scheduled', due_at: at, expires_at: at + retryPeriod }
    expect(await recipientRows(db, 'state, due_at, expires_at')).toEqual([moved, moved, moved])
    expect(await db.read('select scheduled_at from message')).toEqual([{ scheduled_at: at }])
    expect(noted.toSorted()).toEqual([
      ['other.example', at],
      ['rcpt.example', at],
    ])
  })

  test('to no time has it leave now', async () => {
    const now = clock.now()
    const id = await insertQueued(db, now, { scheduledAt: now + hour })
    await waitingMail().reschedule(id, null)
    expect(await recipientRows(db, 'state, due_at, expires_at')).toEqual([{ state: 'queued', due_at: now, expires_at: now + retryPeriod }])
    expect(await db.read('select scheduled_at from message')).toEqual([{ scheduled_at: null }])
    expect(noted).toEqual([['rcpt.example', now]])
  })

  test('counts the time of what was held from when it was scheduled for', async () => {
    const scheduledAt = clock.now()
    const id = await insertQueued(db, clock.now(), { scheduledAt })
    await set(`due_at = ${scheduledAt + hour}, last_response = 'held'`)
    const at = clock.now() + 10 * hour
    await waitingMail().reschedule(id, at)
    expect(await recipientRows(db, 'due_at, expires_at, last_response')).toEqual([
      { due_at: at, expires_at: at + retryPeriod, last_response: null },
    ])
  })

  test.each<[string, (id: string) => Promise<unknown>, (() => Promise<unknown>) | undefined]>([
    ['queued', () => set(`state = 'queued'`), undefined],
    ['in hand', () => set(`owner = 'boot_1'`), undefined],
    ['canceled', (id) => waitingMail().cancel(messageOf(id)), undefined],
    ['taken by the queue meanwhile', async () => {}, () => set(`state = 'queued', owner = 'boot_1'`)],
  ])('is refused where it is %s', async (_, before, meanwhile) => {
    const id = await insertQueued(db, clock.now(), { scheduledAt: clock.now() + hour })
    await before(id)
    await expect(waitingMail(meanwhile).reschedule(id, clock.now() + 5 * hour)).rejects.toMatchObject({ code: 'invalid_state' })
    expect(await db.read('select scheduled_at from message')).toEqual([{ scheduled_at: clock.now() + hour }])
    expect(noted).toEqual([])
  })
})
