/**
 * Measures what analytics cost: counting the events of real mail, the bytes that the counts take, and reports over them; then reports
 * over the counts of 30 million recipients in a year, two domains with 12 providers, 20 templates and 40 tags each.
 *
 * node scripts/analytics-campaign.ts [--messages 1000000] [--mail-days 30] [--days 365]
 *
 * Exits 0 where no report that a dashboard asks for took more than 100 ms, the first time apart: by the median of five.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { latencyColumns } from '../src/readers/analytics/latency.ts'
import { TimeZone } from '../src/readers/analytics/local-time.ts'
import { linksOfTemplate } from '../src/readers/analytics/link-report.ts'
import { countedMetrics } from '../src/readers/analytics/metric.ts'
import type { Granularity } from '../src/readers/analytics/period.ts'
import { readReport, type Dimension } from '../src/readers/analytics/report.ts'
import { analyticsReader } from '../src/readers/analytics/rollup.ts'
import { spans } from '../src/readers/analytics/span.ts'
import { idFloor } from '../src/platform/id.ts'
import { silentLog } from '../src/platform/log.ts'
import { openWriter, type Connection } from '../src/platform/store/sqlite/sqlite-connection.ts'
import type { Database } from '../src/platform/store/database.ts'
import { migrate } from '../src/platform/store/sqlite/migrate.ts'
import { openDatabase } from '../src/platform/store/sqlite/sqlite-database.ts'

const number = (standard: number) => ({ type: 'string' as const, default: String(standard) })
const { values } = parseArgs({ options: { messages: number(1_000_000), 'mail-days': number(30), days: number(365) } })
const [messages, mailDays, days] = [Number(values.messages), Number(values['mail-days']), Number(values.days)]
const day = 86_400_000
const end = Date.UTC(2026, 10, 22)
const maxMs = 100
const providers = [
  'google',
  'microsoft',
  'yahoo',
  'apple',
  'gmx',
  'tonline',
  'proofpoint',
  'mimecast',
  'zoho',
  'orange',
  'comcast',
  'other',
]
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

const directory = mkdtempSync(join(tmpdir(), 'sterna-analytics-'))

function idOf(prefix: 'em' | 'rcp' | 'evt', at: number, n: number): string {
  let tail = ''
  for (let rest = n, i = 0; i < 16; i++, rest = Math.floor(rest / 32)) tail = alphabet.charAt(rest % 32) + tail
  return idFloor(prefix, at) + tail
}

/** Mail of the last days: one in four is opened, one in twenty clicked, one in fifty bounces. */
function makeMail(connection: Connection): void {
  connection.exec(`insert into account (id, name, plan, status, created_at) values ('acc_real', 'real', 'free', 'active', 0)`)
  const message = connection.prepare(
    `insert into message (id, account_id, domain_id, template_id, source, sandbox, header_from, header_to, header_cc, reply_to, subject,
                          message_id_header, size, body_type, smtputf8, tags, metadata, created_at)
     values (?, 'acc_real', ?, ?, 'api', 0, 'Shop <app@sender.example>', '["ann@rcpt.example"]', '[]', '[]', 'Your order has been shipped',
             '<0123456789abcdef0123456789@sender.example>', 2048, '7bit', 0, ?, '{}', ?)`,
  )
  const recipient = connection.prepare(
    `insert into recipient (id, message_id, account_id, forward_path, destination, type, state, expires_at, provider)
     values (?, ?, 'acc_real', 'ann@rcpt.example', 'rcpt.example', 'to', 'delivered', 0, ?)`,
  )
  const event = connection.prepare(
    `insert into event (id, account_id, message_id, recipient_id, type, sandbox, created_at, data) values (?, 'acc_real', ?, ?, ?, 0, ?, ?)`,
  )
  let events = 0
  const make = (n: number): void => {
    const at = Math.floor(end - mailDays * day + (mailDays * day * n) / messages)
    const [id, to] = [idOf('em', at, n), idOf('rcp', at, n)]
    const tags = JSON.stringify([
      { name: 'kind', value: `k${n % 10}` },
      { name: 'campaign', value: `c${Math.floor((n / messages) * 30)}` },
    ])
    message.run(id, `dom_${n % 2}`, n % 5 === 0 ? null : `tpl_${n % 20}`, tags, at)
    recipient.run(to, id, providers[(n % 97) % providers.length])
    const tell = (type: string, data: object, after = 1_000): void => {
      const text = JSON.stringify({ email_id: id, to: 'ann@rcpt.example', subject: 'Your order has been shipped', ...data })
      event.run(idOf('evt', at, events++), id, to, `email.${type}`, at + after, text)
    }
    tell('queued', {}, 0)
    tell('sent', {})
    if (n % 50 === 0) return tell('bounced', { bounce_type: 'hard', bounce_category: 'invalid_recipient' })
    tell('delivered', {})
    if (n % 4 === 0) tell('opened', { bot: n % 40 === 0 }, 60_000)
    if (n % 20 === 1) tell('clicked', { link: `https://shop.example/offer/${n % 7}?u=${n}`, bot: n % 100 === 1 }, 90_000)
    if (n % 400 === 4) tell('rejudged', { event_id: idOf('evt', at, events - 1), type: 'email.opened', bot: true }, 120_000)
  }
  for (let n = 0; n < messages; n += 20_000)
    connection.transaction(() => Array.from({ length: Math.min(20_000, messages - n) }, (_, i) => make(n + i)))()
}

/** What 30 million recipients would have left, in every quarter of an hour of so many days. */
function makeCounts(connection: Connection): void {
  const breakdowns: [string, string[]][] = [
    ['', ['']],
    ['provider', providers],
    ['template', Array.from({ length: 20 }, (_, n) => `tpl_${n}${'0'.repeat(24)}`)],
    ['tag', Array.from({ length: 40 }, (_, n) => (n < 10 ? `kind=k${n}` : `campaign=c${n}`))],
    ['bounce_category', ['invalid_recipient', 'mailbox_full', 'policy']],
  ]
  const rollup = connection.prepare(
    `insert into rollup values (${Array.from({ length: 6 + countedMetrics.length }, () => '?').join(', ')})`,
  )
  const latency = connection.prepare(
    `insert into rollup_latency values (${Array.from({ length: 6 + latencyColumns.length }, () => '?').join(', ')})`,
  )
  const cells = (days * day * 2) / spans[0]
  for (const [breakdown, names] of breakdowns) {
    for (const span of spans) {
      const sent = Math.round((30_000_000 / cells / names.length) * (span / spans[0]))
      const counts = countedMetrics.map((_, n) => Math.round(sent / (n + 1)))
      const times = latencyColumns.map((_, n) => (n > 5 && n < 30 ? Math.round(sent / 20) : 0))
      connection.transaction(() => {
        for (let start = Math.floor((end - days * day) / span) * span; start < end; start += span) {
          for (const name of names) {
            for (const domain of ['dom_a', 'dom_b'].map((id) => id.padEnd(30, '0'))) {
              rollup.run('acc_large', breakdown, span, start, name, domain, ...counts)
              if (breakdown === 'provider' || breakdown === '') latency.run('acc_large', breakdown, span, start, name, domain, ...times)
            }
          }
        }
      })()
    }
  }
}

const bytesOf = (connection: Connection): number =>
  (connection.pragma('page_count', { simple: true }) as number) * (connection.pragma('page_size', { simple: true }) as number)

function withWriter<T>(use: (connection: Connection) => T): T {
  const connection = openWriter(directory)
  connection.pragma('synchronous = off')
  migrate(connection)
  try {
    return use(connection)
  } finally {
    connection.close()
  }
}

async function count(db: Database): Promise<void> {
  const [cpu, startedAt] = [process.cpuUsage(), performance.now()]
  let [longest, held] = [0, 0]
  const write: Database['write'] = (batch, options = {}) =>
    db.write(batch, { ...options, onStoreTime: (ms) => (options.onStoreTime?.(ms), (held += ms), (longest = Math.max(longest, ms))) })
  await analyticsReader({ db: { ...db, write }, log: silentLog }).catchUp()
  const { user, system } = process.cpuUsage(cpu)
  const per1000 = (ms: number): string => ((ms / messages) * 1_000).toFixed(2)
  console.log(
    `counted in ${((performance.now() - startedAt) / 1_000).toFixed(1)} s; CPU ${per1000((user + system) / 1_000)} ms per 1,000 messages,`,
  )
  console.log(`  of which ${per1000(held)} ms held the store, ${longest.toFixed(1)} ms at most at a time`)
}

interface Question {
  name: string
  days: number
  by: Dimension[]
  zone?: string
  granularity?: Granularity
  table?: 'rollup_latency'
}

const questions: Question[] = [
  { name: 'totals of 7 days', days: 7, by: [] },
  { name: '30 days by day, Berlin', days: 30, by: ['period'], zone: 'Europe/Berlin' },
  { name: '30 days by day and domain, Kathmandu', days: 30, by: ['period', 'domain'], zone: 'Asia/Kathmandu' },
  { name: '7 days by hour, Berlin', days: 7, by: ['period'], zone: 'Europe/Berlin', granularity: 'hourly' },
  { name: '30 days by provider', days: 30, by: ['provider'] },
  { name: '30 days by day and provider, Berlin', days: 30, by: ['period', 'provider'], zone: 'Europe/Berlin' },
  { name: '90 days by template', days: 90, by: ['template'] },
  { name: '90 days by tag', days: 90, by: ['tag'] },
  { name: '90 days by campaign', days: 90, by: ['campaign'] },
  { name: '30 days by bounce category', days: 30, by: ['bounce_category'] },
  { name: 'a year by month', days: 365, by: ['period'], granularity: 'monthly' },
  { name: 'times of 30 days by provider', days: 30, by: ['provider'], table: 'rollup_latency' },
  {
    name: 'times of 7 days by day and provider, Berlin',
    days: 7,
    by: ['period', 'provider'],
    zone: 'Europe/Berlin',
    table: 'rollup_latency',
  },
  { name: 'times of 30 days by day, Berlin', days: 30, by: ['period'], zone: 'Europe/Berlin', table: 'rollup_latency' },
]

async function ask(db: Database, accountId: string): Promise<boolean> {
  let isGood = true
  for (const { name, days: length, by, zone = 'UTC', granularity = 'daily', table } of questions) {
    const times: number[] = []
    for (let i = 0; i < 6; i++) {
      const startedAt = performance.now()
      const request = {
        accountId,
        from: end - length * day + 3_600_000,
        to: end - 60_000,
        granularity,
        timeZone: new TimeZone(zone),
        dimensions: by,
        domainIds: null,
        tag: null,
      }
      const report = await readReport(db, { name: table ?? 'rollup', columns: table ? latencyColumns : countedMetrics }, request)
      if (!report || report.totals.every((total) => total === 0)) throw new Error(`${name}: nothing was counted`)
      times.push(performance.now() - startedAt)
    }
    const [first = 0, ...others] = times
    const median = others.toSorted((a, b) => a - b)[2] ?? 0
    isGood &&= median <= maxMs
    console.log(`  ${name}: ${median.toFixed(1)} ms, the first time ${first.toFixed(1)} ms`)
  }
  return isGood
}

withWriter(makeMail)
const before = withWriter(bytesOf)
let { db } = await openDatabase({ directory })
await db.slowRead('select 1 as one')
console.log(`${messages} recipients of real mail in ${mailDays} days`)
await count(db)
const isGood = await ask(db, 'acc_real')
const startedAt = performance.now()
const links = await linksOfTemplate(db, { accountId: 'acc_real', templateId: 'tpl_1', from: end - 90 * day, to: end })
console.log(`  ${links.length} links of a template in 90 days: ${(performance.now() - startedAt).toFixed(1)} ms`)
await db.close()
const counted = withWriter(bytesOf)
console.log(`the counts take ${((counted - before) / 1e6 / (messages / 1e6)).toFixed(0)} MB per million recipients`)
withWriter(makeCounts)
console.log(`30 million recipients in ${days} days: ${((withWriter(bytesOf) - counted) / 1e6 / 30).toFixed(0)} MB per million recipients`)
;({ db } = await openDatabase({ directory }))
const isGoodAtLarge = await ask(db, 'acc_large')
await db.close()
rmSync(directory, { recursive: true })
process.exit(isGood && isGoodAtLarge ? 0 : 1)
