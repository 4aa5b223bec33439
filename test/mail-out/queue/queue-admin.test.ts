import { beforeEach, expect, test } from 'vitest'
import { newId } from '../../../src/platform/id.ts'
import { QueueAdmin } from '../../../src/mail-out/queue/queue-admin.ts'
import { insertRecipient, type Lane, type NewRecipient } from '../../../src/mail-out/queue/queue-store.ts'
import { aloneWithChanges } from '../../../src/platform/store/changes.ts'
import type { Database } from '../../../src/platform/store/database.ts'
import { settableClock } from '../../support/settable-clock.ts'
import { testDatabase } from '../../support/test-database.ts'

const clock = settableClock()
const hour = 3_600_000
let db: Database
let admin: QueueAdmin
let noted: [destination: string, dueAt: number][]

beforeEach(async () => {
  db = await testDatabase()
  noted = []
  const noteWaiting = ({ destination }: Lane, dueAt: number) => void noted.push([destination, dueAt])
  admin = new QueueAdmin({ db, clock, changes: aloneWithChanges, health: { clear: () => {} }, noteWaiting, tryNow: () => {} })
})

const messageId = newId('em', clock.now())

async function waiting(destination: string, given: Partial<NewRecipient> = {}): Promise<string> {
  const id = newId('rcp', clock.now())
  const accountId = newId('acc', clock.now())
  await db.write([
    {
      sql: `insert into account (id, name, plan, status, created_at) values (:id, :id, 'free', 'active', 0)`,
      params: { id: accountId },
    },
    {
      sql: `insert into message (id, account_id, source, sandbox, header_from, header_to, header_cc, reply_to, subject,
                                 message_id_header, size, body_type, smtputf8, tags, metadata, created_at)
            values (:id, :accountId, 'api', 0, '', '[]', '[]', '[]', '', '', 0, '7bit', 0, '[]', '{}', 0)
            on conflict (id) do nothing`,
      params: { id: given.message_id ?? messageId, accountId },
    },
    insertRecipient({
      id,
      message_id: messageId,
      account_id: accountId,
      forward_path: `someone@${destination}`,
      destination,
      type: 'to',
      notify: null,
      orcpt: null,
      state: 'deferred',
      due_at: clock.now() + hour,
      urgent: 0,
      owner: null,
      expires_at: clock.now() + 48 * hour,
      ...given,
    }),
  ])
  return id
}

test('destinations are listed with what waits, what is held and when it goes on', async () => {
  await waiting('a.example', { due_at: clock.now() + 2 * hour })
  const held = await waiting('a.example')
  await waiting('b.example')
  await waiting('done.example', { state: 'delivered', due_at: null })
  await admin.hold(held)
  expect(await admin.list()).toEqual([
    { destination: 'a.example', recipients: 2, held: 1, next_due_at: clock.now() + 2 * hour },
    { destination: 'b.example', recipients: 1, held: 0, next_due_at: clock.now() + hour },
  ])
  await admin.hold('A.Example')
  expect((await admin.list())[0]).toMatchObject({ held: 2, next_due_at: null })
})

test('retry makes what waits due now and wakes the queue; held, scheduled and final ones stay', async () => {
  const retried = await waiting('a.example')
  const scheduled = await waiting('a.example', { state: 'scheduled' })
  const final = await waiting('a.example', { state: 'bounced', due_at: null })
  const inHand = await waiting('a.example', { owner: 'boot_1' })
  const held = await waiting('a.example')
  await admin.hold(held)
  noted = []
  expect(await admin.retry('a.example')).toBe(1)
  expect(noted).toEqual([['a.example', clock.now()]])
  const dueAt = async (id: string) => (await admin.show(id))[0]?.due_at
  expect(await Promise.all([retried, scheduled, final, inHand, held].map(dueAt))).toEqual([
    clock.now(),
    clock.now() + hour,
    null,
    clock.now() + hour,
    clock.now() + hour,
  ])
})

test('retry leaves to what is overdue when it was due: its last attempt goes by that', async () => {
  const id = await waiting('a.example', { due_at: clock.now() - hour, expires_at: clock.now() - 1 })
  expect(await admin.retry('a.example')).toBe(1)
  expect((await admin.show(id))[0]?.due_at).toBe(clock.now() - hour)
})

test('release gives back what was held, with its own time', async () => {
  await waiting('a.example')
  await waiting('b.example')
  expect(await admin.hold(messageId)).toBe(2)
  noted = []
  expect(await admin.release(messageId)).toBe(2)
  expect(noted.toSorted()).toEqual([
    ['a.example', clock.now() + hour],
    ['b.example', clock.now() + hour],
  ])
})

test('what names nothing in the queue is said so', async () => {
  for (const what of ['nowhere.example', newId('em', 0), newId('rcp', 0)]) {
    await expect(admin.show(what)).rejects.toMatchObject({ code: 'not_found' })
    await expect(admin.retry(what)).rejects.toMatchObject({ code: 'not_found' })
  }
})

test('what waits but cannot be changed so is said to be what it is', async () => {
  await waiting('a.example')
  await expect(admin.release('a.example')).rejects.toThrow(/is not held/)
  await admin.hold('a.example')
  await expect(admin.hold('a.example')).rejects.toThrow(/is already held/)
  await expect(admin.retry('a.example')).rejects.toThrow(/is held, scheduled/)
})

test('the overview counts by destination what waits, is due, in hand and held, and pages by name', async () => {
  clock.advance(1_000)
  const start = clock.now()
  await waiting('c.example')
  const held = await waiting('b.example')
  await waiting('b.example', { due_at: start })
  await waiting('b.example', { owner: 'boot_1' })
  await waiting('a.example')
  await waiting('done.example', { state: 'delivered', due_at: null })
  await admin.hold(held)
  await db.write([
    {
      sql: `update recipient set last_response = '451 4.7.1 later' where destination = 'b.example' and due_at = :start`,
      params: { start },
    },
  ])
  clock.advance(10)
  const names = async (page: object) =>
    (await admin.page({ limit: 2, after: null, before: null, ...page })).map(({ destination }) => destination)
  expect(await names({ limit: 1 })).toEqual(['a.example', 'b.example'])
  expect(await names({ after: 'a.example' })).toEqual(['b.example', 'c.example'])
  expect(await names({ before: 'c.example' })).toEqual(['b.example', 'a.example'])
  expect(await admin.destination('B.example')).toEqual({
    destination: 'b.example',
    waiting: 3,
    due: 1,
    inHand: 1,
    held: 1,
    oldestAt: start,
    nextAttemptAt: start,
    lastResponse: '451 4.7.1 later',
  })
  expect(await admin.destination('done.example')).toBeUndefined()
})

test('a destination is given up: a soft bounce with its event for each that waits, held or not', async () => {
  const deferred = await waiting('a.example')
  await db.write([
    { sql: `update recipient set attempts = 2, smtp_code = 451, last_response = '451 later' where id = :id`, params: { id: deferred } },
  ])
  const fresh = await waiting('a.example', { state: 'queued' })
  const held = await waiting('a.example')
  await admin.hold(held)
  const others = [
    await waiting('a.example', { state: 'scheduled' }),
    await waiting('a.example', { owner: 'boot_1' }),
    await waiting('b.example'),
  ]
  expect(await admin.bounce('A.example')).toEqual({ recipients: 3, hasMore: false })
  const stateOf = async (id: string) => (await admin.show(id))[0]
  for (const id of [deferred, fresh, held]) expect(await stateOf(id)).toMatchObject({ state: 'bounced', due_at: null, held: 0 })
  for (const id of others) expect((await stateOf(id))?.due_at).not.toBeNull()
  const events = await db.read<{ recipient_id: string; type: string; data: string }>(
    'select recipient_id, type, data from event order by seq',
  )
  const typesOf = (id: string) => events.filter(({ recipient_id: of }) => of === id).map(({ type }) => type)
  expect([typesOf(deferred), typesOf(fresh)]).toEqual([['email.bounced'], ['email.sent', 'email.bounced']])
  const data = events.filter(({ type }) => type === 'email.bounced').map((event) => JSON.parse(event.data) as object)
  expect(data).toContainEqual(
    expect.objectContaining({ bounce_type: 'soft', bounce_category: 'other', smtp_code: 451, reason: expect.stringMatching(/451 later$/) }),
  )
  await expect(admin.bounce('a.example')).rejects.toMatchObject({ code: 'not_found' })
})

test('a long queue is given up step by step', async () => {
  const ids: string[] = []
  for (let i = 0; i < 450; i++) ids.push(await waiting('long.example', { message_id: messageId }))
  expect(await admin.bounce('long.example')).toEqual({ recipients: 450, hasMore: false })
})
