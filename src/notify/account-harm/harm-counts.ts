import type { Database, Row } from '../../platform/store/database.ts'
import { harmWindowMs, type HarmKind } from '../../mail/suppression/note-harm.ts'
import { countComplainants } from './count-complainants.ts'
import { quarterMs } from '../../readers/analytics/span.ts'

interface HarmRow extends Row {
  account_id: string
  kind: HarmKind
  recipients: number
}

/** How many recipients are held against each account within the last day. */
export async function recentHarm(db: Pick<Database, 'slowRead'>, now: number): Promise<Map<string, Record<HarmKind, number>>> {
  const rows = await db.slowRead<HarmRow>(
    `select account_id, kind, cast(count(*) as bigint) as recipients
       from account_harm where happened_at > :since group by account_id, kind`,
    { since: now - harmWindowMs },
  )
  const counts = new Map<string, Record<HarmKind, number>>()
  for (const { account_id: id, kind, recipients } of rows)
    counts.set(id, { ...(counts.get(id) ?? { hard_bounce: 0, complaint: 0 }), [kind]: recipients })
  return counts
}

/** How many people complained about the mail of an account within the last day. */
export async function recentComplainants(db: Pick<Database, 'slowRead'>, accountId: string, now: number): Promise<number> {
  const rows = await db.slowRead<{ address: string }>(
    `select address from account_harm where account_id = :accountId and kind = 'complaint' and happened_at > :since`,
    { accountId, since: now - harmWindowMs },
  )
  return countComplainants(rows.map(({ address }) => address))
}

/** How many recipients an account has mailed within the last day. Takes what the analytics have counted. */
export async function recentlySent(db: Pick<Database, 'slowRead'>, accountId: string, now: number): Promise<number> {
  const [row] = await db.slowRead<{ sent: number }>(
    `select cast(coalesce(sum(sent), 0) as bigint) as sent from rollup
      where account_id = :accountId and breakdown = '' and span = ${quarterMs} and start > :since`,
    { accountId, since: now - harmWindowMs - quarterMs },
  )
  return row?.sent ?? 0
}
