import { randomBytes } from 'node:crypto'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { recordEvent } from '../../src/mail/event/event-log.ts'
import { LogReader } from '../../src/mail/event/log-reader.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { loadConfig } from '../../src/platform/config/load-config.ts'
import { Secret } from '../../src/platform/config/setting-types.ts'
import { Health } from '../../src/platform/health.ts'
import { silentLog } from '../../src/platform/log.ts'
import { closedStore } from '../../src/platform/store/closed-store.ts'
import { ConflictError, UniqueError, type Database, type Statement } from '../../src/platform/store/database.ts'
import { BuriedError } from '../../src/platform/store/nodes.ts'
import { openStore } from '../../src/platform/store/open-store.ts'
import { PostgresConnection } from '../../src/platform/store/postgresql/postgres-connection.ts'
import { LostConnection } from '../../src/platform/store/postgresql/postgres-errors.ts'
import { prepareDatabase } from '../../src/platform/store/postgresql/postgres-schema.ts'
import { postgresPlace } from '../../src/platform/store/postgresql/postgres-url.ts'
import { migrations, newestSchema } from '../../src/platform/store/schema-steps.ts'
import type { Upgrade } from '../../src/platform/store/store.ts'
import { openKeyFile } from '../../src/senders/account/key-file.ts'
import { openSecrets } from '../../src/senders/account/open-secrets.ts'
import { cases } from '../support/cases.ts'
import { startFakeMx } from '../support/fake-mx.ts'
import { startPostgres, type PostgresServer } from '../support/postgres-server.ts'
import { PostgresSession } from '../support/postgres-session.ts'
import { spawnServer, untilReady } from '../support/spawned-server.ts'
import { startTestRelay } from '../support/start-relay.ts'
import { testDirectory } from '../support/temporary-directory.ts'
import { joining } from '../support/test-core.ts'
import { startTwoNodes } from '../support/two-nodes.ts'

/** The store on a server of PostgreSQL. */
let postgres: PostgresServer

beforeAll(() => void (postgres = startPostgres()))
afterAll(() => postgres?.stop())

const placeOf = (url: string) => ({ dataDir: testDirectory(), store: { url: new Secret(url) } })

async function open(url: string, onFatal = (error: Error): void => expect.unreachable(error.message)): Promise<Database> {
  const { db } = await openStore({ place: placeOf(url), clock: systemClock, onFatal })
  onTestFinished(() => db.close().catch(() => {}))
  return db
}

/** Makes it the writer of a node, without the beat that would keep it. */
const joinAs = (db: Database) => db.write([{ sql: "insert into node (name, started_at) values ('node_test', 0)" }], { as: 'node_test' })

const setCursor = (name: string, position: number): Statement => ({
  sql: 'insert into cursor (name, position) values (:name, :position)',
  params: { name, position },
})
const moveCursor = (name: string, from: number): Statement => ({
  sql: 'update cursor set position = position + 1 where name = :name and position = :from',
  params: { name, from },
  expect: 1,
  guard: 'cursor',
})
const cursors = async (db: Database) =>
  (await db.read('select name, position from cursor order by name')).map(({ name, position }) => [name, position])

test('three that start at once on an empty database make one schema', async () => {
  const url = await postgres.newUrl()
  expect(await closedStore(placeOf(url)).isNew()).toBe(true)
  const stores = await Promise.all([open(url), open(url), open(url)])
  await stores[0].write([setCursor('webhook', 1)])
  expect(await Promise.all(stores.map(cursors))).toEqual(stores.map(() => [['webhook', 1]]))
  expect(await closedStore(placeOf(url)).isNew()).toBe(false)
  expect(await closedStore(placeOf(url)).findUpgrade(true)).toEqual({ found: newestSchema(), newest: newestSchema(), plan: null })
})

test('a batch that is refused is refused alone, and names its guard', async () => {
  const db = await open(await postgres.newUrl())
  await db.write([setCursor('a', 1)])
  const results = await Promise.allSettled([
    db.write([setCursor('b', 1), moveCursor('a', 1)]),
    db.write([setCursor('c', 1), moveCursor('a', 1)]),
    db.write([setCursor('d', 1), setCursor('a', 1)]),
    db.write([setCursor('e', 1), moveCursor('a', 2)]),
  ])
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled'])
  expect(results.slice(1, 3)).toMatchObject([{ reason: new ConflictError('cursor') }, { reason: expect.any(UniqueError) }])
  expect(await cursors(db)).toEqual([
    ['a', 3],
    ['b', 1],
    ['e', 1],
  ])
})

test('values come back as they were written', async () => {
  const db = await open(await postgres.newUrl())
  const bytes = new Uint8Array(randomBytes(300_000))
  const sql = 'insert into content (message_id, chunk, bytes) values (:id, :chunk, :bytes)'
  await db.write([{ sql, params: { id: 'é\u{1f600}\\', chunk: Number.MAX_SAFE_INTEGER, bytes } }])
  const [row] = await db.read('select message_id, chunk, bytes, null as nothing from content')
  expect(row).toMatchObject({ message_id: 'é\u{1f600}\\', chunk: Number.MAX_SAFE_INTEGER, nothing: null })
  expect(Buffer.compare(row?.['bytes'] as Uint8Array, bytes)).toBe(0)
})

const subject = { accountId: 'acc_1', messageId: 'em_1', recipientId: 'rcpt_1', to: 'a@b.example', subject: 'Hello', sandbox: false }

test('the log of events has no gap and is in the order of commits, whoever appends to it', async () => {
  const url = await postgres.newUrl()
  const writers = await Promise.all([open(url), open(url)])
  const follower = await open(url)
  const missed: number[] = []
  let [seen, isWriting] = [0, true]
  const follow = async (): Promise<void> => {
    for (let isLast = false; !isLast;) {
      isLast = !isWriting
      for (const { seq } of await follower.read('select seq from event where seq > :seen order by seq limit 100', { seen })) {
        if (seq !== seen + 1) missed.push(Number(seq))
        seen = Number(seq)
        isLast = false
      }
    }
  }
  const following = follow()
  const append = async (db: Database): Promise<void> => {
    for (let round = 0; round < 50; round++) {
      await Promise.allSettled([
        db.write([recordEvent(subject, 'email.delivered', {}, Date.now())]),
        db.write([recordEvent(subject, 'email.delivered', {}, Date.now()), recordEvent(subject, 'email.bounced', {}, Date.now())]),
        // It fails, and leaves no gap.
        db.write([recordEvent(subject, 'email.bounced', {}, Date.now()), moveCursor('nobody', 1)]),
      ])
    }
  }
  await Promise.all(writers.map(append))
  isWriting = false
  await following
  expect({ missed, seen }).toEqual({ missed: [], seen: 2 * 50 * 3 })
})

test('followers at two nodes see all that eight writers append, in one order and each once', async () => {
  const url = await postgres.newUrl()
  const nodes = await Promise.all(['first', 'second'].map((name) => openNode(url, name)))
  const eventsOfEach = 3 * cases(500)
  const append = async ({ db }: LogNode): Promise<void> => {
    for (let left = eventsOfEach; left > 0; left -= 3) {
      await db.write(Array.from({ length: 3 }, () => recordEvent(subject, 'email.delivered', {}, Date.now())))
    }
  }
  await Promise.all([...nodes, ...nodes, ...nodes, ...nodes].map(append))
  const log = (await nodes[0]?.db.read<{ id: string }>('select id from event order by seq'))?.map(({ id }) => id)
  expect(log).toHaveLength(8 * eventsOfEach)
  for (const { seen } of nodes) await expect.poll(() => seen.length).toBe(8 * eventsOfEach)
  for (const { seen } of nodes) expect(seen).toEqual(log)
})

interface LogNode {
  db: Database
  /** The ids of the events that it was told of, in order. */
  seen: string[]
}

/** A node that follows the log with a cursor of its own. */
async function openNode(url: string, name: string): Promise<LogNode> {
  const store = await openStore({ place: placeOf(url), clock: systemClock, onFatal: (error) => expect.unreachable(error.message) })
  const { db } = store
  onTestFinished(() => db.close())
  const nodes = await store.join({ ...joining, onBuried: (error) => expect.unreachable(error.message) })
  onTestFinished(() => nodes.leave())
  const seen: string[] = []
  const reader = new LogReader(
    { db, log: silentLog },
    {
      cursor: name,
      fault: 'the log could not be followed',
      maxEvents: 100,
      async take(step) {
        const events = await db.read<{ id: string }>('select id from event where seq > :from and seq <= :to order by seq', { ...step })
        return { statements: [], written: () => void seen.push(...events.map(({ id }) => id)) }
      },
    },
  )
  await reader.start()
  onTestFinished(() => reader.stop())
  return { db, seen }
}

test('of three servers that start at once on an empty database, all serve, and one makes the first account', async () => {
  const url = await postgres.newUrl()
  const directories = [testDirectory(), testDirectory(), testDirectory()]
  const keyFile = join(testDirectory(), 'secret.key')
  openKeyFile(keyFile)
  for (const directory of directories) copyFileSync(keyFile, join(directory, 'secret.key'))
  const settings = { STORE_URL: url, HOSTNAME: 'relay.example' }
  const servers = await Promise.all(directories.map((directory) => spawnServer(directory, settings)))
  await Promise.all(servers.map(untilReady))
  expect(servers.filter(({ stdout }) => stdout().includes('There is an account "default"'))).toHaveLength(1)
  const names = await postgres.run(
    `\\c ${databaseOf(url)}\nselect name from domain union all select name from account where id <> 'acc_00000000000000000000000000'`,
  )
  expect(names.trim().split('\n').toSorted()).toEqual(['default', 'relay.example'])
})

test('of nodes that start at once with different key files, one says which the database has', async () => {
  const url = await postgres.newUrl()
  const starting = Array.from({ length: 3 }, async () => {
    const dataDir = testDirectory()
    return openSecrets(
      await open(url),
      new Health({ clock: systemClock, log: silentLog }),
      loadConfig({ env: { STERNA_DATA_DIR: dataDir } }),
    )
  })
  const ended = await Promise.allSettled(starting)
  const refused = ended.flatMap((each) => (each.status === 'rejected' ? [String(each.reason)] : []))
  // One that comes late finds that there is a key, and makes none.
  expect(refused).toEqual(Array(2).fill(expect.stringMatching(/is not the one that this database was created with|secret.key is missing/)))
})

test('a node whose row is gone writes nothing more, and ends', async () => {
  const url = await postgres.newUrl()
  const ended = Promise.withResolvers<Error>()
  const db = await open(url, ended.resolve)
  await joinAs(db)
  await db.write([setCursor('before', 1)])
  await (await open(url)).write([{ sql: 'delete from node' }])
  await expect(db.write([setCursor('after', 1)])).rejects.toThrow(BuriedError)
  expect(await ended.promise).toEqual(new BuriedError('node_test', 5_000))
  expect(await cursors(await open(url))).toEqual([['before', 1]])
})

test('while the server starts again, batches wait and none is written twice', async () => {
  const url = await postgres.newUrl()
  const db = await open(url)
  await joinAs(db)
  await db.write([setCursor('count', 0)])
  let written = 0
  let isOver = false
  const count = { sql: "update cursor set position = position + 1 where name = 'count'", expect: 1 }
  const write = async (): Promise<void> => {
    while (!isOver) {
      await db.write([count, recordEvent(subject, 'email.delivered', {}, Date.now())])
      written++
    }
  }
  const writing = Array.from({ length: 8 }, write)
  for (let round = 0; round < 3; round++) {
    const before = written
    await expect.poll(() => written).toBeGreaterThan(before + 50)
    postgres.crash()
    postgres.start()
  }
  isOver = true
  await Promise.all(writing)
  expect(await cursors(db)).toEqual([['count', written]])
  expect(await db.read('select count(*) as events, max(seq) as last from event')).toEqual([{ events: written, last: written }])
})

test('a row that somebody else holds stops only the batches that need it', async () => {
  const url = await postgres.newUrl()
  const db = await open(url)
  await joinAs(db)
  const held = Array.from({ length: 12 }, (_, place) => `held${place}`)
  const ofAccount = Array.from({ length: 12 }, (_, place) => `of-account${place}`)
  await db.write([...held, ...ofAccount].map((name) => setCursor(name, 1)))
  await db.write([{ sql: "insert into account (id, name, plan, status, created_at) values ('acc_1', 'a', 'free', 'active', 0)" }])
  const other = await PostgresSession.open(postgres.socket, databaseOf(url))
  onTestFinished(() => other.close())
  await other.run('begin')
  await other.run("update cursor set position = position where name like 'held%'")
  await other.run("select id from account where id = 'acc_1' for update")
  let written = 0
  const batches = [...held.map((name) => moveCursor(name, 1)), ...ofAccount.map((name) => ({ ...moveCursor(name, 1), locks: 'acc_1' }))]
  const blocked = batches.map((each) => db.write([each]).then(() => written++))
  const beat: Statement = { sql: "update node set beat = beat + 1 where name = 'node_test'", expect: 1 }
  await Promise.all([db.write([setCursor('free', 1)]), db.write([beat])])
  for (let round = 1; round < 5; round++) await Promise.all([db.write([moveCursor('free', round)]), db.write([beat])])
  expect(written).toBe(0)
  await other.run('commit')
  await Promise.all(blocked)
  expect(await cursors(db)).toEqual([['free', 5], ...[...held, ...ofAccount].toSorted().map((name) => [name, 2])])
})

const databaseOf = (url: string): string => /\/(\w+)\?/.exec(url)?.[1] ?? ''
const sessionsOf = async (url: string): Promise<number> =>
  Number(await postgres.run(`select count(*) from pg_stat_activity where datname = '${databaseOf(url)}'`))

test('reads that lose their connection together open one in its place', async () => {
  const url = await postgres.newUrl()
  const db = await open(url)
  const readTwenty = () => Promise.all(Array.from({ length: 20 }, () => cursors(db)))
  await readTwenty()
  for (let round = 0; round < 3; round++) {
    await postgres.run(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${databaseOf(url)}'`)
    await readTwenty()
  }
  await db.write([setCursor('a', 1)])
  expect(await sessionsOf(url)).toBe(2)
})

test('a connection on which the server is silent is given up, though statements keep coming', async () => {
  const connection = await PostgresConnection.open(postgresPlace(await postgres.newUrl()))
  onTestFinished(() => connection.close())
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const asked = ['select pg_sleep(3600)', 'select 1', 'select 2'].map((sql) => {
    const ran = connection.run(sql).catch((error: unknown) => error)
    vi.advanceTimersByTime(11_000)
    return ran
  })
  expect(connection.isLost).toBe(true)
  expect(await Promise.all(asked)).toEqual(asked.map(() => expect.any(LostConnection)))
})

test('a start waits for another node to bring the schema up to date, however long', async () => {
  const url = await postgres.newUrl()
  const other = await PostgresSession.open(postgres.socket, databaseOf(url))
  onTestFinished(() => other.close())
  await other.run('create table schema_version (version bigint not null)')
  await other.run('begin')
  await other.run('lock table schema_version in exclusive mode')
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const prepared = prepareDatabase(postgresPlace(url), { olderSchema: 'upgrade', onUpgrade: () => {} })
  const waiting = `select count(*) from pg_stat_activity where datname = '${databaseOf(url)}' and wait_event_type = 'Lock'`
  for (let found = ''; found !== '1\n';) found = await postgres.run(waiting)
  vi.advanceTimersByTime(60_000)
  await other.run('commit')
  await prepared
})

test('a start that fails late leaves no session behind', async () => {
  const url = await postgres.newUrl()
  const db = await open(url)
  await db.close()
  await postgres.run(`\\c ${databaseOf(url)}\nalter table change_order rename to gone`)
  await expect(openStore({ place: placeOf(url), clock: systemClock })).rejects.toThrow('change_order')
  await expect.poll(() => sessionsOf(url)).toBe(0)
})

test('a server that has become a replica counts as lost', async () => {
  const connection = await PostgresConnection.open(postgresPlace(await postgres.newUrl()))
  await connection.run('begin read only')
  await expect(connection.run('create table nothing ()')).rejects.toThrow(LostConnection)
  expect(connection.isLost).toBe(true)
})

test.each<[string, (url: string) => string, RegExp]>([
  ['no server', () => 'postgres://sterna@127.0.0.1:1/none', /at 127\.0\.0\.1:1, cannot be used: .*refused.*Check store\.url/],
  ['no such database', (url) => url.replace('/postgres?', '/none?'), /there is no such database\. Create it: create database "none"/],
  [
    'a wrong password',
    (url) => url.replace('sterna@', 'locked:open-sesame@'),
    /does not let the user locked in .*Check the user and the password/,
  ],
  ['no TLS', () => 'postgres://sterna@mail.invalid/none', /Check store\.url/],
  ['another encoding', (url) => url.replace('/postgres?', '/ascii?'), /encoding SQL_ASCII.*Create one with/],
])('a start says what to do about %s, and shows no password', async (_, change, words) => {
  await postgres.run(
    "do $$ begin create role locked login password 'other'; exception when duplicate_object then null; end $$;\n" +
      "select 'create database ascii encoding ''SQL_ASCII'' template template0 locale ''C'' locale_provider libc' where not exists (select from pg_database where datname = 'ascii') \\gexec",
  )
  const url = change(await postgres.newUrl('postgres'))
  const refused = await openStore({ place: placeOf(url), clock: systemClock }).catch((error: Error) => error)
  expect((refused as Error).message).toMatch(words)
  expect((refused as Error).message).not.toContain('open-sesame')
})

test('a schema from a newer version is refused', async () => {
  const url = await postgres.newUrl()
  await open(url)
  await postgres.run(`\\c ${databaseOf(url)}\nupdate schema_version set version = 9999, served_from = 9999`)
  await expect(openStore({ place: placeOf(url), clock: systemClock })).rejects.toThrow('The database has schema 9999')
})

test('a relay delivers, and finds everything again after a restart', async () => {
  const host = '127.0.3.8'
  const mx = await startFakeMx({ host })
  onTestFinished(() => mx.close())
  const zone = { 'rcpt.example': { mx: [[10, 'mx.rcpt.example']] }, 'mx.rcpt.example': { a: [host] } } as const
  const relay = await startTestRelay({ delivery_port: String(mx.port), store_url: await postgres.newUrl() }, zone as never)
  onTestFinished(() => relay.stop())
  const ids = await Promise.all(Array.from({ length: 20 }, (_, place) => relay.send(`bob${place}@rcpt.example`)))
  // All that may keep a mail from its host: what was said at the last attempt, whether it is in hand, and until when it waits.
  const { db, clock } = relay.relay.services
  const undelivered = async () => ({
    recipients: await db.read(
      "select state, attempts, last_response, owner, due_at - :now as wait from recipient where state <> 'delivered' order by id",
      { now: clock.now() },
    ),
    nodes: await db.read('select name, beat, :now - heard_at as silent from node', { now: clock.now() }),
    faults: relay.relay.services.health.faults.map(({ message }) => message),
    connections: mx.sessions.length,
  })
  await expect.poll(undelivered).toMatchObject({ recipients: [] })
  await relay.restart()
  expect((await relay.recipients(ids[0] ?? ''))['bob0@rcpt.example']?.status).toBe('delivered')
  expect(await relay.events(ids[0] ?? '')).toContain('email.delivered')
})

test('two nodes know at once of each other’s keys, and soon of each other’s events', async () => {
  const host = '127.0.3.8'
  const mx = await startFakeMx({ host })
  onTestFinished(() => mx.close())
  const zone = { 'rcpt.example': { mx: [[10, 'mx.rcpt.example']] }, 'mx.rcpt.example': { a: [host] } } as const
  const { a, b } = await startTwoNodes({ delivery_port: String(mx.port), store_url: await postgres.newUrl() }, zone as never)
  let heard = 0
  onTestFinished(b.relay.services.db.onInsert('event', () => heard++))
  const { accounts, apiKeys, sendingDomains } = a.relay.services
  const account = await accounts.create('shop', 'enterprise')
  const domain = await sendingDomains.add(account.id, 'sender.example')
  await sendingDomains.verifyManually(domain.id)
  const { token } = await apiKeys.create({ accountId: account.id, name: 'shop', permission: 'full_access' })
  const body = { from: 'app@sender.example', to: 'bob@rcpt.example', subject: 'Hello', text: 'Hello' }
  const sent = [await b.call('POST', '/api/send', { token, body }), await a.call('POST', '/api/send', { token, body })]
  expect(sent.map(({ status }) => status)).toEqual([200, 200])
  const path = `/api/emails/${sent[1]?.body.id}`
  await expect.poll(async () => (await b.call('GET', path, { token })).body.recipients[0].status).toBe('delivered')
  await expect.poll(() => mx.messages.length).toBe(2)
  const own = heard
  const more = await a.call('POST', '/api/send', { token, body })
  await expect.poll(async () => (await a.call('GET', `/api/emails/${more.body.id}`, { token })).body.recipients[0].status).toBe('delivered')
  await expect.poll(() => heard).toBeGreaterThan(own)
})

describe('versions side by side', () => {
  const next = (sql: string) => [...migrations(), { version: 9999, sql }]
  const adds = 'alter table node add column of_next_version bigint;'
  const changes = 'alter table ticket_key rename column made_at to began_at;'
  const upgrade = (url: string, sql: string, onUpgrade: (upgrade: Upgrade) => void = () => {}) =>
    prepareDatabase(postgresPlace(url), { olderSchema: 'upgrade', onUpgrade, steps: next(sql) })
  /** A node of this version, with its beat. */
  const joined = async (url: string) => {
    const store = await openStore({ place: placeOf(url), clock: systemClock })
    onTestFinished(() => store.db.close())
    return { ...store, nodes: await store.join(joining) }
  }

  test('a schema that only adds is made while nodes serve, which go on, and start again', async () => {
    const url = await postgres.newUrl()
    const { db, nodes } = await joined(url)
    await upgrade(url, adds)
    await db.write([setCursor('after', 1)])
    await nodes.leave()
    expect((await closedStore(placeOf(url)).findUpgrade(true)).plan).toBeNull()
    const again = await joined(url)
    expect(await cursors(again.db)).toEqual([['after', 1]])
    await again.nodes.leave()
  })

  test('a schema that must wait for a table that somebody reads keeps nothing from the nodes that serve', async () => {
    const url = await postgres.newUrl()
    const { db, nodes } = await joined(url)
    const reader = await PostgresSession.open(postgres.socket, databaseOf(url))
    onTestFinished(() => reader.close())
    await reader.run('begin')
    await reader.run('select count(*) from recipient')
    const told: boolean[] = []
    const upgraded = upgrade(url, `${adds} alter table recipient add column of_next_version bigint;`, ({ isWaiting = false }) =>
      told.push(isWaiting),
    )
    await expect.poll(() => told).toEqual([false, true])
    await db.write([setCursor('meanwhile', 1)])
    const beat = async () => Number((await db.read('select beat from node'))[0]?.['beat'])
    const before = await beat()
    // Over more than one try.
    await expect.poll(beat).toBeGreaterThan(before + 5)
    expect(told).toEqual([false, true])
    await reader.run('commit')
    await upgraded
    expect(await db.read('select of_next_version from recipient')).toEqual([])
    await nodes.leave()
  })

  test('a column that is added to what nodes read fails none of their reads and writes', async () => {
    const url = await postgres.newUrl()
    const { db, nodes } = await joined(url)
    await db.write([setCursor('a', 1)])
    const read = () =>
      Promise.all([db.read('select * from cursor'), db.slowRead('select * from cursor'), db.read('select name from cursor')])
    const write = () =>
      Promise.all([
        db.write([{ sql: 'update cursor set position = position + 1 returning *' }]),
        db.write([recordEvent(subject, 'email.delivered', {}, 0)]),
      ])
    await read()
    await write()
    await upgrade(url, 'alter table cursor add column of_next_version bigint;')
    const row = { name: 'a', position: 2, of_next_version: null }
    expect(await read()).toEqual([[row], [row], [{ name: 'a' }]])
    expect(await write()).toMatchObject([[{ rows: [{ ...row, position: 3 }] }], [{ changes: 1 }]])
    expect(await cursors(db)).toEqual([['a', 3]])
    expect(await db.read('select seq from event order by seq')).toEqual([{ seq: 1 }, { seq: 2 }])
    await nodes.leave()
  })

  test('a schema that earlier versions cannot serve with is not made while one serves, and then keeps them out', async () => {
    const url = await postgres.newUrl()
    const { db, nodes } = await joined(url)
    await expect(upgrade(url, changes)).rejects.toThrow(
      /Nodes of an earlier version serve on this database \(node_.* on here, version test\)/,
    )
    await db.write([setCursor('after', 1)])
    const late = await openStore({ place: placeOf(url), clock: systemClock })
    onTestFinished(() => late.db.close())
    await nodes.leave()
    await upgrade(url, changes)
    // One that was about to join when the schema was changed, and one that starts.
    const words = /The database has schema 9999, .* To go back to this version, stop all nodes, and restore what pg_dump/
    await expect(late.join(joining)).rejects.toThrow(words)
    expect(await late.db.read('select name from node')).toEqual([])
    await expect(openStore({ place: placeOf(url), clock: systemClock })).rejects.toThrow(words)
  })

  test('nodes that have died keep no newer version from changing the schema, and do nothing if they wake', async () => {
    const url = await postgres.newUrl()
    const db = await open(url)
    await joinAs(db)
    await upgrade(url, `${adds} ${'-- Earlier versions cannot serve with this.'}`)
    expect(await db.read('select name, beat from node')).toEqual([{ name: 'node_test', beat: -1 }])
  })
})
