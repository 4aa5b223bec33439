import type { PublishedTlsPolicy, TlsResultType } from '../../mail-out/delivery/tls-session.ts'
import type { Database, Row, Statement } from '../../platform/store/database.ts'
import { pageClause, type Page } from '../../platform/store/page-clause.ts'
import { dayMs, type CountedSessions } from './tls-report.ts'

/** Sessions of one day, domain and policy that ended alike. */
export interface SessionsRow extends Row {
  /** Digest of all but `reason` and `sessions`. */
  id: string
  day: number
  domain: string
  policy: string
  failure: string | null
  mx_host: string | null
  address: string | null
  source_address: string | null
  reason: string | null
  sessions: number
}

export const reportStates = ['due', 'sent', 'failed'] as const

/** Where a report goes, and what became of it there. */
export interface Destination {
  /** `mailto:` or `https:` */
  uri: string
  state: (typeof reportStates)[number]
  /** Why it is not there yet. */
  reason: string | null
  /** The mail that carries it. */
  emailId: string | null
}

export interface TlsReportRow extends Row {
  id: string
  day: number
  domain: string
  state: (typeof reportStates)[number]
  due_at: number | null
  first_at: number | null
  tries: number
  report: string | null
  destinations: string | null
  sessions: number
  failures: number
}

export const destinationsOf = ({ destinations }: Pick<TlsReportRow, 'destinations'>): Destination[] =>
  JSON.parse(destinations ?? '[]') as Destination[]

export const addSessions = (row: SessionsRow): Statement => ({
  sql: `insert into tls_session (id, day, domain, policy, failure, mx_host, address, source_address, reason, sessions)
        values (:id, :day, :domain, :policy, :failure, :mx_host, :address, :source_address, :reason, :sessions)
        on conflict (id) do update set sessions = tls_session.sessions + excluded.sessions`,
  params: row,
})

export async function sessionsOf(db: Pick<Database, 'slowRead'>, day: number, domain: string): Promise<CountedSessions[]> {
  const rows = await db.slowRead<SessionsRow>('select * from tls_session where day = :day and domain = :domain order by id', {
    day,
    domain,
  })
  return rows.map(({ policy, failure, reason, mx_host, address, source_address: sourceAddress, sessions }) => ({
    policy: JSON.parse(policy) as PublishedTlsPolicy,
    failure:
      failure === null
        ? null
        : { type: failure as TlsResultType, reason: reason ?? '', mxHost: mx_host ?? '', address: address ?? '', sourceAddress },
    sessions,
  }))
}

interface Unplanned extends Row {
  day: number
  domain: string
}

/** Days before `today` with sessions of a domain for which no report is planned. */
export const unplanned = (db: Pick<Database, 'slowRead'>, today: number, most: number): Promise<Unplanned[]> =>
  db.slowRead<Unplanned>(
    `select distinct s.day, s.domain from tls_session s
      where s.day < :today and not exists (select 1 from tls_report r where r.day = s.day and r.domain = s.domain)
      order by s.day, s.domain limit :most`,
    { today, most },
  )

export const planReport = (id: string, { day, domain }: Unplanned, dueAt: number): Statement => ({
  sql: `insert into tls_report (id, day, domain, state, due_at, tries, sessions, failures)
        values (:id, :day, :domain, 'due', :dueAt, 0, 0, 0) on conflict (day, domain) do nothing`,
  params: { id, day, domain, dueAt },
})

export const dueReports = (db: Pick<Database, 'read'>, now: number, most: number): Promise<TlsReportRow[]> =>
  db.read<TlsReportRow>('select * from tls_report where due_at <= :now order by due_at, id limit :most', { now, most })

/** Removes a report that nobody asks for, or that has nothing to report, unless another node has made it meanwhile. */
export const dropReport = ({ id, day, domain }: TlsReportRow): Statement[] => [
  { sql: 'delete from tls_report where id = :id and report is null', params: { id }, expect: 1 },
  dropSessions(day, domain),
]

export const dropSessions = (day: number, domain: string): Statement => ({
  sql: 'delete from tls_session where day = :day and domain = :domain',
  params: { day, domain },
})

/** Writes what became of a report, unless another node has written something meanwhile. */
export const changeReport = (before: TlsReportRow, after: TlsReportRow): Statement => ({
  sql: `update tls_report set state = :state, due_at = cast(:due_at as bigint), first_at = cast(:first_at as bigint), tries = :tries,
               report = :report, destinations = :destinations, sessions = :sessions, failures = :failures
         where id = :id and state = :stateBefore and tries = :triesBefore and coalesce(destinations, '') = :destinationsBefore`,
  params: { ...after, stateBefore: before.state, triesBefore: before.tries, destinationsBefore: before.destinations ?? '' },
  expect: 1,
})

/** Makes a report that was not sent due now, and tries it for another day. */
export const hastenReport = (id: string, now: number): Statement => ({
  sql: `update tls_report set state = 'due', due_at = :now, first_at = null, tries = 0 where id = :id and state <> 'sent'`,
  params: { id, now },
})

export async function findReport(db: Pick<Database, 'read'>, id: string): Promise<TlsReportRow | undefined> {
  return (await db.read<TlsReportRow>('select * from tls_report where id = :id and report is not null', { id }))[0]
}

/** Those that were made: before that, nobody knows whether the domain asks for one. */
export function listReports(db: Pick<Database, 'slowRead'>, domain: string | undefined, page: Page): Promise<TlsReportRow[]> {
  const { condition, order, params } = pageClause(page)
  const sql = `select * from tls_report where report is not null and domain = coalesce(:domain, domain) and ${condition} ${order}`
  return db.slowRead<TlsReportRow>(sql, { ...params, domain: domain ?? null })
}

/** How long sessions wait for their report, in days: nobody can use it after that. */
const maxWaitDays = 3

/** Removes sessions that came too late for their report, and reports on days before `before` (epoch, ms). */
export async function sweepReports(db: Pick<Database, 'write'>, now: number, before: number): Promise<void> {
  const [today, day] = [Math.floor(now / dayMs), Math.floor(before / dayMs)]
  await db.write(
    [
      { sql: 'delete from tls_session where day < :oldest', params: { oldest: today - maxWaitDays } },
      { sql: 'delete from tls_report where day < :day and due_at is null', params: { day } },
    ],
    { mayBatch: true },
  )
}
