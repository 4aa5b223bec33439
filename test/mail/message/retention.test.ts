import { expect, test } from 'vitest'
import { newId } from '../../../src/platform/id.ts'
import { Retention } from '../../../src/mail/message/retention.ts'
import { testDatabase } from '../../support/test-database.ts'

const day = 86_400_000
const now = 200 * day
const retention = { contentMs: 7 * day, eventMs: 90 * day }

async function storeWith(messages: { name: string; createdAt: number; finalAt: number | null }[]) {
  const db = await testDatabase()
  await db.write([{ sql: "insert into account (id, name, plan, status, created_at) values ('acc_1', 'one', 'free', 'active', 0)" }])
  for (const { name, createdAt, finalAt } of messages) {
    const id = newId('em', createdAt)
    await db.write([
      {
        sql: `insert into message (id, account_id, source, sandbox, header_from, header_to, header_cc, reply_to, subject,
                message_id_header, size, body_type, smtputf8, tags, metadata, created_at)
              values (:id, 'acc_1', 'api', 0, '', '[]', '[]', '[]', :name, '', 1, '7bit', 0, '[]', '{}', :createdAt)`,
        params: { id, name, createdAt },
      },
      { sql: `insert into content (message_id, chunk, bytes) values (:id, 0, :bytes)`, params: { id, bytes: new Uint8Array(1) } },
      { sql: `insert into message_tag (account_id, message_id, name, value) values ('acc_1', :id, 'a', 'b')`, params: { id } },
      {
        sql: `insert into recipient (id, message_id, account_id, forward_path, destination, type, state, due_at, expires_at, delivered_at)
              values (:recipient, :id, 'acc_1', '', '', 'to', 'x', :dueAt, 0, :finalAt)`,
        params: { recipient: newId('rcp', createdAt), id, finalAt, dueAt: finalAt === null ? createdAt : null },
      },
      {
        sql: `insert into attempt (id, recipient_id, message_id, started_at, duration_ms, outcome, transcript)
              values (:attempt, '', :id, 0, 0, '', '')`,
        params: { attempt: newId('att', createdAt), id },
      },
      {
        sql: `insert into event (id, account_id, message_id, type, sandbox, created_at, data) values (:event, '', :id, '', 0, 0, '')`,
        params: { event: newId('evt', createdAt), id },
      },
    ])
  }
  const names = async (sql: string) => (await db.read<{ subject: string }>(sql)).map(({ subject }) => subject).toSorted()
  return { db, names }
}

test('content goes a week after the last recipient is final, the rest after three months, what waits stays', async () => {
  const { db, names } = await storeWith([
    { name: 'ancient', createdAt: now - 100 * day, finalAt: now - 99 * day },
    { name: 'ancient but waiting', createdAt: now - 100 * day, finalAt: null },
    { name: 'old', createdAt: now - 9 * day, finalAt: now - 8 * day },
    { name: 'old, lately final', createdAt: now - 9 * day, finalAt: now - 6 * day },
    { name: 'new', createdAt: now, finalAt: now },
  ])
  await new Retention(db, retention).sweep(now)
  expect(await names('select subject from message')).toEqual(['ancient but waiting', 'new', 'old', 'old, lately final'])
  for (const table of ['content', 'attempt']) {
    expect(await names(`select subject from message join ${table} on message_id = message.id`)).toEqual([
      'ancient but waiting',
      'new',
      'old, lately final',
    ])
  }
  expect(await names('select subject from message join event on message_id = message.id')).toEqual(['new', 'old', 'old, lately final'])
  expect(await db.read('select name from message_tag')).toHaveLength(4)
})

test('the newest event stays, however old, because readers count on its place, but says nothing any more', async () => {
  const { db } = await storeWith([{ name: 'last', createdAt: 1, finalAt: 1 }])
  const [before] = await db.read('select seq, id from event')
  await new Retention(db, retention).sweep(now)
  expect(await db.read('select seq, id, account_id, message_id, recipient_id, data from event')).toEqual([
    { ...before, account_id: '', message_id: '', recipient_id: null, data: '{}' },
  ])
  expect(await db.read('select id from message')).toEqual([])
})

test('a large message goes in several commits, none of which removes more than two megabytes', async () => {
  const { db } = await storeWith([{ name: 'large', createdAt: now - 9 * day, finalAt: now - 8 * day }])
  const [message] = await db.read<{ id: string }>('select id from message')
  for (let chunk = 1; chunk < 20; chunk++) {
    const params = { id: message!.id, chunk, bytes: new Uint8Array(256 * 1024) }
    await db.write([{ sql: 'insert into content (message_id, chunk, bytes) values (:id, :chunk, :bytes)', params }])
  }
  const removed: number[] = []
  const listened: typeof db = {
    ...db,
    async write(batch, options) {
      const written = await db.write(batch, options)
      if (batch[0]?.sql.startsWith('delete from content')) removed.push(written[0]?.changes ?? 0)
      return written
    },
  }
  await new Retention(listened, retention).sweep(now)
  expect(Math.max(...removed)).toBeLessThanOrEqual(9)
  expect(removed.reduce((sum, changes) => sum + changes, 0)).toBe(20)
})

test('of a message with many recipients the last ones take it along', async () => {
  const { db, names } = await storeWith([
    { name: 'to many', createdAt: now - 100 * day, finalAt: now - 99 * day },
    { name: 'other', createdAt: now, finalAt: now },
  ])
  const [message] = await db.read<{ id: string }>("select id from message where subject = 'to many'")
  const sql = `insert into recipient (id, message_id, account_id, forward_path, destination, type, state, expires_at, delivered_at)
               values (:recipient, :id, 'acc_1', '', '', 'to', 'delivered', 0, 1)`
  await db.write(Array.from({ length: 300 }, () => ({ sql, params: { id: message!.id, recipient: newId('rcp', now - 100 * day) } })))
  await new Retention(db, retention).sweep(now)
  expect(await names('select subject from message')).toEqual(['other'])
  expect(await db.read('select id from recipient')).toHaveLength(1)
})

test('clicks on the links of templates go by the day', async () => {
  const { db } = await storeWith([])
  const days = [now - 100 * day, now - 91 * day, now - 90 * day, now]
  await db.write(
    days.map((start) => ({
      sql: `insert into rollup_link (account_id, template_id, start, link, clicked, bot_clicked, unique_clicked) values ('acc_1', 'tpl_1', :start, '', 1, 0, 1)`,
      params: { start },
    })),
  )
  await new Retention(db, retention).sweep(now)
  expect(await db.read('select start from rollup_link order by start')).toEqual([{ start: now - 90 * day }, { start: now }])
})
