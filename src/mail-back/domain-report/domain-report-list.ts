import { idFloor } from '../../platform/id.ts'
import type { Domain } from '../../senders/sending-domain/domain.ts'
import { returnPathOf } from '../../senders/sending-domain/domain-records.ts'
import type { Database, Row, Value } from '../../platform/store/database.ts'
import { pageClause, type Page } from '../../platform/store/page-clause.ts'
import type { DmarcPolicy } from '../../senders/sending-domain/dmarc-record.ts'
import type { DomainReportKind } from './domain-report.ts'

/** Epoch, ms; reports that cover part of the period count. */
export interface ReportPeriod {
  since: number
  until: number
}

export interface DomainReportRow extends Row {
  id: string
  kind: DomainReportKind
  domain: string
  reporter: string
  contact: string | null
  report_id: string
  begin_at: number
  end_at: number
  policy: DmarcPolicy | null
  total: number
  failed: number
  row_count: number
  rows_left_out: number
  reverse_path: string | null
  remote_address: string
  received_at: number
}

/**
 * Which reports a domain's account sees: those on its name and its return path that came since it was added here. Join it with `and`, for
 * `domain_report r`. Not for an unverified domain: its account has not proved to own it.
 */
export function reportsOf(domain: Domain): { condition: string; params: Record<string, Value> } {
  return {
    condition: 'r.domain in (:name, :returnPath) and r.id >= :addedAt',
    params: { accountId: domain.accountId, name: domain.name, returnPath: returnPathOf(domain), addedAt: idFloor('drp', domain.createdAt) },
  }
}

const columns = `r.id, r.kind, r.domain, r.reporter, r.contact, r.report_id, r.begin_at, r.end_at, r.policy, r.total, r.failed, r.row_count,
  r.rows_left_out, r.reverse_path, r.remote_address, r.received_at`

/** One report that a domain's account may see; undefined if there is none with this id. */
export async function findDomainReport(db: Pick<Database, 'slowRead'>, domain: Domain, id: string): Promise<DomainReportRow | undefined> {
  if (domain.status !== 'verified') return undefined
  const { condition, params } = reportsOf(domain)
  const [row] = await db.slowRead<DomainReportRow>(`select ${columns} from domain_report r where r.id = :id and ${condition}`, {
    ...params,
    id,
  })
  return row
}

/** A page of the reports on a domain, with one extra row, for `pageClause`. */
export async function listDomainReports(
  db: Pick<Database, 'slowRead'>,
  domain: Domain,
  { kind, since, until }: { kind: DomainReportKind | null } & { [edge in keyof ReportPeriod]: number | null },
  page: Page,
): Promise<DomainReportRow[]> {
  if (domain.status !== 'verified') return []
  const own = reportsOf(domain)
  const { condition, order, params } = pageClause(page, 'r.id')
  const conditions = [
    own.condition,
    condition,
    ...(kind === null ? [] : ['r.kind = :kind']),
    ...(since === null ? [] : ['r.end_at > :since']),
    ...(until === null ? [] : ['r.begin_at < :until']),
  ]
  return db.slowRead<DomainReportRow>(`select ${columns} from domain_report r where ${conditions.join(' and ')} ${order}`, {
    ...own.params,
    ...params,
    kind,
    since,
    until,
  })
}
