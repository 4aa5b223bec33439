import { expect, onTestFinished, test, vi } from 'vitest'
import { ClosedError } from '../../../../src/platform/store/database.ts'
import { openDatabase } from '../../../../src/platform/store/sqlite/sqlite-database.ts'
import { startedThreads } from '../../../support/started-threads.ts'
import { testDirectory } from '../../../support/temporary-directory.ts'

const put = { sql: "insert into cursor (name, position) values ('a', 1)" }

test('a writer that ends without an error is as fatal as one that fails', async () => {
  const threads = startedThreads()
  const fatal: string[] = []
  const { db } = await openDatabase({ directory: testDirectory(), onFatal: ({ message }) => fatal.push(message) })
  await threads.at(-1)?.terminate()
  await expect.poll(() => fatal).toEqual(['the writer thread of the store has ended'])
  await expect(db.write([put])).rejects.toThrow(/writer thread .* has ended/)
})

test('a reader that ends is told, fails what it had in hand, and is replaced by the next slow read', async () => {
  const threads = startedThreads()
  const [fatal, lost]: string[][] = [[], []]
  const directory = testDirectory()
  const onFatal = ({ message }: Error): unknown => fatal?.push(message)
  const { db } = await openDatabase({ directory, onFatal, onReaderLost: ({ message }) => lost?.push(message) })
  onTestFinished(() => db.close())
  await db.write([put])
  await db.slowRead('select 1 as one')
  const inHand = db.slowRead('with recursive n (i) as (select 1 union all select i + 1 from n where i < 100000000) select max(i) from n')
  await Promise.all([threads.at(-1)?.terminate(), expect(inHand).rejects.toThrow(/reader thread .* has ended/)])
  expect(await db.slowRead('select name from cursor')).toHaveLength(1)
  expect({ fatal, lost }).toEqual({ fatal: [], lost: ['the reader thread of the store has ended'] })
})

test('threads that were asked to end have not failed', async () => {
  const threads = startedThreads()
  const fatal: string[] = []
  const hear = ({ message }: Error): unknown => fatal.push(message)
  const { db } = await openDatabase({ directory: testDirectory(), onFatal: hear, onReaderLost: hear })
  await db.slowRead('select 1 as one')
  const ended = threads.slice(-2).map((thread) => new Promise((resolve) => thread.once('exit', resolve)))
  await db.close()
  await Promise.all(ended)
  expect(fatal).toEqual([])
})

test('who asks a store that closes hears that it is closed, and what was to be written before is', async () => {
  const { db } = await openDatabase({ directory: testDirectory() })
  await db.slowRead('select 1 as one')
  const before = db.write([put])
  const closed = db.close()
  await expect(db.slowRead('select 1 as one')).rejects.toBeInstanceOf(ClosedError)
  await Promise.all([before, closed])
  for (const asked of [db.write([put]), db.read('select 1 as one')]) await expect(asked).rejects.toBeInstanceOf(ClosedError)
})

test('a reader ends when nobody has read for a minute, and not before, and the next slow read opens another', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const threads = startedThreads()
  const faults: string[] = []
  const hear = ({ message }: Error): unknown => faults.push(message)
  const { db } = await openDatabase({ directory: testDirectory(), onFatal: hear, onReaderLost: hear })
  onTestFinished(() => db.close())
  await db.slowRead('select 1 as one')
  vi.advanceTimersByTime(59_000)
  await db.slowRead('select 1 as one')
  vi.advanceTimersByTime(59_000)
  const [, reader] = threads
  const ended = new Promise((resolve) => reader?.once('exit', resolve))
  expect(await db.slowRead('select name from cursor')).toEqual([])
  expect(threads).toHaveLength(2)
  vi.advanceTimersByTime(60_000)
  await ended
  expect(await db.slowRead('select name from cursor')).toEqual([])
  expect(threads).toHaveLength(3)
  expect(faults).toEqual([])
})
