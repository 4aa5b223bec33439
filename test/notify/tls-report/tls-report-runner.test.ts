import { expect, test } from 'vitest'
import type { SessionSum } from '../../../src/mail-out/delivery/session-tally.ts'
import { noPolicy } from '../../../src/mail-out/delivery/tls-session.ts'
import { SessionCounts } from '../../../src/notify/tls-report/session-counts.ts'
import { TlsReportRunner } from '../../../src/notify/tls-report/tls-report-runner.ts'
import { sweepReports } from '../../../src/notify/tls-report/tls-report-store.ts'
import { silentLog } from '../../../src/platform/log.ts'
import { StorageFullError, type Statement } from '../../../src/platform/store/database.ts'
import { settableClock } from '../../support/settable-clock.ts'
import { testDatabase } from '../../support/test-database.ts'

const [minute, hour] = [60_000, 3_600_000]
const midnight = Date.UTC(2026, 10, 22)

/** One session with each. */
function sessionsWith(destinations: string[]): SessionSum[] {
  const seen = { mxHost: 'mx.example', address: '192.0.2.1', sourceAddress: null, failure: null }
  return destinations.map((destination) => ({ destination, policy: noPolicy(destination), ...seen, sessions: 1 }))
}

/** A day with two sessions, and its report, due at 00:10; and the same with this many domains more. */
async function startDay(more = 0) {
  const db = await testDatabase()
  const clock = settableClock(midnight - hour)
  const given = {
    record: 'v=TLSRPTv1; rua=mailto:tls@rcpt.example' as string | null,
    isSigning: true,
    isFull: false,
    isBroken: false,
    onPost: async () => {},
    onLookUp: async () => {},
  }
  const mails: { to: string; batch: Statement[] }[] = []
  const posts: string[] = []
  const domain = { id: 'dom_1', status: 'verified' }
  const services = {
    db,
    clock,
    log: silentLog,
    resolver: {
      async txt() {
        await given.onLookUp()
        const status = given.record === null ? ('servfail' as const) : ('ok' as const)
        return { status, records: [given.record ?? ''], ttl: 0, secure: false }
      },
    },
    sendingDomains: {
      find: () => [domain as never],
      senderDomain: () => ({ ...domain, name: 'sender.example', signingKeys: given.isSigning ? [{}] : [] }) as never,
    },
    systemMail: {
      newMessageId: () => 'em_1',
      async send({ to }: { to: string }, batch: Statement[] = []) {
        if (given.isFull) throw new StorageFullError('no space')
        if (given.isBroken) throw new Error('this mail cannot be stored')
        await db.write(batch)
        mails.push({ to, batch })
        return {} as never
      },
    },
    poster: {
      async post({ url }: { url: string }) {
        posts.push(url)
        await given.onPost()
        return { statusCode: 200, response: '', error: null, durationMs: 1 }
      },
    },
    random: () => 1e-9,
  }
  const counts = new SessionCounts(services)
  const note = (): void => counts.add(sessionsWith(['rcpt.example']))
  note()
  note()
  counts.add(sessionsWith(Array.from({ length: more }, (_, i) => `rcpt${i}.example`)))
  await counts.flush()
  clock.set(midnight + 10 * minute)
  const newRunner = () =>
    new TlsReportRunner(services, { organization: 'Shop', contact: 'tls@sender.example', sender: 'tls@sender.example' })
  const runner = newRunner()
  const reports = () => db.read('select state, tries, due_at, sessions from tls_report')
  return { db, clock, given, mails, posts, runner, newRunner, reports, counts, note }
}

test('without an answer from the DNS a report waits, longer each time, and the day is kept', async () => {
  const { clock, given, mails, runner, reports } = await startDay()
  given.record = null
  await runner.run()
  expect(await reports()).toMatchObject([{ state: 'due', tries: 1, due_at: clock.now() + 5 * minute }])
  clock.advance(5 * minute)
  await runner.run()
  expect(await reports()).toMatchObject([{ state: 'due', tries: 2, due_at: clock.now() + 10 * minute }])
  given.record = 'v=TLSRPTv1; rua=mailto:tls@rcpt.example'
  clock.advance(10 * minute)
  await runner.run()
  expect(mails.map(({ to }) => to)).toEqual(['tls@rcpt.example'])
  expect(await reports()).toMatchObject([{ state: 'sent', due_at: null, sessions: 2 }])
})

test('a node that is slow to look up whether a report is wanted leaves the one that another has made', async () => {
  const { given, mails, runner, newRunner, reports } = await startDay()
  given.onLookUp = async () => {
    given.onLookUp = async () => {}
    await newRunner().run()
  }
  await runner.run()
  expect(mails.map(({ to }) => to)).toEqual(['tls@rcpt.example'])
  expect(await reports()).toMatchObject([{ state: 'sent', sessions: 2 }])
})

test('nobody gets an unsigned report by mail', async () => {
  const { clock, given, mails, runner, reports, db } = await startDay()
  given.isSigning = false
  await runner.run()
  const [row] = await db.read<{ destinations: string }>('select destinations from tls_report')
  expect(JSON.parse(row?.destinations ?? '')).toMatchObject([
    { state: 'due', reason: 'No domain of this server signs mail from tls@sender.example.' },
  ])
  given.isSigning = true
  clock.advance(5 * minute)
  await runner.run()
  expect([mails.length, await reports()]).toMatchObject([1, [{ state: 'sent' }]])
})

test('a fault with one destination does not keep the report from the others', async () => {
  const { clock, given, mails, posts, runner, reports, db } = await startDay()
  given.record = 'v=TLSRPTv1; rua=mailto:tls@rcpt.example,https://rcpt.example/tls'
  given.isBroken = true
  await runner.run()
  const [row] = await db.read<{ destinations: string }>('select destinations from tls_report')
  expect(JSON.parse(row?.destinations ?? '')).toMatchObject([
    { state: 'due', reason: 'This server could not send it; its log says why.' },
    { state: 'sent', reason: null },
  ])
  given.isBroken = false
  clock.advance(5 * minute)
  await runner.run()
  expect([posts.length, mails.length, await reports()]).toMatchObject([1, 1, [{ state: 'sent', tries: 1 }]])
})

const byHttps = 'v=TLSRPTv1; rua=https://collector.example/tls'

test('one slow server keeps no report to another', async () => {
  const { given, posts, runner, reports } = await startDay(30)
  given.record = byHttps
  const slow = Promise.withResolvers<void>()
  given.onPost = () => (posts.length === 1 ? slow.promise : Promise.resolve())
  const run = runner.run()
  await expect.poll(() => posts.length).toBe(31)
  slow.resolve()
  await run
  expect((await reports()).filter(({ state }) => state === 'sent')).toHaveLength(31)
})

test('a run ends before its minute does, and what it has no time for stays due', async () => {
  const { clock, given, posts, runner, reports } = await startDay(14)
  given.record = byHttps
  given.onPost = async () => clock.advance(30_000)
  const due = { state: 'due', tries: 0, due_at: clock.now() }
  await runner.run()
  const sent = posts.length
  expect(sent).toBeGreaterThan(0)
  expect(sent).toBeLessThan(15)
  const states = (await reports()).filter(({ state }) => state !== 'sent')
  expect(states).toMatchObject(Array.from({ length: 15 - sent }, () => due))
  await runner.run()
  expect(posts).toHaveLength(15)
})

test('two that send the same report at the same time send one', async () => {
  const { mails, runner, reports } = await startDay()
  await Promise.all([runner.run(), runner.run()])
  await runner.run()
  expect([mails.length, await reports()]).toMatchObject([1, [{ state: 'sent' }]])
})

test('a full disk changes nothing: the report is as due as before', async () => {
  const { given, mails, runner, reports } = await startDay()
  given.isFull = true
  await expect(runner.run()).rejects.toThrow(StorageFullError)
  expect(await reports()).toMatchObject([{ state: 'due', tries: 0 }])
  given.isFull = false
  await runner.run()
  expect([mails.length, await reports()]).toMatchObject([1, [{ state: 'sent' }]])
})

test('what comes too late for its report, and reports past their age, are removed', async () => {
  const { db, clock, runner, counts, note, reports } = await startDay()
  await runner.run()
  note()
  await counts.flush()
  const sessions = () => db.read('select domain from tls_session')
  await sweepReports(db, clock.now(), clock.now() - 24 * hour)
  expect([(await sessions()).length, (await reports()).length]).toEqual([1, 1])
  clock.advance(4 * 24 * hour)
  await sweepReports(db, clock.now(), clock.now() - 24 * hour)
  expect([await sessions(), await reports()]).toEqual([[], []])
})

test('sessions that cannot be written are counted with the next', async () => {
  const { db, counts, note } = await startDay()
  await db.write([{ sql: 'delete from tls_session' }])
  const write = db.write.bind(db)
  db.write = async () => {
    throw new StorageFullError('no space')
  }
  note()
  await expect(counts.flush()).rejects.toThrow(StorageFullError)
  db.write = write
  note()
  await counts.flush()
  expect(await db.read('select sessions from tls_session')).toEqual([{ sessions: 2 }])
})

test('all nodes write counts in the same order, so no two wait for each other', async () => {
  const { db, counts } = await startDay()
  const written: unknown[] = []
  const write = db.write.bind(db)
  db.write = async (batch, options) => {
    written.push(...batch.flat().map(({ params }) => params?.['id']))
    return write(batch, options)
  }
  counts.add(sessionsWith(Array.from({ length: 50 }, (_, i) => `rcpt${i}.example`)))
  await counts.flush()
  expect(written).toHaveLength(50)
  expect(written).toEqual(written.toSorted())
})
