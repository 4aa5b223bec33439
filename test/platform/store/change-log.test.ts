import { expect, onTestFinished, test } from 'vitest'
import { silentLog } from '../../../src/platform/log.ts'
import { ChangeLog } from '../../../src/platform/store/change-log.ts'
import type { Database } from '../../../src/platform/store/database.ts'
import { settableClock } from '../../support/settable-clock.ts'
import { testDatabase } from '../../support/test-database.ts'

const second = 1_000

/** A node that notes what it is told of. */
async function join(db: Database, name: string) {
  await db.write([{ sql: 'insert into node (name, started_at) values (:name, 0)', params: { name } }])
  const clock = settableClock()
  const reads = { count: 0 }
  const counted: Pick<Database, 'read' | 'write'> = {
    read: (sql, params) => {
      reads.count++
      return db.read(sql, params)
    },
    write: (batch, options) => db.write(batch, options),
  }
  const log = await ChangeLog.open({ db: counted, clock })
  log.join(name, silentLog)
  onTestFinished(() => log.stop())
  const told: string[] = []
  const fault = { error: null as Error | null }
  log.on('thing', {
    async reload(id) {
      if (fault.error) throw fault.error
      told.push(id)
    },
    async load() {
      told.push('all')
    },
  })
  return { log, clock, told, reads, fault }
}

const change = (db: Database, log: ChangeLog, ...ids: string[]) => db.write(ids.flatMap((id) => log.note('thing', id)))

const entries = async (db: Database): Promise<unknown[]> => (await db.read('select seq from change_log order by seq')).map(({ seq }) => seq)

test('a change is told to every node within a second, in order, and is gone once all know it', async () => {
  const db = await testDatabase()
  const [a, b] = [await join(db, 'a'), await join(db, 'b')]
  await change(db, a.log, 'one', 'two')
  await change(db, b.log, 'three')
  expect(await entries(db)).toEqual([1, 2, 3])
  b.clock.advance(second)
  await expect.poll(() => b.told).toEqual(['one', 'two', 'three'])
  await expect.poll(() => db.read("select changes_seen from node where name = 'b'")).toEqual([{ changes_seen: 3 }])
  expect(await entries(db)).toEqual([1, 2, 3])
  a.clock.advance(second)
  await expect.poll(() => entries(db)).toEqual([])
  expect(a.told).toEqual(['one', 'two', 'three'])
  await change(db, a.log, 'four')
  expect(await entries(db)).toEqual([4])
})

test('who misses something knows all that was changed before, and any number of them cost one reading', async () => {
  const db = await testDatabase()
  const [a, b] = [await join(db, 'a'), await join(db, 'b')]
  await change(db, a.log, 'one')
  const before = b.reads.count
  await Promise.all(Array.from({ length: 1_000 }, () => b.log.caughtUp()))
  expect(b.told).toEqual(['one'])
  // The entry, and that there are no more.
  expect(b.reads.count - before).toBeLessThanOrEqual(2)
  // A reading that is under way may have begun before the change.
  const early = b.log.caughtUp()
  await change(db, a.log, 'two')
  await b.log.caughtUp()
  expect(b.told).toEqual(['one', 'two'])
  await early
})

test('more changes than are read in one go are all told', async () => {
  const db = await testDatabase()
  const [a, b] = [await join(db, 'a'), await join(db, 'b')]
  const ids = Array.from({ length: 1_201 }, (_, place) => `id${place}`)
  await change(db, a.log, ...ids)
  await b.log.caughtUp()
  expect(b.told).toEqual(ids)
})

test('what takes a right away waits until the other nodes know it, and for no node that is gone', async () => {
  const db = await testDatabase()
  const [a, b] = [await join(db, 'a'), await join(db, 'b')]
  await join(db, 'dead')
  await change(db, a.log, 'one')
  let isSeen = false
  const seen = a.log.seenByAll().then(() => (isSeen = true))
  b.clock.advance(second)
  await expect.poll(() => db.read('select name from node where changes_seen = 1')).toEqual([{ name: 'b' }])
  a.clock.advance(second)
  await a.log.caughtUp()
  expect(isSeen).toBe(false)
  await db.write([{ sql: "delete from node where name = 'dead'" }])
  await expect.poll(() => (a.clock.advance(second / 10), isSeen)).toBe(true)
  await seen
})

test('a command that is alone waits no longer than a dead node takes to be known as one', async () => {
  const db = await testDatabase()
  await join(db, 'dead')
  const clock = settableClock()
  const log = await ChangeLog.open({ db, clock })
  await change(db, log, 'one')
  let isSeen = false
  const seen = log.seenByAll().then(() => (isSeen = true))
  const since = clock.now()
  await expect.poll(() => (clock.advance(second / 10), isSeen)).toBe(true)
  expect(clock.now() - since).toBeGreaterThanOrEqual(5 * second)
  await seen
})

test('a node that missed changes, or whose database went back, reads everything anew', async () => {
  const db = await testDatabase()
  const [a, b] = [await join(db, 'a'), await join(db, 'b')]
  await change(db, a.log, 'one', 'two')
  await db.write([{ sql: 'delete from change_log where seq = 1' }])
  await b.log.caughtUp()
  expect(b.told).toEqual(['all'])
  await change(db, a.log, 'three')
  await db.write([{ sql: 'delete from change_log' }])
  await b.log.caughtUp()
  expect(b.told).toEqual(['all', 'all'])
  await db.write([{ sql: 'update change_order set last = 1' }])
  await change(db, a.log, 'restored')
  await b.log.caughtUp()
  expect(b.told).toEqual(['all', 'all', 'all'])
  await change(db, a.log, 'four')
  await b.log.caughtUp()
  expect(b.told.at(-1)).toBe('four')
})

test('a change that cannot be read is told later, and nobody is told before that it is known', async () => {
  const db = await testDatabase()
  const [a, b] = [await join(db, 'a'), await join(db, 'b')]
  b.fault.error = new Error('the database does not answer')
  await change(db, a.log, 'one')
  await expect(b.log.caughtUp()).rejects.toThrow('does not answer')
  b.clock.advance(second)
  await expect(b.log.caughtUp()).rejects.toThrow('does not answer')
  expect(await db.read('select name from node where changes_seen > 0')).toEqual([])
  b.fault.error = null
  await expect.poll(() => (b.clock.advance(second), db.read('select name from node where changes_seen = 1'))).toEqual([{ name: 'b' }])
  expect(b.told).toEqual(['one'])
})
