import type { Domain } from '../../senders/sending-domain/domain.ts'
import type { Database, Row, Value } from '../../platform/store/database.ts'
import type { DmarcPolicy } from '../../senders/sending-domain/dmarc-record.ts'
import type { DomainReportKind } from './domain-report.ts'
import { reportsOf, type ReportPeriod } from './domain-report-list.ts'

/** Lines per part of a summary. */
export const maxLines = 500

/** All reports of one kind in the period. */
export interface ReportTotals extends Row {
  reports: number
  /** Messages or sessions. */
  total: number
  failed: number
  /** The start of the first report and the end of the last, epoch ms; null if there are none. */
  begin_at: number | null
  end_at: number | null
}

/** One reporting organisation, by its own name. */
export interface ReporterLine extends Row {
  reporter: string
  reports: number
  total: number
  failed: number
}

/** What was reported about one source address. */
export interface SourceLine extends Row {
  source_ip: string
  messages: number
  dkim_aligned: number
  spf_aligned: number
  failed: number
  quarantined: number
  rejected: number
  /** Messages with a signature (valid or not) that uses one of our selectors. */
  signed_here: number
  /** From any one row, preferably a failed one: what was verified. */
  dkim: string
  spf: string
  header_from: string
}

/** What was reported about connections with the same policy, result and host. */
interface ConnectionLine extends Row {
  policy_type: string
  result_type: string
  receiving_mx: string | null
  sessions: number
}

interface Summary<Line> {
  totals: ReportTotals
  /** By messages or sessions, most first. */
  reporters: ReporterLine[]
  lines: Line[]
}

export interface DmarcSummary extends Summary<SourceLine> {
  /** From the latest report that has one, else null. */
  policy: DmarcPolicy | null
}

export type TlsSummary = Summary<ConnectionLine>

const noTotals: ReportTotals = { reports: 0, total: 0, failed: 0, begin_at: null, end_at: null }

/** Summarises the DMARC reports on a domain in a period, most failures first. */
export async function readDmarcSummary(db: Pick<Database, 'slowRead'>, domain: Domain, period: ReportPeriod): Promise<DmarcSummary> {
  if (domain.status !== 'verified') return { totals: noTotals, reporters: [], lines: [], policy: null }
  const { condition, params } = within(domain, period, 'dmarc')
  const [overall, lines, [latest]] = await Promise.all([
    readTotals(db, condition, params),
    db.slowRead<SourceLine>(
      `select w.source_ip, cast(sum(w.messages) as bigint) as messages,
              cast(sum(w.messages * w.dkim_aligned) as bigint) as dkim_aligned, cast(sum(w.messages * w.spf_aligned) as bigint) as spf_aligned,
              cast(sum(case when w.dkim_aligned + w.spf_aligned = 0 then w.messages else 0 end) as bigint) as failed,
              cast(sum(case when w.disposition = 'quarantine' then w.messages else 0 end) as bigint) as quarantined,
              cast(sum(case when w.disposition = 'reject' then w.messages else 0 end) as bigint) as rejected,
              cast(sum(w.messages * w.signed_here) as bigint) as signed_here,
              coalesce(max(case when w.dkim_aligned + w.spf_aligned = 0 then w.dkim end), max(w.dkim)) as dkim,
              coalesce(max(case when w.dkim_aligned + w.spf_aligned = 0 then w.spf end), max(w.spf)) as spf,
              coalesce(max(case when w.dkim_aligned + w.spf_aligned = 0 then w.header_from end), max(w.header_from)) as header_from
         from domain_report r join dmarc_row w on w.report_id = r.id
        where ${condition}
        group by w.source_ip order by failed desc, messages desc, w.source_ip limit ${maxLines}`,
      params,
    ),
    db.slowRead<{ policy: DmarcPolicy }>(
      `select r.policy from domain_report r where ${condition} and r.policy is not null order by r.end_at desc, r.id desc limit 1`,
      params,
    ),
  ])
  return { ...overall, lines, policy: latest?.policy ?? null }
}

/** Summarises the TLS reports on a domain in a period, failures first. */
export async function readTlsSummary(db: Pick<Database, 'slowRead'>, domain: Domain, period: ReportPeriod): Promise<TlsSummary> {
  if (domain.status !== 'verified') return { totals: noTotals, reporters: [], lines: [] }
  const { condition, params } = within(domain, period, 'tls')
  const [overall, lines] = await Promise.all([
    readTotals(db, condition, params),
    db.slowRead<ConnectionLine>(
      `select w.policy_type, w.result_type, w.receiving_mx, cast(sum(w.sessions) as bigint) as sessions
         from domain_report r join tls_row w on w.report_id = r.id
        where ${condition}
        group by w.policy_type, w.result_type, w.receiving_mx
        order by case when w.result_type = 'success' then 1 else 0 end, sessions desc, w.policy_type, w.result_type limit ${maxLines}`,
      params,
    ),
  ])
  return { ...overall, lines }
}

function within(
  domain: Domain,
  { since, until }: ReportPeriod,
  kind: DomainReportKind,
): { condition: string; params: Record<string, Value> } {
  const { condition, params } = reportsOf(domain)
  return {
    condition: `${condition} and r.kind = :kind and r.end_at > :since and r.begin_at < :until`,
    params: { ...params, kind, since, until },
  }
}

async function readTotals(
  db: Pick<Database, 'slowRead'>,
  condition: string,
  params: Record<string, Value>,
): Promise<Pick<Summary<never>, 'totals' | 'reporters'>> {
  const [totals] = await db.slowRead<ReportTotals>(
    `select count(*) as reports, cast(coalesce(sum(r.total), 0) as bigint) as total, cast(coalesce(sum(r.failed), 0) as bigint) as failed,
            min(r.begin_at) as begin_at, max(r.end_at) as end_at
       from domain_report r where ${condition}`,
    params,
  )
  const reporters = await db.slowRead<ReporterLine>(
    `select r.reporter, count(*) as reports, cast(sum(r.total) as bigint) as total, cast(sum(r.failed) as bigint) as failed
       from domain_report r where ${condition}
      group by r.reporter order by total desc, r.reporter limit ${maxLines}`,
    params,
  )
  return { totals: totals ?? noTotals, reporters }
}
