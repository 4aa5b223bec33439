import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EventSearch, type EventFilter } from '../../../src/mail/event/event-search.ts'
import { publicEventTypes, type PublicEventType } from '../../../src/mail/event/event-type.ts'
import { silentLog } from '../../../src/platform/log.ts'
import type { MessageFilter } from '../../../src/mail/message/message-filter.ts'
import { searchMessages } from '../../../src/mail/message/message-search.ts'
import { Retention } from '../../../src/mail/message/retention.ts'
import { searchIndex } from '../../../src/readers/search/search-index.ts'
import type { Database } from '../../../src/platform/store/database.ts'
import type { Page } from '../../../src/platform/store/page-clause.ts'
import {
  arbitraryFilter,
  arbitraryMails,
  isMeant,
  isSameAddress,
  mailWritten,
  upToTwo,
  type LoggedEvent,
  type Mail,
} from '../../support/searched-mail.ts'
import { testDatabase } from '../../support/test-database.ts'

/** Reads the log in small steps and parts; the process ends before this write. */
async function readLog(db: Database, writes = Infinity, maxEvents = 2_400): Promise<void> {
  let left = writes
  const write: Database['write'] = (...args) => (left-- > 0 ? db.write(...args) : Promise.reject(new Error('the process has ended')))
  await searchIndex(
    { db: { ...db, write }, log: silentLog },
    { firstEvents: maxEvents, maxEvents, partSize: 4_000, restFactor: 0 },
  ).keepUp()
}

/** All of a list, by pages of so many, from its beginning on and back from its end. */
async function byPages<Edge extends string | number>(read: (page: Page<Edge>) => Promise<Edge[]>, limit: number) {
  const forth: Edge[] = []
  for (let after: Edge | null = null; ;) {
    const found = await read({ limit, after, before: null })
    forth.push(...found.slice(0, limit))
    if (found.length <= limit) break
    after = forth.at(-1) ?? null
  }
  const back: Edge[] = []
  for (let before: Edge | null = forth.at(-1) ?? null; before !== null;) {
    const found = await read({ limit, after: null, before })
    back.push(...found.slice(0, limit))
    before = found.length > limit ? (back.at(-1) ?? null) : null
  }
  return { forth, back }
}

const arbitraryRun = {
  mails: arbitraryMails,
  stepsBefore: fc.integer({ min: 0, max: 3 }),
  stepsAfter: fc.integer({ min: 0, max: 2 }),
  few: fc.constantFrom(0, 2, 1_000),
  limit: fc.integer({ min: 1, max: 5 }),
  sandbox: fc.constantFrom(false, false, false, true),
}

/** Writes mail of which the half is read from the log at the time, wherever that has stopped, and some of the rest afterwards. */
function openStore(db: Database) {
  let runs = 0
  return async ({
    mails: made,
    stepsBefore,
    stepsAfter,
  }: {
    mails: Parameters<typeof mailWritten>[1]
    stepsBefore: number
    stepsAfter: number
  }) => {
    // What earlier runs have left.
    await readLog(db, Infinity, 1_000_000)
    const half = Math.ceil(made.length / 2)
    const mails: Mail[] = []
    const log: LoggedEvent[] = []
    const name = String(runs++)
    for (const [part, steps] of [
      [made.slice(0, half), stepsBefore],
      [made.slice(half), stepsAfter],
    ] as const) {
      const [newest] = await db.read<{ seq: number }>('select coalesce(max(seq), 0) as seq from event')
      const written = mailWritten(`${name}_${steps}_${mails.length}`, part, newest?.seq ?? 0)
      await db.write(written.batch)
      await readLog(db, steps)
      mails.push(...written.mails)
      log.push(...written.log)
    }
    return { mails, log }
  }
}

test('a list of emails is exact in both directions, however far the log has been read', async () => {
  const db = await testDatabase()
  const write = openStore(db)
  await fc.assert(
    fc.asyncProperty(fc.record(arbitraryRun), fc.array(arbitraryFilter, { minLength: 3, maxLength: 3 }), async (run, filters) => {
      const { mails } = await write(run)
      for (const accountId of new Set(mails.map((mail) => mail.accountId))) {
        for (const filter of filters) {
          const list = (page: Page): Promise<string[]> => idsOf(db, { accountId, sandbox: run.sandbox }, { filter, page }, run.few)
          const found = await byPages(list, run.limit)
          const meant = mails.filter((mail) => mail.accountId === accountId && mail.sandbox === run.sandbox && isMeant(mail, filter))
          const ids = meant.map(({ id }) => id).toSorted()
          expect(found, JSON.stringify({ accountId, filter })).toEqual({ forth: ids.toReversed(), back: ids.slice(1) })
          expect(await inSteps(db, { accountId, sandbox: run.sandbox }, filter, run)).toEqual(ids.toReversed())
        }
      }
    }),
    { numRuns: 15 },
  )
})

/** All of a list by searches that stop as soon as they may. */
async function inSteps(
  db: Database,
  scope: { accountId: string; sandbox: boolean },
  filter: MessageFilter,
  { few, limit }: { few: number; limit: number },
): Promise<string[]> {
  const ids: string[] = []
  for (let after: string | null = null; ;) {
    const page: Page = { limit, after, before: null }
    const sizes = { few, piece: 2, maxMs: 0 }
    const { rows, rest } = await searchMessages<{ id: string }>(db, { columns: 'id', scope, filter, page }, sizes)
    ids.push(...rows.slice(0, limit).map(({ id }) => id))
    if (!rest && rows.length <= limit) return ids
    after = rest?.end ?? ids.at(-1) ?? null
  }
}

async function idsOf(
  db: Database,
  scope: { accountId: string; sandbox: boolean },
  { filter, page }: { filter: MessageFilter; page: Page },
  few: number,
) {
  const { rows } = await searchMessages<{ id: string }>(db, { columns: 'id', scope, filter, page }, { few, piece: 2 })
  return rows.map(({ id }) => id)
}

const times = fc.integer({ min: 1, max: 9 }).map((n) => n * 60_000)
const arbitraryEventFilter = upToTwo<{ type: PublicEventType; to: string; since: number; until: number }>({
  type: fc.constantFrom(...publicEventTypes),
  to: fc.constantFrom('ANN@a.example', 'bob@a.example', 'nobody@a.example'),
  since: times,
  until: times,
})

test('a list of events is exact, in either order', async () => {
  const db = await testDatabase()
  const write = openStore(db)
  await fc.assert(
    fc.asyncProperty(
      fc.record(arbitraryRun),
      fc.array(arbitraryEventFilter, { minLength: 3, maxLength: 3 }),
      fc.constantFrom('asc', 'desc'),
      async (run, filters, order) => {
        const { log } = await write(run)
        const scopes = Map.groupBy(
          log.filter(({ mail }) => mail.sandbox === run.sandbox),
          ({ mail }) => mail.accountId,
        )
        for (const [accountId, events] of scopes) {
          for (const filter of filters) {
            const asked = { columns: 'seq', scope: { accountId, sandbox: run.sandbox }, filter: { ...filter, messageId: null } }
            const list = async (page: Page<number>): Promise<number[]> => {
              const rows = await new EventSearch<{ seq: number }>(
                db,
                { ...asked, page: { ...page, order } },
                { few: run.few, piece: 2 },
              ).page()
              return rows.map(({ seq }) => seq)
            }
            const found = await byPages(list, run.limit)
            const places = events.filter((event) => isMeantEvent(event, filter)).map(({ seq }) => seq)
            const listed = order === 'asc' ? places : places.toReversed()
            expect(found, JSON.stringify({ accountId, filter, order })).toEqual({ forth: listed, back: listed.toReversed().slice(1) })
          }
        }
      },
    ),
    { numRuns: 15 },
  )
})

const isMeantEvent = ({ type, address, at }: LoggedEvent, filter: Omit<EventFilter, 'messageId'>): boolean =>
  publicEventTypes.some((each) => each === type) &&
  (filter.type === null || filter.type === type) &&
  (filter.to === null || isSameAddress(address, filter.to)) &&
  (filter.since === null || at >= filter.since) &&
  (filter.until === null || at < filter.until)

test('reading again after a crash, or twice at once, gives the same as reading once', async () => {
  const db = await testDatabase()
  const entries = async () => {
    const terms = await db.read(
      'select account_id, sandbox, term, message_id from search_term order by account_id, sandbox, term, message_id',
    )
    const blocks = await db.read('select * from event_block order by account_id, sandbox, type, block')
    return { terms, blocks }
  }
  const [mails = []] = fc.sample(fc.array(arbitraryMails, { minLength: 5, maxLength: 5 }), { numRuns: 1, seed: 1 })
  await db.write(mailWritten('crash', mails.flat(), 0).batch)
  await readLog(db)
  const whole = await entries()
  expect(whole.terms.length).toBeGreaterThan(50)
  expect(await db.read('select count(*) as parts from search_part having count(*) > 3')).toHaveLength(1)

  await db.write(['search_term', 'event_block', 'cursor', "search_part where start > ''"].map((table) => ({ sql: `delete from ${table}` })))
  for (let writes = 0; writes < 3; writes++) await readLog(db, writes)
  await Promise.all([readLog(db), readLog(db, 5, 1_700)])
  await readLog(db)
  expect(await entries()).toEqual(whole)
})

test('entries are deleted with their messages', async () => {
  const db = await testDatabase()
  const [made = []] = fc.sample(arbitraryMails, { numRuns: 1, seed: 2 })
  await db.write(mailWritten('old', made, 0).batch)
  await readLog(db)
  const day = 86_400_000
  const orphans = 'select term from search_term where message_id not in (select id from message)'
  const left = () => db.read('select distinct message_id as id from search_term order by message_id')
  expect(await left()).toHaveLength(made.length)
  await new Retention(db, { contentMs: day, eventMs: day }).sweep(100 * day)
  expect(await db.read(orphans)).toEqual([])
  // Mail that waits is kept.
  const kept = await db.read('select id from message order by id')
  expect(kept.length).toBeGreaterThan(0)
  expect(kept.length).toBeLessThan(made.length)
  expect(await left()).toEqual(kept)
  await db.write(['delete from search_term', 'delete from event'].map((sql) => ({ sql })))
  await db.write(mailWritten('new', made, 1_000_000).batch)
  await readLog(db)
  const [blocks] = await db.read<{ oldest: number }>('select min(block) as oldest from event_block')
  expect(blocks?.oldest).toBeGreaterThan(900)
})
