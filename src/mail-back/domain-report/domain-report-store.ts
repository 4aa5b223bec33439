import { idFloor } from '../../platform/id.ts'
import type { Database, Statement } from '../../platform/store/database.ts'
import { removeInPieces } from '../../platform/store/remove-in-pieces.ts'
import type { DmarcRow, DomainReport, TlsRow } from './domain-report.ts'

/** Stored per domain in 24 hours: rows, plus ten for each report. Anybody can send reports. */
const dailyRows = 5_000
const reportCost = 10
const dayMs = 86_400_000

/** How a report arrived. */
export interface ReportArrival {
  /** `drp_…`; our id of the report. */
  id: string
  /** From MAIL FROM; proves nothing. */
  reversePath: string | null
  /** The client that delivered it. */
  remoteAddress: string
  /** Epoch, ms. */
  receivedAt: number
}

/**
 * Stores a report. The batch fails if the report is already stored, or the domain's daily limit is reached: see `standingOf`.
 * @param ours.signatures `domain selector` of each of our keys
 * @param ours.accountId the account that counts: of several with the domain, always the same
 */
export function insertDomainReport(
  report: DomainReport,
  arrival: ReportArrival,
  ours: { signatures: ReadonlySet<string>; accountId: string },
): Statement[] {
  const rows =
    report.kind === 'dmarc'
      ? report.rows.map((row, place) =>
          insertDmarcRow(arrival.id, place, { ...row, isSignedHere: row.signatures.some((signature) => ours.signatures.has(signature)) }),
        )
      : report.rows.map((row, place) => insertTlsRow(arrival.id, place, row))
  return [{ ...insertMetadata(report, arrival), locks: ours.accountId }, ...rows]
}

const insertMetadata = (report: DomainReport, { id, reversePath, remoteAddress, receivedAt }: ReportArrival): Statement => ({
  sql: `insert into domain_report (id, kind, domain, reporter, contact, report_id, begin_at, end_at, policy, total, failed, row_count,
          rows_left_out, reverse_path, remote_address, received_at)
        select :id, :kind, :domain, :reporter, :contact, :reportId, :beginAt, :endAt, :policy, :total, :failed, :rowCount,
          :rowsLeftOut, :reversePath, :remoteAddress, :receivedAt
         where (select coalesce(sum(row_count + ${reportCost}), 0) from domain_report where domain = :domain and id >= :since) < ${dailyRows}
        on conflict (domain, kind, reporter, report_id) do nothing`,
  params: {
    id,
    kind: report.kind,
    domain: report.domain,
    reporter: report.reporter,
    contact: report.contact,
    reportId: report.reportId,
    beginAt: report.beginAt,
    endAt: report.endAt,
    policy: report.kind === 'dmarc' ? report.policy : null,
    ...countsOf(report),
    rowCount: report.rows.length,
    rowsLeftOut: report.rowsLeftOut,
    reversePath,
    remoteAddress,
    receivedAt,
    since: idFloor('drp', receivedAt - dayMs),
  },
  expect: 1,
})

/** Messages or sessions: in all, and failed. */
export const countsOf = (report: DomainReport): { total: number; failed: number } =>
  report.kind === 'dmarc'
    ? { total: report.messages, failed: report.messages - report.aligned }
    : { total: report.sessions, failed: report.failures }

const insertDmarcRow = (id: string, place: number, row: DmarcRow & { isSignedHere: boolean }): Statement => ({
  sql: `insert into dmarc_row (report_id, place, source_ip, messages, disposition, dkim_aligned, spf_aligned, overrides, header_from,
          envelope_from, dkim, spf, signed_here)
        values (:id, :place, :sourceIp, :messages, :disposition, :dkimAligned, :spfAligned, :overrides, :headerFrom,
          :envelopeFrom, :dkim, :spf, :signedHere)`,
  params: {
    id,
    place,
    sourceIp: row.sourceIp,
    messages: row.messages,
    disposition: row.disposition,
    dkimAligned: row.dkimAligned ? 1 : 0,
    spfAligned: row.spfAligned ? 1 : 0,
    overrides: row.overrides,
    headerFrom: row.headerFrom,
    envelopeFrom: row.envelopeFrom,
    dkim: row.dkim,
    spf: row.spf,
    signedHere: row.isSignedHere ? 1 : 0,
  },
})

const insertTlsRow = (id: string, place: number, row: TlsRow): Statement => ({
  sql: `insert into tls_row (report_id, place, policy_type, result_type, sessions, sending_mta, receiving_mx, receiving_ip, reason)
        values (:id, :place, :policyType, :resultType, :sessions, :sendingMta, :receivingMx, :receivingIp, :reason)`,
  params: { id, place, ...row },
})

/**
 * Whether a report is already stored, and whether the domain's daily limit has room for it.
 * @param ahead reports that the same batch inserts before it
 */
export async function standingOf(
  db: Pick<Database, 'read'>,
  { domain, kind, reporter, reportId }: DomainReport,
  { ahead, now }: { ahead: readonly DomainReport[]; now: number },
): Promise<'new' | 'known' | 'full'> {
  const aheadOfDomain = ahead.filter((report) => report.domain === domain)
  if (aheadOfDomain.some((report) => report.kind === kind && report.reporter === reporter && report.reportId === reportId)) return 'known'
  const [found] = await db.read<{ known: number; used: number }>(
    `select (select count(*) from domain_report where domain = :domain and kind = :kind and reporter = :reporter and report_id = :reportId) as known,
            (select cast(coalesce(sum(row_count + ${reportCost}), 0) as bigint) from domain_report where domain = :domain and id >= :since) as used`,
    { domain, kind, reporter, reportId, since: idFloor('drp', now - dayMs) },
  )
  if (found && found.known > 0) return 'known'
  const used = aheadOfDomain.reduce((sum, { rows }) => sum + rows.length + reportCost, found?.used ?? 0)
  return used >= dailyRows ? 'full' : 'new'
}

/** Removes the reports that arrived before `cutoff` (epoch, ms). */
export async function sweepDomainReports(db: Pick<Database, 'write'>, cutoff: number): Promise<void> {
  const params = { before: idFloor('drp', cutoff) }
  for (const sql of [
    `delete from dmarc_row where (report_id, place) in (
       select report_id, place from dmarc_row where report_id < :before order by report_id limit :rows offset :skip)`,
    `delete from tls_row where (report_id, place) in (
       select report_id, place from tls_row where report_id < :before order by report_id limit :rows offset :skip)`,
    'delete from domain_report where id in (select id from domain_report where id < :before order by id limit :rows offset :skip)',
  ]) {
    await removeInPieces(db, [{ sql, params }])
  }
}
