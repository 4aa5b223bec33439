import { expect, onTestFinished, test } from 'vitest'
import { recordEvent } from '../../../src/mail/event/event-log.ts'
import { LogReader, type LogStep } from '../../../src/mail/event/log-reader.ts'
import { silentLog } from '../../../src/platform/log.ts'
import type { Database, Statement } from '../../../src/platform/store/database.ts'
import { openDatabase } from '../../../src/platform/store/sqlite/sqlite-database.ts'
import { testDirectory } from '../../support/temporary-directory.ts'
import { testDatabase } from '../../support/test-database.ts'

const about = { accountId: 'acc_1', messageId: 'em_1', recipientId: 'rcp_1', to: 'ann@example.com', subject: 'Hello', sandbox: false }
const write = (db: Database, events: number) =>
  db.write(Array.from({ length: events }, () => recordEvent(about, 'email.sent', { sent_at: 'x' }, 1000)))

/** What follows from a step: a row for each of its places. */
const rowsOf = ({ from, to }: LogStep): Statement[] =>
  Array.from({ length: to - from }, (_, i) => ({
    sql: 'insert into cursor (name, position) values (:name, :place)',
    params: { name: `place ${from + i + 1}`, place: from + i + 1 },
  }))

const placesIn = async (db: Database): Promise<number[]> => {
  const rows = await db.read<{ position: number }>("select position from cursor where name like 'place%' order by position")
  return rows.map(({ position }) => position)
}
const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1)

type Reading = ConstructorParameters<typeof LogReader>[1]
const reading = (changes: Partial<Reading> = {}): Reading => ({
  cursor: 'test',
  fault: 'the test could not read',
  maxEvents: 7,
  take: async (step) => ({ statements: rowsOf(step) }),
  ...changes,
})

async function started(db: Database, changes: Partial<Reading> = {}): Promise<LogReader> {
  const reader = new LogReader({ db, log: silentLog }, reading(changes))
  onTestFinished(() => reader.stop())
  await reader.start()
  return reader
}

test('takes existing events and new ones, each once, in steps', async () => {
  const db = await testDatabase()
  const steps: number[] = []
  await write(db, 20)
  await started(db, {
    async take(step) {
      steps.push(step.to - step.from)
      return { statements: rowsOf(step) }
    },
  })
  await expect.poll(() => placesIn(db)).toEqual(upTo(20))
  await write(db, 3)
  await expect.poll(() => placesIn(db)).toEqual(upTo(23))
  expect(Math.max(...steps)).toBe(7)
})

test('repeats a failed step, and loses nothing of what was written', async () => {
  const db = await testDatabase()
  await write(db, 5)
  let failures = 2
  const told: number[] = []
  await started(db, {
    take: async (step) =>
      failures-- > 0 ? Promise.reject(new Error('no')) : { statements: rowsOf(step), written: () => told.push(step.to) },
  })
  await expect.poll(() => placesIn(db)).toEqual(upTo(5))
  expect(told).toEqual([5])
})

test('two readers with one cursor take each event once', async () => {
  const db = await testDatabase()
  await write(db, 50)
  const readers = [1, 2].map(() => new LogReader({ db, log: silentLog }, reading()))
  await Promise.all(readers.map((reader) => reader.catchUp()))
  expect(await placesIn(db)).toEqual(upTo(50))
})

test('repeats a step that was too much with fewer events', async () => {
  const db = await testDatabase()
  await write(db, 12)
  const take: Reading['take'] = async (step) =>
    step.to - step.from > 2 ? { statements: null, maxEvents: 2 } : { statements: rowsOf(step), maxEvents: 2 }
  await new LogReader({ db, log: silentLog }, reading({ take })).catchUp()
  expect(await placesIn(db)).toEqual(upTo(12))
})

test('neither reads nor wakes for events that concern nobody', async () => {
  const db = await testDatabase()
  await write(db, 4)
  let isWanted = false
  const ends: number[] = []
  const reader = await started(db, {
    since: "select min(position) from cursor where name = 'since'",
    isWanted: () => isWanted,
    atEnd: async () => void ends.push(ends.length),
  })
  await expect.poll(() => ends.length).toBe(1)
  await write(db, 1)
  await db.write([{ sql: "insert into cursor (name, position) values ('since', 4)" }])
  isWanted = true
  reader.wake()
  await expect.poll(() => placesIn(db)).toEqual([5])
  expect(ends).toHaveLength(2)
})

test('a reader that keeps up while the server stops logs no error', async () => {
  const { db } = await openDatabase({ directory: testDirectory() })
  await write(db, 20)
  const errors: unknown[] = []
  const log = { ...silentLog, error: (fields: object) => void errors.push(fields) }
  let closing: Promise<void> | undefined
  const reader = new LogReader(
    { db, log },
    reading({
      async take(step) {
        if (step.from > 0) closing ??= db.close()
        return { statements: rowsOf(step) }
      },
    }),
  )
  await reader.keepUp()
  expect(closing).toBeDefined()
  await closing
  expect(errors).toEqual([])
})
