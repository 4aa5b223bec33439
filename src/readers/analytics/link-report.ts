import type { Database } from '../../platform/store/database.ts'
import { repeatedEvent, type HistoryRow } from './counted-events.ts'
import { dayMs } from './period.ts'
import { linkMetrics, talliesOf, type LinkMetric } from './recipient-counts.ts'
import { startOf } from './span.ts'

type LinkCounts = { link: string } & Record<LinkMetric, number>

/** Links of one report. */
export const maxLinks = 10_000

const maxClickedFirst = (one: LinkCounts, other: LinkCounts): number =>
  other.clicked - one.clicked || other.unique_clicked - one.unique_clicked || (one.link < other.link ? -1 : 1)

/** The clicked links of one email as written in it, from the event log. */
export async function linksOfEmail(db: Pick<Database, 'slowRead'>, accountId: string, messageId: string): Promise<LinkCounts[]> {
  const rows = await db.slowRead<HistoryRow>(
    `select seq, id, recipient_id, type, created_at, data from event
      where message_id = :messageId and account_id = :accountId and type in ('email.clicked', 'email.rejudged') order by seq`,
    { messageId, accountId },
  )
  const links = new Map<string, LinkCounts>()
  for (const own of Map.groupBy(rows, (row) => row.recipient_id).values()) {
    for (const { link, metric, by } of talliesOf(own.map((row) => repeatedEvent(row, (name) => name)))) {
      if (link === null) continue
      const counts = links.get(link) ?? { link, ...noClicks }
      links.set(link, { ...counts, [metric]: counts[metric] + by })
    }
  }
  return [...links.values()].toSorted(maxClickedFirst).slice(0, maxLinks)
}

const noClicks = Object.fromEntries(linkMetrics.map((metric) => [metric, 0])) as Record<LinkMetric, number>

/** The clicked links of a template's live mail. Counts whole days (UTC), including those of `from` and `to`. */
export function linksOfTemplate(
  db: Pick<Database, 'slowRead'>,
  { accountId, templateId, from, to }: { accountId: string; templateId: string; from: number; to: number },
): Promise<LinkCounts[]> {
  const sums = linkMetrics.map((metric) => `cast(sum(${metric}) as bigint) as ${metric}`).join(', ')
  return db.slowRead<LinkCounts>(
    `select link, ${sums} from rollup_link
      where account_id = :accountId and template_id = :templateId and start >= :first and start < :to
      group by link
      order by 2 desc, 4 desc, 1
      limit ${maxLinks}`,
    { accountId, templateId, first: startOf(from, dayMs), to },
  )
}
