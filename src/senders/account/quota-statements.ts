import type { Statement } from '../../platform/store/database.ts'
import { limitLock } from '../../platform/store/limit-lock.ts'

/** Recipients that an owner is about to mail. */
export interface QuotaStep {
  ownerId: string
  recipients: number
  node: string
  day: number
  month: number
  /** Later than `day` only shortly before it ends: another node's clock may be there already, and no day is counted anew once it is over. */
  latestDay: number
  dayLimit: number
  monthLimit: number
}

/** From where recipients are counted. */
export type QuotaSource =
  /** The share of this node: no other node is waited for. */
  | 'share'
  /** What is in no share, and those of this node and of nodes that have gone. */
  | 'pool'
  /** All that is left. */
  | 'all'

/** Count recipients, or fail by the guard `quota`. @param nodes how many divide the quota */
export function countStatements(step: QuotaStep, source: QuotaSource, nodes: number): Statement[] {
  if (source === 'share') return [useShare(step)]
  // Whoever is alone has no share, and need not look for those of nodes that have gone as long as there is enough.
  if (nodes === 1 && source === 'pool') return [countDirectly(step)]
  return [...returnShares(step, source), countDirectly(step), ...(nodes === 1 ? [] : takeShare(step, nodes))]
}

const useShare = ({ ownerId, node, recipients, day, latestDay, dayLimit, monthLimit }: QuotaStep): Statement => ({
  sql: `update quota_share set recipients = recipients - :recipients
         where owner_id = :ownerId and node = :node and recipients >= :recipients and day between :day and :latestDay
           and day_limit = :dayLimit and month_limit = :monthLimit`,
  params: { ownerId, node, recipients, day, latestDay, dayLimit, monthLimit },
  expect: 1,
  guard: 'quota',
})

function countDirectly({ ownerId, recipients, day, month, latestDay, dayLimit, monthLimit }: QuotaStep): Statement {
  // PostgreSQL would take it for a text in one place and for a number in the other.
  const given = 'cast(:recipients as bigint)'
  const isAhead = '(mail_usage.day > excluded.day and mail_usage.day <= :latestDay)'
  const used = (period: string): string =>
    `case when ${isAhead} or mail_usage.${period} = excluded.${period} then mail_usage.${period}_recipients else 0 end
       + excluded.${period}_recipients`
  const number = (period: string): string => `case when ${isAhead} then mail_usage.${period} else excluded.${period} end`
  return {
    sql: `insert into mail_usage (owner_id, day, day_recipients, month, month_recipients)
          select :ownerId, :day, ${given}, :month, ${given}
           where ${given} <= :dayLimit and ${given} <= :monthLimit
          on conflict (owner_id) do update
            set day_recipients = ${used('day')}, day = ${number('day')}, month_recipients = ${used('month')}, month = ${number('month')}
            where ${used('day')} <= :dayLimit and ${used('month')} <= :monthLimit
          returning day_recipients, month_recipients`,
    params: { ownerId, day, month, latestDay, recipients, dayLimit, monthLimit },
    expect: 1,
    guard: 'quota',
    locks: lockOf(ownerId),
  }
}

// Two groups that count the same owners in two orders would wait for each other for ever.
const lockOf = (ownerId: string): string => limitLock(`quota ${ownerId}`)

/** What is left of shares is counted no more, and the shares end. */
function returnShares({ ownerId, node }: QuotaStep, source: 'pool' | 'all'): Statement[] {
  const meant = source === 'all' ? '' : 'and (node = :node or node not in (select name from node))'
  const params = source === 'all' ? { ownerId } : { ownerId, node }
  const left = (period: string): string =>
    `${period}_recipients = ${period}_recipients
       - (select coalesce(cast(sum(recipients) as bigint), 0) from quota_share
           where owner_id = :ownerId and quota_share.${period} = mail_usage.${period} ${meant})`
  return [
    // Another node may be using its share: what it leaves is known once it is locked.
    { sql: `update quota_share set recipients = recipients where owner_id = :ownerId ${meant}`, params, locks: lockOf(ownerId) },
    { sql: `update mail_usage set ${left('day')}, ${left('month')} where owner_id = :ownerId`, params },
    { sql: `delete from quota_share where owner_id = :ownerId ${meant}`, params },
  ]
}

/** A node takes so small a part of what is left that others rarely have to take it back: the less is left, the less. */
const partsEach = 4

function takeShare({ ownerId, node, dayLimit, monthLimit }: QuotaStep, nodes: number): Statement[] {
  const own = '(select coalesce(max(recipients), 0) from quota_share where owner_id = :ownerId and node = :node)'
  return [
    {
      sql: `insert into quota_share (owner_id, node, day, month, recipients, day_limit, month_limit)
            select owner_id, :node, day, month, part, :dayLimit, :monthLimit
              from (select owner_id, day, month, case when of_day < of_month then of_day else of_month end / cast(:parts as bigint) as part
                      from (select owner_id, day, month, cast(:dayLimit as bigint) - day_recipients as of_day,
                                   cast(:monthLimit as bigint) - month_recipients as of_month
                              from mail_usage where owner_id = :ownerId) as rest) as given
             where part > 0`,
      params: { ownerId, node, dayLimit, monthLimit, parts: nodes * partsEach },
    },
    {
      sql: `update mail_usage set day_recipients = day_recipients + ${own}, month_recipients = month_recipients + ${own}
             where owner_id = :ownerId returning day_recipients, month_recipients`,
      params: { ownerId, node },
    },
  ]
}

/** What an owner has used of this day and month, shares of nodes left out. */
export const selectUse = `
  select day, month, day_recipients - (select coalesce(cast(sum(recipients) as bigint), 0) from quota_share
                                        where owner_id = :ownerId and quota_share.day = mail_usage.day) as day_recipients,
         month_recipients - (select coalesce(cast(sum(recipients) as bigint), 0) from quota_share
                              where owner_id = :ownerId and quota_share.month = mail_usage.month) as month_recipients
    from mail_usage where owner_id = :ownerId`

/** Forgets what an account or a domain has used. */
export const forgetUse = (ownerId: string): Statement[] =>
  ['mail_usage', 'quota_share'].map((table) => ({ sql: `delete from ${table} where owner_id = :ownerId`, params: { ownerId } }))
