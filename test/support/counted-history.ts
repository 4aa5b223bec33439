import { latencyBounds, latencyColumns } from '../../src/readers/analytics/latency.ts'
import { countedMetrics, noCounts, type Counts } from '../../src/readers/analytics/metric.ts'
import { spans, startOf } from '../../src/readers/analytics/span.ts'
import type { Statement } from '../../src/platform/store/database.ts'
import type { TestRelay } from './start-relay.ts'

/** What happened to an account's mail at one time. */
export interface CountedHour {
  at: number
  breakdown?: '' | 'provider' | 'cause' | 'tag'
  value?: string
  counts: Partial<Counts>
  /** How many were delivered within so many ms. */
  latencies?: [ms: number, count: number][]
}

/** Adds to the counts of the relay's account, as if mail had been sent at these times. */
export async function countHistory({ relay }: TestRelay, hours: readonly CountedHour[]): Promise<void> {
  const { db, accounts } = relay.services
  const accountId = accounts.getAccount('test').id
  const statements = hours.flatMap((hour) => [
    ...inEachSpan('rollup', countedMetrics, { accountId, ...hour, numbers: Object.values({ ...noCounts(), ...hour.counts }) }),
    ...(hour.latencies ? inEachSpan('rollup_latency', latencyColumns, { accountId, ...hour, numbers: bucketsOf(hour.latencies) }) : []),
  ])
  for (let at = 0; at < statements.length; at += 1_000) await db.write(statements.slice(at, at + 1_000))
}

function bucketsOf(latencies: readonly [number, number][]): number[] {
  const buckets = latencyColumns.map(() => 0)
  for (const [ms, count] of latencies) {
    const place = latencyBounds.findIndex((bound) => ms < bound)
    buckets[place] = (buckets[place] ?? 0) + count
  }
  return buckets
}

type Added = Pick<CountedHour, 'at' | 'breakdown' | 'value'> & { accountId: string; numbers: number[] }

const inEachSpan = (
  table: string,
  columns: readonly string[],
  { at, breakdown = '', value = '', accountId, numbers }: Added,
): Statement[] =>
  spans.map((span) => ({
    sql: `insert into ${table} (account_id, breakdown, span, start, value, domain_id, ${columns.join(', ')})
          values (:accountId, :breakdown, :span, :start, :value, '', ${columns.map((name) => `:${name}`).join(', ')})
          on conflict (account_id, breakdown, span, start, value, domain_id)
          do update set ${columns.map((name) => `${name} = ${table}.${name} + excluded.${name}`).join(', ')}`,
    params: {
      accountId,
      breakdown,
      span,
      start: startOf(at, span),
      value,
      ...Object.fromEntries(columns.map((name, place) => [name, numbers[place] ?? 0])),
    },
  }))

const hourMs = 3_600_000

/** Twenty days of a shop that sends by day more than by night, with all that may go wrong. */
export function busyHistory(now: number): CountedHour[] {
  return Array.from({ length: 20 * 24 }, (_, back) => {
    const at = now - (back + 1) * hourMs
    const sent = 40 + Math.round(300 * Math.max(0, Math.sin(((new Date(at).getUTCHours() - 5) * Math.PI) / 15)))
    const [hard, soft] = [back % 5, back % 3]
    const delivered = sent - hard - soft
    const google = Math.round(delivered * 0.7)
    const microsoft = delivered - google
    const counts = {
      sent,
      delivered,
      bounced_permanent: hard,
      bounced_transient: soft,
      complained: back % 11 === 0 ? 1 : 0,
      opened: Math.round(delivered * 0.6),
      unique_opened: Math.round(delivered * 0.4),
      unique_clicked: Math.round(delivered * 0.05),
      bot_opened: Math.round(delivered * 0.15),
    }
    const latencies: [number, number][] = [
      [900 + (back % 7) * 300, delivered - 10],
      [40_000 + (back % 5) * 9_000, 10],
    ]
    return [
      { at, counts, latencies },
      { at, breakdown: 'provider', value: 'google', counts: { sent, delivered: google, bounced_permanent: hard }, latencies },
      { at, breakdown: 'provider', value: 'microsoft', counts: { delivered: microsoft, bounced_transient: soft }, latencies },
      { at, breakdown: 'cause', value: 'invalid_recipient', counts: { bounced_permanent: hard } },
      { at, breakdown: 'cause', value: 'mailbox_full', counts: { bounced_transient: soft } },
      { at, breakdown: 'tag', value: 'kind=receipt', counts: { sent: Math.round(sent / 2), delivered: Math.round(delivered / 2) } },
    ] satisfies CountedHour[]
  }).flat()
}
