import { adviseDmarc, type DmarcAdvice } from '../../domain-report/dmarc-advice.ts'
import { withPolicy } from '../../domain-report/dmarc-record.ts'
import type { DomainReportRow, ReportPeriod } from '../../domain-report/domain-report-list.ts'
import type { DmarcRowRow, TlsRowRow } from '../../domain-report/domain-report-rows.ts'
import type { DmarcSummary, ReporterLine, ReportTotals, SourceLine, TlsSummary } from '../../domain-report/domain-report-summary.ts'
import { observeDomain, originOf, type PublishedPolicy } from '../../domain-report/observe-domain.ts'
import { isoTime } from '../../iso-time.ts'
import type { Domain } from '../../sending-domain/domain.ts'

/** A record for the domain's owner to publish. */
interface TextRecord {
  name: string
  type: 'TXT'
  value: string
}

export const reportObject = (row: DomainReportRow) => ({
  object: 'domain_report' as const,
  id: row.id,
  kind: row.kind,
  domain: row.domain,
  reporter: row.reporter,
  contact: row.contact,
  report_id: row.report_id,
  start_date: isoTime(row.begin_at),
  end_date: isoTime(row.end_at),
  received_at: isoTime(row.received_at),
  policy: row.policy,
  total: row.total,
  failed: row.failed,
  rows_left_out: row.rows_left_out,
  reverse_path: row.reverse_path,
  remote_address: row.remote_address,
})

export const dmarcRowObject = (row: DmarcRowRow) => ({
  object: 'dmarc_row' as const,
  place: row.place,
  ip_address: row.source_ip,
  messages: row.messages,
  disposition: row.disposition,
  dkim_aligned: row.dkim_aligned === 1,
  spf_aligned: row.spf_aligned === 1,
  overrides: row.overrides === '' ? [] : row.overrides.split(', '),
  header_from: row.header_from,
  envelope_from: row.envelope_from,
  dkim: row.dkim,
  spf: row.spf,
  signed_here: row.signed_here === 1,
})

export const tlsRowObject = (row: TlsRowRow) => ({
  object: 'tls_row' as const,
  place: row.place,
  policy_type: row.policy_type,
  result_type: row.result_type,
  sessions: row.sessions,
  sending_mta: row.sending_mta,
  receiving_mx: row.receiving_mx,
  receiving_ip: row.receiving_ip,
  reason: row.reason,
})

/**
 * @param ownAddresses those that this server's mail leaves from
 * @param firstRecord the DMARC record of a domain that has none yet
 */
export function dmarcSummaryObject(
  domain: Domain,
  period: ReportPeriod,
  summary: DmarcSummary,
  { ownAddresses, firstRecord }: { ownAddresses: string[]; firstRecord: string },
) {
  const observation = observeDomain(domain, summary, ownAddresses)
  const { published } = observation
  const { total, failed } = summary.totals
  const own = new Set(ownAddresses)
  const recordOf = (value: string): TextRecord => ({ name: `_dmarc.${domain.name}`, type: 'TXT', value })
  const advice = adviseDmarc(observation)
  const text = textFor(advice, published, firstRecord)
  return {
    object: 'dmarc_summary' as const,
    ...frameOf(domain, period, summary.totals),
    policy: published?.policy ?? null,
    record: published?.text ?? null,
    messages: total,
    passed: total - failed,
    pass_rate: rateOf(total - failed, total),
    reporters: summary.reporters.map(reporterObject),
    sources: summary.lines.map((line) => sourceObject(line, own)),
    advice: {
      step: advice.step,
      policy: advice.policy,
      record: text === null ? null : recordOf(text),
      reasons: advice.reasons,
      fix: advice.fix.map(({ sourceIp }) => sourceIp),
    },
  }
}

/** The record with the policy that is advised; null where none is, or it has to change at the domain above. */
function textFor({ policy }: DmarcAdvice, published: PublishedPolicy | null, firstRecord: string): string | null {
  if (policy === null) return null
  if (published === null) return firstRecord
  return published.text === null ? null : withPolicy(published.text, policy)
}

/** @param record what has such reports sent to this server */
export function tlsSummaryObject(
  domain: Domain,
  period: ReportPeriod,
  { totals, reporters, lines }: TlsSummary,
  record: TextRecord | null,
) {
  const { total, failed } = totals
  return {
    object: 'tls_summary' as const,
    ...frameOf(domain, period, totals),
    sessions: total,
    failed,
    success_rate: rateOf(total - failed, total),
    reporters: reporters.map(reporterObject),
    results: lines.map(({ policy_type, result_type, receiving_mx, sessions }) => ({ policy_type, result_type, receiving_mx, sessions })),
    record,
  }
}

const frameOf = ({ id, name }: Domain, { since, until }: ReportPeriod, { reports }: ReportTotals) => ({
  domain_id: id,
  domain: name,
  start_date: isoTime(since),
  end_date: isoTime(until),
  reports,
})

/** To four places; 0 of nothing. */
const rateOf = (part: number, whole: number): number => (whole === 0 ? 0 : Math.round((part / whole) * 10_000) / 10_000)

const reporterObject = ({ reporter, reports, total, failed }: ReporterLine) => ({ name: reporter, reports, total, failed })

const sourceObject = (line: SourceLine, own: ReadonlySet<string>) => ({
  ip_address: line.source_ip,
  origin: originOf(line, own),
  messages: line.messages,
  failed: line.failed,
  dkim_aligned: line.dkim_aligned,
  spf_aligned: line.spf_aligned,
  quarantined: line.quarantined,
  rejected: line.rejected,
  header_from: line.header_from,
  dkim: line.dkim,
  spf: line.spf,
})
