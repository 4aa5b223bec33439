import fc from 'fast-check'
import { expect, test } from 'vitest'
import { TimeZone } from '../../src/analytics/local-time.ts'
import { metricsOf } from '../../src/analytics/metric.ts'
import type { Granularity } from '../../src/analytics/period.ts'
import { readReport } from '../../src/analytics/report.ts'
import type { Dimension, ReportRow } from '../../src/analytics/report.ts'
import { Rollup } from '../../src/analytics/rollup.ts'
import { recordEvent } from '../../src/event/event-log.ts'
import { silentLog } from '../../src/log.ts'
import type { Database, Statement } from '../../src/store/database.ts'
import { testDatabase } from '../support/test-database.ts'

const day = 86_400_000
/** Clocks change in this time in New York (1 November) and in Berlin (25 October). */
const start = Date.UTC(2026, 9, 20)
const accountId = 'acc_one'

const events = {
  sent: ['email.sent', {}],
  delivered: ['email.delivered', {}],
  bounced_permanent: ['email.bounced', { bounce_type: 'hard', bounce_category: 'invalid_recipient' }],
  bounced_transient: ['email.bounced', { bounce_type: 'soft', bounce_category: 'mailbox_full' }],
  suppressed: ['email.bounced', { bounce_type: 'hard', bounce_category: 'suppressed' }],
  failed: ['email.bounced', { bounce_type: 'soft', bounce_category: 'internal_error' }],
  opened: ['email.opened', { bot: false }],
  openedByMachine: ['email.opened', { bot: true }],
  clicked: ['email.clicked', { link: 'https://a.example/?"bot":true,"bounce_type":"hard"', bot: false }],
  complained: ['email.complained', {}],
  unsubscribed: ['email.unsubscribed', {}],
  delivery_delayed: ['email.deferred', {}],
  queued: ['email.queued', {}],
} as const
type Kind = keyof typeof events

interface Told {
  kind: Kind
  message: number
  recipient: number
  at: number
}

const messages = [
  { id: 'em_0', domainId: null, tags: [], sandbox: false, accountId },
  { id: 'em_1', domainId: 'dom_a', tags: ['kind=invoice', 'team=b'], sandbox: false, accountId },
  { id: 'em_2', domainId: 'dom_b', tags: ['kind=invoice'], sandbox: false, accountId },
  { id: 'em_3', domainId: 'dom_a', tags: [], sandbox: true, accountId },
  { id: 'em_4', domainId: 'dom_a', tags: ['kind=other'], sandbox: false, accountId: 'acc_two' },
]

async function startStore(): Promise<Database> {
  const db = await testDatabase()
  await db.write([
    ...['acc_one', 'acc_two'].map((id) => ({
      sql: `insert into account (id, name, plan, status, created_at) values (:id, :id, 'free', 'active', 0)`,
      params: { id },
    })),
    ...messages.flatMap(({ id, accountId: of, domainId, sandbox, tags }): Statement[] => [
      {
        sql: `insert into message (id, account_id, domain_id, source, sandbox, header_from, header_to, header_cc, reply_to, subject,
                                   message_id_header, size, body_type, smtputf8, tags, metadata, created_at)
              values (:id, :of, :domainId, 'api', :sandbox, '', '[]', '[]', '[]', '', '', 0, '7bit', 0, '[]', '{}', 0)`,
        params: { id, of, domainId, sandbox: sandbox ? 1 : 0 },
      },
      ...tags.map((tag) => ({
        sql: 'insert into message_tag (account_id, message_id, name, value) values (:of, :id, :name, :value)',
        params: { id, of, name: tag.split('=')[0] ?? '', value: tag.split('=')[1] ?? '' },
      })),
    ]),
  ])
  return db
}

function eventOf({ kind, message, recipient, at }: Told): Statement {
  const { id, accountId: of, sandbox } = messages[message]!
  const [type, data] = events[kind]
  const about = { accountId: of, messageId: id, recipientId: `rcp_${message}_${recipient}`, to: 'a@b.example', sandbox }
  return recordEvent({ ...about, subject: 'with "bounce_category":"suppressed" in it' }, type, { ...data }, at)
}

/** The same counts, from the events themselves. */
function recount(told: Told[], periodOf: (at: number) => string | null, by: readonly Dimension[]): Map<string, Record<string, number>> {
  const rows = new Map<string, Record<string, number>>()
  const seen = new Set<string>()
  for (const { kind, message, recipient, at } of told) {
    const { domainId, tags, sandbox, accountId: of } = messages[message]!
    const isNew = !seen.has(`${kind} ${message} ${recipient}`)
    seen.add(`${kind} ${message} ${recipient}`)
    if (sandbox || of !== accountId || kind === 'queued') continue
    const counted: string[] = []
    if (kind === 'opened' || kind === 'clicked') counted.push(kind, ...(isNew ? [`unique_${kind}`] : []))
    else if (kind === 'openedByMachine') counted.push('opened')
    else if (['complained', 'unsubscribed', 'delivery_delayed'].includes(kind)) counted.push(...(isNew ? [kind] : []))
    else counted.push(kind)
    if (kind.startsWith('bounced')) counted.push('bounced')
    for (const tag of by.includes('tag') ? tags : [null]) {
      const name = JSON.stringify([periodOf(at), by.includes('domain') ? (domainId ?? '') : null, tag])
      const row = rows.get(name) ?? {}
      for (const metric of counted) row[metric] = (row[metric] ?? 0) + 1
      rows.set(name, row)
    }
  }
  return new Map([...rows].filter(([, row]) => Object.keys(row).length > 0))
}

const nameOf = ({ period, domainId, tag }: ReportRow): string => JSON.stringify([period, domainId, tag])
const nonZero = (rows: ReportRow[]) =>
  new Map(
    rows
      .map((row): [string, Record<string, number>] => [
        nameOf(row),
        Object.fromEntries(Object.entries(metricsOf(row.counts)).filter(([name, value]) => value !== 0 && !name.endsWith('_rate'))),
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

const told = fc.record({
  kind: fc.constantFrom(...(Object.keys(events) as Kind[])),
  message: fc.nat({ max: messages.length - 1 }),
  recipient: fc.nat({ max: 2 }),
  at: fc.integer({ min: start, max: start + 20 * day }),
})

test('what is kept equals a recount of the events, whatever is asked for, with restarts and two at once', { timeout: 60_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(told, { maxLength: 40 }), { minLength: 1, maxLength: 4 }),
      fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Asia/Kathmandu'),
      fc.constantFrom<Granularity>('hourly', 'daily', 'weekly', 'monthly'),
      fc.subarray<Dimension>(['period', 'domain', 'tag']),
      async (runs, zone, granularity, by) => {
        const db = await startStore()
        for (const run of runs) {
          await db.write(run.map(eventOf))
          const [one, other] = [new Rollup({ db, log: silentLog }), new Rollup({ db, log: silentLog })]
          await Promise.all([one.catchUp(), other.keepUp(), one.catchUp()])
        }
        const report = await readReport(db, {
          accountId,
          from: start,
          to: start + 20 * day + 1,
          granularity,
          timeZone: new TimeZone(zone),
          dimensions: by,
          domainIds: null,
        })
        const all = runs.flat()
        const totals = { period: null, domainId: null, tag: null, counts: report!.totals }
        expect(nonZero([totals])).toEqual(recount(all, () => null, []))
        if (by.length > 0) {
          const periodOf = by.includes('period') ? periodBy(granularity, zone) : () => null
          expect(nonZero(report!.rows)).toEqual(recount(all, periodOf, by))
        }
        await db.close()
      },
    ),
    { numRuns: 15 },
  )
})

test('many events are counted in steps, each once', async () => {
  const db = await startStore()
  const many = Array.from({ length: 2_500 }, (_, i): Told => ({ kind: 'delivered', message: i % 3, recipient: 0, at: start + i * 1_000 }))
  await db.write(many.map(eventOf))
  await new Rollup({ db, log: silentLog }).catchUp()
  const rows = await db.read('select tag, sum(delivered) as delivered from rollup group by tag order by tag')
  expect(rows).toEqual([
    { tag: '', delivered: 2_500 },
    { tag: 'kind=invoice', delivered: 1_666 },
    { tag: 'team=b', delivered: 833 },
  ])
})
