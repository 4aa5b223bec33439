import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { newId } from '../../src/id.ts'
import { QueueAdmin } from '../../src/queue/queue-admin.ts'
import { insertRecipient } from '../../src/queue/queue-store.ts'
import type { NewRecipient } from '../../src/queue/queue-store.ts'
import type { Database } from '../../src/store/database.ts'
import { openDatabase } from '../../src/store/sqlite-database.ts'
import { settableClock } from '../support/settable-clock.ts'

const clock = settableClock()
const hour = 3_600_000
let directory: string
let db: Database
let admin: QueueAdmin
let noted: [destination: string, dueAt: number][]

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'sterna-queue-'))
  db = await openDatabase({ directory })
  noted = []
  admin = new QueueAdmin({ db, clock, noteWaiting: (destination, dueAt) => noted.push([destination, dueAt]) })
})

afterEach(async () => {
  await db.close()
  rmSync(directory, { recursive: true })
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
      params: { id: given.messageId ?? messageId, accountId },
    },
    insertRecipient({
      id,
      messageId,
      accountId,
      forwardPath: `someone@${destination}`,
      destination,
      type: 'to',
      notify: null,
      orcpt: null,
      state: 'deferred',
      dueAt: clock.now() + hour,
      owner: null,
      expiresAt: clock.now() + 48 * hour,
      ...given,
    }),
  ])
  return id
}

test('destinations are listed with what waits, what is held and when it goes on', async () => {
  await waiting('a.example', { dueAt: clock.now() + 2 * hour })
  const held = await waiting('a.example')
  await waiting('b.example')
  await waiting('done.example', { state: 'delivered', dueAt: null })
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
  const final = await waiting('a.example', { state: 'bounced', dueAt: null })
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
  await expect(admin.hold('a.example')).rejects.toThrow(/is held already/)
  await expect(admin.retry('a.example')).rejects.toThrow(/is held, scheduled/)
})
