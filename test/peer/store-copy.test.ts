import fc from 'fast-check'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { runCommand } from '../../src/clients/command/command-line.ts'
import { reopenStore, runStoreCopy } from '../../src/clients/command/run-store-copy.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { Secret } from '../../src/platform/config/setting-types.ts'
import { leftOut, type CopySource, type CopyTarget } from '../../src/platform/store/copy-sides.ts'
import { copyTables } from '../../src/platform/store/copy-tables.ts'
import type { Database, Row } from '../../src/platform/store/database.ts'
import { openStore } from '../../src/platform/store/open-store.ts'
import { postgresSource } from '../../src/platform/store/postgresql/postgres-copy-source.ts'
import { postgresTarget } from '../../src/platform/store/postgresql/postgres-copy-target.ts'
import type { RowPiece } from '../../src/platform/store/row-codec.ts'
import { databaseFile } from '../../src/platform/store/sqlite/data-directory.ts'
import { openWriter } from '../../src/platform/store/sqlite/sqlite-connection.ts'
import { sqliteSource } from '../../src/platform/store/sqlite/sqlite-copy-source.ts'
import { sqliteTarget } from '../../src/platform/store/sqlite/sqlite-copy-target.ts'
import { anyCharacter } from '../support/any-character.ts'
import { cases } from '../support/cases.ts'
import { startFakeMx } from '../support/fake-mx.ts'
import { startPostgres, type PostgresServer } from '../support/postgres-server.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'
import { testDirectory } from '../support/temporary-directory.ts'
import { startReceiver, status, type ReceivedPost } from '../support/webhook-receiver.ts'

/** All data goes from files to a server of PostgreSQL and back. */
let postgres: PostgresServer

beforeAll(() => void (postgres = startPostgres()))
afterAll(() => postgres?.stop())

const placeOf = (dataDir: string, url: string | null) => ({ dataDir, store: { url: url === null ? null : new Secret(url) } })

/** Runs `sterna store copy` with these options on a directory. */
function copy(dataDir: string, options: Record<string, string>, { key = join(dataDir, 'secret.key'), url = null as string | null } = {}) {
  const config = { ...placeOf(dataDir, url), secretKeyFile: key }
  return runStoreCopy({ args: [], options, cwd: dataDir }, config, { clock: systemClock, tell: () => {} })
}

async function open(dataDir: string, url: string | null): Promise<Database> {
  const { db } = await openStore({
    place: placeOf(dataDir, url),
    clock: systemClock,
    onFatal: (error) => expect.unreachable(error.message),
  })
  onTestFinished(() => db.close().catch(() => {}))
  return db
}

/** A directory with a database that holds a queue and nothing else. */
async function filledDirectory(rows = 3): Promise<string> {
  const dataDir = testDirectory()
  const db = await open(dataDir, null)
  await db.write(Array.from({ length: rows }, (_, place) => cursor(`c${place}`, place)))
  await db.close()
  return dataDir
}

const cursor = (name: string, position: number) => ({
  sql: 'insert into cursor (name, position) values (:name, :position)',
  params: { name, position },
})

const count = async (db: Database, table: string): Promise<number> =>
  Number((await db.read<Row>(`select count(*) as count from ${table}`))[0]?.['count'])

/** A relay that is stopped on one engine and started on the other. */
async function movableRelay(
  settings: Record<string, string>,
  zone: object,
): Promise<{ relay: TestRelay; moveTo(url: string | null): void }> {
  let url: string | null = null
  const relay = await startTestRelay(settings, zone as never, {
    // A server of PostgreSQL has a clock of its own.
    clock: systemClock,
    open: (options) => openStore({ ...options, place: placeOf(options.place.dataDir, url) }),
  })
  onTestFinished(() => relay.stop())
  return { relay, moveTo: (next) => void (url = next) }
}

const idOf = (post: ReceivedPost | undefined): string => post?.headers['webhook-id'] ?? ''

test('a relay goes on with the other engine where it stopped, and back: nothing is lost, nothing is sent twice', async () => {
  const host = '127.0.3.9'
  let isUp = true
  const mx = await startFakeMx({ host })
  onTestFinished(() => mx.close())
  const [taken, refused]: [string[], string[]] = [[], []]
  const receiver = await startReceiver((res) => {
    ;(isUp ? taken : refused).push(idOf(receiver.posts.at(-1)))
    status(isUp ? 200 : 503)(res, res.req)
  })
  const zone = { 'rcpt.example': { mx: [[10, 'mx.rcpt.example']] }, 'mx.rcpt.example': { a: [host] } }
  const settings = {
    delivery_port: String(mx.port),
    webhooks_allow_http: 'true',
    webhooks_allow_private_addresses: 'true',
    webhooks_retry_schedule: '1s,1s,1s',
  }
  const { relay, moveTo } = await movableRelay(settings, zone)
  const { dataDir } = relay
  const created = await relay.call('POST', '/api/webhooks', { url: receiver.url, events: ['email.delivered'] })
  expect(created.status).toBe(201)

  const inMs = (ms: number): string => new Date(Date.now() + ms).toISOString()
  const before = await relay.send('first@rcpt.example')
  await expect.poll(async () => (await relay.recipients(before))['first@rcpt.example']?.status).toBe('delivered')
  await expect.poll(() => receiver.posts.length).toBe(1)
  // The post of this one is refused and tried again, and two emails wait for their time.
  isUp = false
  const told = await relay.send('told@rcpt.example')
  await expect.poll(() => receiver.posts.length).toBe(2)
  isUp = true
  const waiting = [
    await relay.send('one@rcpt.example', { scheduled_at: inMs(3_600_000) }),
    await relay.send('two@rcpt.example', { scheduled_at: inMs(3_600_000) }),
  ]

  const sendSoon = (id: string | undefined) => relay.call('PATCH', `/api/emails/${id}`, { scheduled_at: inMs(2_000) })

  const url = await postgres.newUrl()
  await relay.restart(async () => {
    const { exitCode, stdout } = await copy(dataDir, { to: url })
    expect({ exitCode, stdout }).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^message +4 +4 /m) })
    moveTo(url)
  })
  expect(await count(relay.relay.services.db, 'message')).toBe(4)
  const delivered = () => mx.messages.flatMap(({ rcptTo }) => rcptTo).toSorted()
  await sendSoon(waiting[0])
  await expect.poll(async () => (await relay.recipients(waiting[0] ?? ''))['one@rcpt.example']?.status).toBe('delivered')
  await expect.poll(() => taken.length).toBe(3)
  const after = await relay.send('third@rcpt.example')
  await expect.poll(async () => (await relay.recipients(after))['third@rcpt.example']?.status).toBe('delivered')
  expect(await relay.events(told)).toContain('email.delivered')

  await relay.restart(async () => {
    expect((await copy(dataDir, { from: url })).exitCode).toBe(0)
    moveTo(null)
  })
  await sendSoon(waiting[1])
  await expect.poll(async () => (await relay.recipients(waiting[1] ?? ''))['two@rcpt.example']?.status).toBe('delivered')
  await expect.poll(() => taken.length).toBe(5)
  const addresses = ['first', 'one', 'third', 'told', 'two'].map((name) => `${name}@rcpt.example`)
  expect(delivered()).toEqual(addresses)
  expect(new Set(taken).size).toBe(5)
  expect(taken).toContain(refused[0])
  const seqs = await relay.relay.services.db.read<{ seq: number }>('select seq from event order by seq')
  expect(seqs.map(({ seq }) => seq)).toEqual(seqs.map((_, place) => place + 1))
})

test('what a node has left in hand is free after a copy, in either direction', async () => {
  const dataDir = await filledDirectory()
  const file = openWriter(dataDir)
  file.exec(
    "insert into node (name, started_at) values ('node_dead', 0); insert into upload (message_id, owner) values ('em_1', 'node_dead')",
  )
  file.close()
  const url = await postgres.newUrl()
  expect((await copy(dataDir, { to: url })).exitCode).toBe(0)
  const db = await open(testDirectory(), url)
  expect([await count(db, 'upload'), await count(db, 'node'), await count(db, 'duty')]).toEqual([1, 0, 0])
  await db.write([{ sql: "insert into duty (name, holder) values ('jobs', 'node_dead')" }])
  await db.close()
  const other = testDirectory()
  expect((await copy(other, { from: url })).exitCode).toBe(0)
  expect(await count(await open(other, null), 'duty')).toBe(0)
})

test('whatever SQLite holds comes back from PostgreSQL as it was', async () => {
  const big = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
  const text = fc.string({ unit: anyCharacter }).map((value) => value.replaceAll('\0', ''))
  const row = fc.record({ id: text, chunk: big, bytes: fc.uint8Array({ maxLength: 3_000 }), crc: fc.option(big) })
  const rows = fc.uniqueArray(row, { selector: ({ id, chunk }) => `${id} ${chunk}`, minLength: 300, maxLength: 600 })
  await fc.assert(
    fc.asyncProperty(rows, async (generated) => {
      const dataDir = await filledDirectory()
      const file = openWriter(dataDir)
      const insert = file.prepare('insert into content (message_id, chunk, bytes, crc32) values (?, ?, ?, ?)')
      for (const { id, chunk, bytes, crc } of generated) insert.run(id, chunk, Buffer.from(bytes), crc)
      const url = await postgres.newUrl()
      const read = 'select * from content order by message_id, chunk'
      const before = file.prepare(read).safeIntegers().all()
      file.close()
      const there = await copy(dataDir, { to: url })
      const other = testDirectory()
      const back = await copy(other, { from: url })
      expect([there.exitCode, back.exitCode, back.stdout]).toEqual([0, 0, there.stdout])
      const returned = openWriter(other)
      expect(returned.prepare(read).safeIntegers().all()).toEqual(before)
      returned.close()
    }),
    { numRuns: cases(4), examples: [[[{ id: '', chunk: 0n, bytes: new Uint8Array(), crc: null }]]] },
  )
})

test('a NUL in a text is replaced, which the command says; a number that PostgreSQL cannot hold refuses the copy', async () => {
  const dataDir = await filledDirectory()
  const file = openWriter(dataDir)
  file.exec("insert into upload (message_id, owner) values ('em_1', 'a' || char(0) || 'b')")
  file.close()
  const { stderr, exitCode } = await copy(dataDir, { to: await postgres.newUrl() })
  expect({ stderr, exitCode }).toEqual({ stderr: expect.stringMatching(/^1 value has a character .* replaced by U\+FFFD/), exitCode: 0 })

  const odd = await filledDirectory()
  const oddFile = openWriter(odd)
  oddFile.exec("insert into cursor (name, position) values ('odd', 1.5)")
  oddFile.close()
  const url = await postgres.newUrl()
  await expect(copy(odd, { to: url })).rejects.toThrow(
    /The table cursor cannot be copied: in row 4, in the order of name, its column position .* a fraction/,
  )
  expect((await copy(await filledDirectory(), { to: url })).exitCode).toBe(0)
})

test('a copy is refused while anybody works on either side, and where it has no place', async () => {
  const relay = await startTestRelay()
  onTestFinished(() => relay.stop())
  const url = await postgres.newUrl()
  await expect(copy(relay.dataDir, { to: url })).rejects.toThrow('is in use by another Sterna process')
  await expect(copy(testDirectory(), { to: url })).rejects.toThrow("There is no server's data")
  await expect(copy(testDirectory(), { from: url })).rejects.toThrow("There is no server's data")
  await expect(copy(await filledDirectory(), {})).rejects.toThrow('either --to URL')
  await expect(copy(await filledDirectory(), { to: 'store.url' })).rejects.toThrow('store.url is not set')

  const node = await startTestRelay({ store_url: url })
  onTestFinished(() => node.stop())
  await expect(copy(await filledDirectory(), { to: url })).rejects.toThrow('is not empty')
  const beating = setInterval(() => node.clock.advance(1_000), 1_000)
  onTestFinished(() => clearInterval(beating))
  await expect(copy(testDirectory(), { from: url })).rejects.toThrow('Nodes work on')
  clearInterval(beating)
  await node.relay.stop()
  const key = join(node.dataDir, 'secret.key')
  await expect(copy(await filledDirectory(), { from: url }, { key })).rejects.toThrow('already holds data')
  await expect(copy(testDirectory(), { from: url })).rejects.toThrow('secret.key is missing')
})

test('a copy is refused for data of another version, or another key', async () => {
  const dataDir = await filledDirectory()
  const file = openWriter(dataDir)
  file.pragma('user_version = 70')
  file.close()
  await expect(copy(dataDir, { to: await postgres.newUrl() })).rejects.toThrow('run "sterna upgrade"')

  const [one, other] = [await startTestRelay(), await startTestRelay()]
  await one.relay.stop()
  onTestFinished(async () => void (await Promise.all([one.stop(), other.stop()])))
  const url = await postgres.newUrl()
  const key = join(other.dataDir, 'secret.key')
  await expect(copy(one.dataDir, { to: url }, { key })).rejects.toThrow('is not the one that this database was created with')
  expect((await copy(one.dataDir, { to: url })).exitCode).toBe(0)
})

test('no server starts on what was copied, until it is reopened; then its queue is held', async () => {
  const { relay } = await movableRelay({}, {})
  await relay.send('later@rcpt.example', { scheduled_at: new Date(relay.clock.now() + 3_600_000).toISOString() })
  const url = await postgres.newUrl()
  const config = placeOf(relay.dataDir, null)
  await relay.restart(async () => {
    await copy(relay.dataDir, { to: 'store.url' }, { url })
    await expect(open(relay.dataDir, null)).rejects.toThrow(/was copied to the database relay_\d+ at .* "sterna store reopen"/)
    await expect(copy(relay.dataDir, { to: await postgres.newUrl() })).rejects.toThrow('was copied to')
    await reopenStore(config, systemClock)
    await expect(reopenStore(config, systemClock)).rejects.toThrow('was not copied elsewhere')
  })
  const { stderr } = await runCommand({ argv: ['queue', 'release', '--restored'], cwd: relay.dataDir }, relay.relay.services)
  expect(stderr).toMatch(/^1 recipient /)
})

/** Rows that end in a fault, or in `then`, after the first piece. */
async function* brokenOff(rows: AsyncIterable<RowPiece>, then: () => void): AsyncGenerator<RowPiece> {
  for await (const piece of rows) {
    yield piece
    then()
  }
}

const attempt = (source: CopySource, target: CopyTarget) => copyTables({ source, target, now: 0, tell: () => {} })

test('a copy that is broken off leaves both sides as they were', async () => {
  const dataDir = await filledDirectory()
  const url = await postgres.newUrl()
  const source = sqliteSource(dataDir)
  const target = await postgresTarget(url)
  const crashing: CopySource = {
    ...source,
    rows: (shape) => brokenOff(source.rows(shape), () => shape.table === 'cursor' && postgres.crash()),
  }
  await expect(attempt(crashing, target)).rejects.toThrow(/PostgreSQL|connection/i)
  await Promise.all([source.close(), target.close()])
  postgres.start()
  await (await open(dataDir, null)).close()
  expect((await copy(dataDir, { to: url })).exitCode).toBe(0)

  const other = testDirectory()
  const served = await postgresSource(url, () => {})
  const staged = sqliteTarget(other, 0)
  const failing: CopySource = {
    ...served,
    rows: (shape) =>
      brokenOff(served.rows(shape), () => {
        if (shape.table === 'cursor') throw new Error('a fault')
      }),
  }
  await expect(attempt(failing, staged)).rejects.toThrow('a fault')
  await Promise.all([served.close(), staged.close()])
  expect([existsSync(databaseFile(other)), readdirSync(other).includes('copying')]).toEqual([false, false])
  await (await open(testDirectory(), url)).close()
  expect((await copy(other, { from: url })).exitCode).toBe(0)
})

test('a copy in which a row is missing is found out, and nothing is kept of it', async () => {
  const dataDir = await filledDirectory()
  const url = await postgres.newUrl()
  const source = sqliteSource(dataDir)
  const target = await postgresTarget(url)
  const fill = target.fill.bind(target)
  const missing = async function* (): AsyncGenerator<RowPiece> {}
  target.fill = (shape, rows) => fill(shape, shape.table === 'cursor' ? drained(rows, missing()) : rows)
  const { isSame, tables } = await attempt(source, target)
  await Promise.all([source.close(), target.close()])
  expect(isSame).toBe(false)
  expect(tables.find(({ table }) => table === 'cursor')).toMatchObject({ source: { rows: 3 }, target: { rows: 0 } })
  expect((await copy(dataDir, { to: url })).exitCode).toBe(0)
})

async function* drained(rows: AsyncIterable<RowPiece>, others: AsyncIterable<RowPiece>): AsyncGenerator<RowPiece> {
  for await (const _ of rows);
  yield* others
}

test('both engines have the same tables, all of which are copied but those about processes and places', async () => {
  const dataDir = await filledDirectory()
  const source = sqliteSource(dataDir)
  const names = (await source.tables()).map(({ table }) => table)
  await source.close()
  expect([...leftOut].filter((name) => !names.includes(name))).toEqual([])
  const url = await postgres.newUrl()
  const { json } = await copy(dataDir, { to: url })
  expect((json as { tables: { table: string }[] }).tables.map(({ table }) => table)).toEqual(names.filter((name) => !leftOut.has(name)))
})
