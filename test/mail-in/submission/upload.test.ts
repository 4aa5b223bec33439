import { expect, test } from 'vitest'
import { createLog, silentLog } from '../../../src/platform/log.ts'
import { chunkSize, toContent } from '../../../src/mail/message/content.ts'
import { Retention } from '../../../src/mail/message/retention.ts'
import { StorageFullError, type Database } from '../../../src/platform/store/database.ts'
import { Uploads } from '../../../src/mail-in/submission/upload.ts'
import { submissionTo } from '../../support/submission-fixture.ts'
import { testDatabase } from '../../support/test-database.ts'

const chunk = () => new Uint8Array(new SharedArrayBuffer(chunkSize))
const large = () => toContent(Buffer.alloc(9 * chunkSize + 100))

/** Uploads to a disk with so much room, and what they write: the bytes of content by batch. */
async function uploadsWithin(room = Infinity) {
  const db = await testDatabase()
  const written: number[] = []
  let left = room
  const space = {
    require(bytes: number) {
      if (bytes > left) throw new StorageFullError()
      left -= bytes
    },
  }
  const counted: Database = {
    ...db,
    write(batch, options) {
      const bytes = batch.flatMap(({ params }) => Object.values(params ?? {})).filter((value) => value instanceof Uint8Array)
      written.push(bytes.reduce((sum, { length }) => sum + length, 0))
      return db.write(batch, options)
    },
  }
  return { db, written, uploads: new Uploads({ db: counted, owner: 'node_1', log: silentLog, space }), left: () => left }
}

const rows = async (db: Database) => ({
  chunks: (await db.read('select chunk from content')).length,
  uploads: (await db.read('select * from upload')).length,
})

test('each chunk of a message that arrives is counted against the room there is, and asked for before it is written', async () => {
  const { db, written, uploads, left } = await uploadsWithin(7 * chunkSize)
  const taken = uploads.run(async (upload) => {
    await upload.store('em_1', 0, [chunk(), chunk(), chunk()])
    await upload.store('em_1', 3, [chunk(), chunk(), chunk()])
    expect(left()).toBe(chunkSize)
    expect(await rows(db)).toEqual({ chunks: 6, uploads: 1 })
    await upload.store('em_1', 6, [chunk(), chunk()])
  })
  await expect(taken).rejects.toBeInstanceOf(StorageFullError)
  expect(written.filter((bytes) => bytes > 0)).toEqual([3 * chunkSize, 3 * chunkSize])
  expect(await rows(db)).toEqual({ chunks: 0, uploads: 0 })
})

test('room is asked for the rest of what has arrived, and for all of a copy', async () => {
  const { uploads, left } = await uploadsWithin(100 * chunkSize)
  await uploads.run(async (upload) => {
    upload.require([{ size: 3 * chunkSize + 1, pending: [new Uint8Array(1)], stored: 3 }])
    expect(left()).toBe(100 * chunkSize - 1)
    upload.require([{ size: 10 * chunkSize, pending: [], stored: 0, copyOf: 'em_1' }])
    expect(left()).toBe(90 * chunkSize - 1)
  })
})

test('no commit has more than a mebibyte of content, and all of it is there when it is complete', async () => {
  const { db, written, uploads } = await uploadsWithin()
  const submissions = [
    submissionTo(['a@r.example'], { content: large() }),
    submissionTo(['b@r.example'], { content: large() }),
    submissionTo(['c@r.example']),
  ]
  const sizes = submissions.map(({ content }) => content.size)
  await uploads.run(async (upload) => {
    await upload.storeAhead(submissions)
    await upload.complete(submissions, [])
  })
  expect(Math.max(...written)).toBeLessThanOrEqual(4 * chunkSize)
  for (const [place, { id }] of submissions.entries()) {
    const chunks = await db.read<{ chunk: number; size: number }>(
      'select chunk, length(bytes) as size from content where message_id = :id order by chunk',
      { id },
    )
    expect(chunks.map(({ chunk: number }) => number)).toEqual(chunks.map((_, number) => number))
    expect(chunks.reduce((sum, { size }) => sum + size, 0)).toBe(sizes[place])
  }
  expect((await rows(db)).uploads).toBe(0)
})

test('a message of which nothing was stored ahead costs no more than its batch', async () => {
  const { written, uploads } = await uploadsWithin()
  const submission = submissionTo(['a@r.example'])
  await uploads.run(async (upload) => {
    await upload.storeAhead([submission])
    await upload.complete([submission], [])
  })
  expect(written).toEqual([submission.content.size])
})

test('a sweep removes what is left of others, in pieces, and nothing of what is under way or complete', async () => {
  const { db, written, uploads } = await uploadsWithin()
  await db.write([
    { sql: "insert into upload (message_id) values ('em_left')" },
    ...Array.from({ length: 100 }, (_, number) => ({
      sql: "insert into content (message_id, chunk, bytes) values ('em_left', :number, :bytes)",
      params: { number, bytes: Buffer.alloc(1) },
    })),
    { sql: "insert into content (message_id, chunk, bytes) values ('em_complete', 0, :bytes)", params: { bytes: Buffer.alloc(1) } },
  ])
  await uploads.run(async (upload) => {
    await upload.store('em_open', 0, [chunk()])
    written.length = 0
    await uploads.sweep()
    expect(await db.read('select distinct message_id from content order by message_id')).toEqual([
      { message_id: 'em_complete' },
      { message_id: 'em_open' },
    ])
    expect(await db.read('select message_id from upload')).toEqual([{ message_id: 'em_open' }])
    expect(written.length).toBeGreaterThan(2)
  })
  expect(await db.read('select distinct message_id from content')).toEqual([{ message_id: 'em_complete' }])
})

test('what cannot be removed at once is told of in the log, and swept later; the refusal stays the one that it was', async () => {
  const db = await testDatabase()
  const logged: string[] = []
  let isFull = false
  const write: Database['write'] = (batch, options) =>
    isFull ? Promise.reject(new StorageFullError('none left')) : db.write(batch, options)
  const uploads = new Uploads({
    db: { ...db, write },
    owner: 'node_1',
    log: createLog('debug', (line) => logged.push(line)),
    space: { require: () => {} },
  })
  const refused = uploads.run(async (upload) => {
    await upload.store('em_1', 0, [chunk()])
    isFull = true
    throw new Error('refused')
  })
  await expect(refused).rejects.toThrow('refused')
  expect(logged).toEqual([expect.stringContaining('em_1')])
  expect(await rows(db)).toEqual({ chunks: 1, uploads: 1 })
  isFull = false
  await uploads.sweep()
  expect(await rows(db)).toEqual({ chunks: 0, uploads: 0 })
})

test('retention takes nothing of a message that is still arriving', async () => {
  const { db, uploads } = await uploadsWithin()
  const submission = submissionTo(['a@r.example'])
  await uploads.run(async (upload) => {
    await upload.store(submission.id, 0, [chunk()])
    await new Retention(db, { contentMs: 0, eventMs: 0 }).sweep(Date.now() + 1_000)
    expect(await rows(db)).toEqual({ chunks: 1, uploads: 1 })
  })
})
