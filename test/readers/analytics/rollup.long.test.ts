import fc from 'fast-check'
import { expect, test } from 'vitest'
import { latencyBounds, latencyColumns } from '../../../src/readers/analytics/latency.ts'
import { linksOfEmail, linksOfTemplate } from '../../../src/readers/analytics/link-report.ts'
import { TimeZone } from '../../../src/readers/analytics/local-time.ts'
import { countedMetrics } from '../../../src/readers/analytics/metric.ts'
import type { Granularity } from '../../../src/readers/analytics/period.ts'
import { readReport, valueDimensions, type CountTable, type Dimension, type ReportRow } from '../../../src/readers/analytics/report.ts'
import { analyticsReader } from '../../../src/readers/analytics/rollup.ts'
import { explainBounce } from '../../../src/readers/explanation/explain-attempt.ts'
import { silentLog } from '../../../src/platform/log.ts'
import type { Database } from '../../../src/platform/store/database.ts'
import {
  accountId,
  arbitraryTold,
  countedMessages,
  encryptedOf,
  links,
  logOf,
  startCountedStore,
  start,
  writeLog,
  type Logged,
} from '../../support/counted-mail.ts'
import { testDatabase } from '../../support/test-database.ts'

const day = 86_400_000
const quarter = 900_000
const rollup: CountTable = { name: 'rollup', columns: countedMetrics }
const latency: CountTable = { name: 'rollup_latency', columns: latencyColumns }

type Line = Record<string, number>

/** What each event counts for, from all of the log. */
function straightCount(log: Logged[]): { event: Logged; metrics: string[] }[] {
  const machines = new Set(log.map(({ about }) => about))
  const seen = new Set<string>()
  const isFirst = (what: string, { message, recipient }: Logged): boolean => {
    const name = `${what} ${message.id} ${recipient}`
    return !seen.has(name) && seen.add(name).size > 0
  }
  return log.map((event) => {
    const { kind } = event
    const isPerson = !event.bot && !machines.has(event.id)
    const metrics: string[] = []
    if (kind === 'opened' || kind === 'clicked') {
      metrics.push(kind)
      if (!isPerson) metrics.push(`bot_${kind}`)
      if (isPerson && isFirst('opened', event)) metrics.push('unique_opened')
      if (isPerson && kind === 'clicked' && isFirst('clicked', event)) metrics.push('unique_clicked')
    } else if (['complained', 'unsubscribed', 'delivery_delayed'].includes(kind)) {
      if (isFirst(kind, event)) metrics.push(kind)
    } else if (kind !== 'queued' && kind !== 'rejudged') {
      metrics.push(kind)
      const encrypted = kind === 'delivered' ? encryptedOf(event.message.providers[event.recipient] ?? null) : null
      if (encrypted !== null) metrics.push(encrypted === 1 ? 'delivered_encrypted' : 'delivered_unencrypted')
    }
    return { event, metrics }
  })
}

function valuesOf({ message, category, recipient }: Logged, by: readonly Dimension[]): (string | null)[] {
  const tags = message.tags.map(({ name, value }) => `${name}=${value}`)
  const dimension = valueDimensions.find((each) => by.includes(each))
  switch (dimension) {
    case undefined:
      return [null]
    case 'tag':
      return tags
    case 'campaign':
      return message.tags.filter(({ name }) => name === 'campaign').map(({ value }) => value)
    case 'template':
      return message.templateId === null ? [] : [message.templateId]
    case 'provider':
      return [message.providers[recipient] ?? '']
    case 'bounce_category':
      return category === null ? [] : [category]
    case 'cause':
      return category === null ? [] : [explainBounce({ bounce_category: category }, null).code]
  }
}

interface Asked {
  by: readonly Dimension[]
  from: number
  to: number
  periodOf(at: number): string | null
}

/** The report from the events themselves. */
function recount(
  log: Logged[],
  { by, from, to, periodOf }: Asked,
  columnsOf: (counted: ReturnType<typeof straightCount>[number]) => string[],
) {
  const rows = new Map<string, Line>()
  for (const counted of straightCount(log)) {
    const { message, at } = counted.event
    if (message.sandbox || message.accountId !== accountId) continue
    if (at < Math.floor(from / quarter) * quarter || at >= Math.ceil(to / quarter) * quarter) continue
    for (const value of valuesOf(counted.event, by)) {
      const name = JSON.stringify([periodOf(at), by.includes('domain') ? (message.domainId ?? '') : null, value])
      for (const column of columnsOf(counted)) {
        const row = rows.get(name) ?? {}
        row[column] = (row[column] ?? 0) + 1
        rows.set(name, row)
      }
    }
  }
  return rows
}

const latencyColumnsOf = ({ event: { kind, at, message } }: ReturnType<typeof straightCount>[number]): string[] => {
  if (kind !== 'delivered') return []
  const ms = at - Math.max(message.createdAt, message.scheduledAt ?? 0)
  return [latencyColumns[latencyBounds.filter((bound) => bound <= ms).length]!]
}

const nonZero = (rows: ReportRow[], { columns }: CountTable) =>
  new Map(
    rows
      .map(({ period, domainId, value, counts }): [string, Line] => [
        JSON.stringify([period, domainId, value]),
        Object.fromEntries(columns.map((name, place): [string, number] => [name, counts[place]!]).filter(([, count]) => count !== 0)),
      ])
      .filter(([, row]) => Object.keys(row).length > 0),
  )

/** What the calendar of a zone calls the day, week or month; the moment of an hour. */
function periodBy(granularity: Granularity, zone: string): (at: number) => string {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' })
  return (at) => {
    const [date = '', time = ''] = format.format(at).split(' ')
    const [, minutes, seconds] = time.split(':').map(Number)
    switch (granularity) {
      case 'hourly':
        return new Date(at - (at % 1000) - (minutes! * 60 + seconds!) * 1000).toISOString()
      case 'daily':
        return date
      case 'weekly':
        return new Date(Date.parse(date) - ((new Date(date).getUTCDay() + 6) % 7) * day).toISOString().slice(0, 10)
      case 'monthly':
        return `${date.slice(0, 7)}-01`
    }
  }
}

/** Clicks by link of some events, the most clicked first. */
function recountLinks(log: Logged[], isMeant: (event: Logged) => boolean, nameOf: (event: Logged) => string) {
  const found = new Map<string, { clicked: number; bot_clicked: number; unique_clicked: number }>()
  const people = new Set<string>()
  for (const { event, metrics } of straightCount(log)) {
    if (event.kind !== 'clicked') continue
    const name = nameOf(event)
    const person = `${name} ${event.message.id} ${event.recipient}`
    const isBot = metrics.includes('bot_clicked')
    const isFirst = !isBot && !people.has(person) && people.add(person).size > 0
    if (!isMeant(event)) continue
    const row = found.get(name) ?? { clicked: 0, bot_clicked: 0, unique_clicked: 0 }
    row.clicked++
    if (isBot) row.bot_clicked++
    if (isFirst) row.unique_clicked++
    found.set(name, row)
  }
  return found
}

const byLink = (rows: { link: string }[]) => new Map(rows.map(({ link, ...counts }) => [link, counts]))

interface Crash {
  writes: number
  /** Whether the last write is on disk. */
  isWritten: boolean
}

/** Counts in small steps; the process ends at one of its writes. */
async function countUntil(
  db: Database,
  { writes, isWritten }: Crash,
  pace: NonNullable<Parameters<typeof analyticsReader>[1]>,
): Promise<void> {
  let left = writes
  const write: Database['write'] = async (...args) => {
    if (left-- > 0) return db.write(...args)
    if (isWritten) await db.write(...args)
    throw new Error('the process has ended')
  }
  await analyticsReader({ db: { ...db, write }, log: silentLog }, { ...pace, firstEvents: pace.maxEvents ?? 1 }).keepUp()
}

const arbitraryRun = fc.record({
  told: fc.array(arbitraryTold, { maxLength: 40, size: 'max' }),
  crash: fc.record({ writes: fc.nat({ max: 6 }), isWritten: fc.boolean() }),
  pace: fc.record({ maxEvents: fc.integer({ min: 1, max: 30 }), maxChanges: fc.constantFrom(3, 15, 120) }),
})

const arbitraryAsked = fc.record({
  zone: fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Asia/Kathmandu'),
  granularity: fc.constantFrom<Granularity>('hourly', 'daily', 'weekly', 'monthly'),
  by: fc.subarray<Dimension>(['period', 'domain']),
  value: fc.constantFrom(null, ...valueDimensions),
  span: fc.constantFrom<[number, number]>([0, 20 * day + 1], [0.4 * day + 7, 9.3 * day], [5 * day, 12 * day], [3 * day + 5_000, 3.1 * day]),
})

test('every report equals a direct count of the log, despite crashes, two processes, and machines recognised late', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(arbitraryRun, { minLength: 1, maxLength: 4 }),
      fc.array(arbitraryAsked, { minLength: 4, maxLength: 4 }),
      async (runs, asked) => {
        const db = await startCountedStore()
        let log: Logged[] = []
        for (const { told, crash, pace } of runs) {
          const before = log.length
          log = logOf(told, log)
          await writeLog(db, log.slice(before))
          await countUntil(db, crash, pace)
          const [one, other] = [analyticsReader({ db, log: silentLog }), analyticsReader({ db, log: silentLog }, { firstEvents: 3 })]
          await Promise.all([one.catchUp(), other.keepUp(), one.catchUp()])
        }
        for (const { zone, granularity, by: frame, value, span } of asked) {
          const [from, to] = [start + span[0], start + span[1]]
          const by: Dimension[] = value === null ? frame : [...frame, value]
          const periodOf = by.includes('period') ? periodBy(granularity, zone) : () => null
          const request = { accountId, from, to, granularity, timeZone: new TimeZone(zone), domainIds: null, tag: null }
          const report = await readReport(db, rollup, { ...request, dimensions: by })
          const totals = { period: null, domainId: null, value: null, counts: report!.totals }
          expect(nonZero([totals], rollup)).toEqual(recount(log, { by: [], from, to, periodOf: () => null }, ({ metrics }) => metrics))
          if (by.length > 0)
            expect(nonZero(report!.rows, rollup), by.join()).toEqual(recount(log, { by, from, to, periodOf }, ({ metrics }) => metrics))
          const latencyBy: Dimension[] = value === 'provider' ? [...frame, 'provider'] : frame
          const latencies = await readReport(db, latency, { ...request, dimensions: latencyBy })
          const isBroken = latencyBy.length > 0
          const rows = isBroken ? latencies!.rows : [{ ...totals, counts: latencies!.totals }]
          expect(nonZero(rows, latency)).toEqual(
            recount(log, { by: latencyBy, from, to, periodOf: isBroken ? periodOf : () => null }, latencyColumnsOf),
          )
        }
        for (const templateId of ['tpl_a', 'tpl_b']) {
          const found = await linksOfTemplate(db, { accountId, templateId, from: start, to: start + 10 * day })
          const isMeant = ({ message, at }: Logged): boolean =>
            message.templateId === templateId && message.accountId === accountId && !message.sandbox && at < start + 10 * day
          expect(byLink(found)).toEqual(recountLinks(log, isMeant, ({ link }) => links[link]![1]))
        }
        for (const { id } of countedMessages.slice(0, 3)) {
          const isMeant = ({ message }: Logged): boolean => message.id === id
          expect(byLink(await linksOfEmail(db, accountId, id))).toEqual(recountLinks(log, isMeant, ({ link }) => links[link]![0]))
        }
        await db.close()
      },
    ),
    { numRuns: 25 },
  )
})

test('counts many events in steps, each once', async () => {
  const db = await startCountedStore()
  const many = Array.from({ length: 2_500 }, (_, i) => ({
    kind: 'delivered' as const,
    message: i % 3,
    recipient: 0,
    at: start + i * 1_000,
    bot: false,
    link: 0,
    hit: 0,
  }))
  await writeLog(db, logOf(many, []))
  await analyticsReader({ db, log: silentLog }).catchUp()
  const rows = await db.read(
    `select value, sum(delivered) as delivered from rollup where span = ${quarter} and breakdown in ('', 'tag') group by value order by value`,
  )
  expect(rows).toEqual([
    { value: '', delivered: 2_500 },
    { value: 'campaign=spring', delivered: 833 },
    { value: 'kind=invoice', delivered: 1_666 },
    { value: 'team=b', delivered: 833 },
  ])
})

test("if a person's hit turns out to be a machine's, the next one counts as unique, in its own quarter of an hour", async () => {
  const db = await startCountedStore()
  const hit = (kind: 'opened' | 'clicked', at: number) => ({ kind, message: 1, recipient: 0, at: start + at, bot: false, link: 0, hit: 0 })
  const written = logOf([hit('opened', 0), hit('clicked', 5 * quarter), hit('opened', 9 * quarter)], [])
  await writeLog(db, written)
  await analyticsReader({ db, log: silentLog }).catchUp()
  const uniques = () =>
    db.read(
      `select start, unique_opened, unique_clicked, bot_opened, bot_clicked from rollup where span = ${quarter} and breakdown = 'template' order by start`,
    )
  const [first, second, third] = [start, start + 5 * quarter, start + 9 * quarter]
  expect(await uniques()).toEqual([
    { start: first, unique_opened: 1, unique_clicked: 0, bot_opened: 0, bot_clicked: 0 },
    { start: second, unique_opened: 0, unique_clicked: 1, bot_opened: 0, bot_clicked: 0 },
    { start: third, unique_opened: 0, unique_clicked: 0, bot_opened: 0, bot_clicked: 0 },
  ])
  const rejudged = (at: number) => ({ kind: 'rejudged' as const, message: 1, recipient: 0, at: start + day, bot: false, link: 0, hit: at })
  // The same verdict twice is one.
  const later = logOf([rejudged(0), rejudged(0)], written).slice(written.length)
  await writeLog(db, later)
  await analyticsReader({ db, log: silentLog }).catchUp()
  expect(await uniques()).toEqual([
    { start: first, unique_opened: 0, unique_clicked: 0, bot_opened: 1, bot_clicked: 0 },
    { start: second, unique_opened: 1, unique_clicked: 1, bot_opened: 0, bot_clicked: 0 },
    { start: third, unique_opened: 0, unique_clicked: 0, bot_opened: 0, bot_clicked: 0 },
  ])
})

/** Sixty messages, each with an order of its own, in a store; `sent(from, to)` are events of as many of them, in turn. */
async function startOrders() {
  const orders = Array.from({ length: 60 }, (_, i) => ({
    ...countedMessages[1]!,
    id: `em_x${i}`,
    tags: [{ name: 'order', value: String(i) }],
  }))
  const db = await testDatabase()
  await startCountedStore(db, orders)
  const sent = (from: number, to: number) => {
    const told = Array.from({ length: to }, (_, i) => ({
      kind: 'sent' as const,
      message: i % 60,
      recipient: 0,
      at: start + i,
      bot: false,
      link: 0,
      hit: 0,
    }))
    return logOf(told, [], orders).slice(from)
  }
  const counted = () =>
    db.read<{ value: string; sent: number }>(`select value, sent from rollup where breakdown = 'tag' and span = ${day} order by value`)
  return { db, sent, counted }
}

const fewValues = { firstEvents: 7, maxEvents: 7, maxValues: { breakdown: 10, link: 2 } }

test('values beyond the daily limit count as others, even after a restart, and nothing is lost', async () => {
  const { db, sent, counted } = await startOrders()
  await writeLog(db, sent(0, 120))
  await countUntil(db, { writes: 4, isWritten: true }, fewValues)
  await analyticsReader({ db, log: silentLog }, fewValues).catchUp()
  const rows = await counted()
  expect(rows).toHaveLength(11)
  expect(rows[0]).toEqual({ value: '(other)', sent: 100 })
  expect(new Set(rows.slice(1).map((row) => row.sent))).toEqual(new Set([2]))
})

test('the daily limit of values holds where nodes count in turn, and each counts under the values that the other has given a row', async () => {
  const { db, sent, counted } = await startOrders()
  const nodes = [0, 1].map(() => analyticsReader({ db, log: silentLog }, fewValues))
  for (let from = 0; from < 120; from += 3) {
    await writeLog(db, sent(from, from + 3))
    await nodes[(from / 3) % 2]?.catchUp()
  }
  const rows = await counted()
  expect(rows).toHaveLength(11)
  expect(rows[0]).toEqual({ value: '(other)', sent: 100 })
  expect(new Set(rows.slice(1).map((row) => row.sent))).toEqual(new Set([2]))
})
