import type { Clock } from '../../clock.ts'
import { adviseDmarc } from '../../domain-report/dmarc-advice.ts'
import type { DmarcAdvice } from '../../domain-report/dmarc-advice.ts'
import { withPolicy } from '../../domain-report/dmarc-record.ts'
import { listDomainReports } from '../../domain-report/domain-report-list.ts'
import type { DomainReportRow, ReportPeriod } from '../../domain-report/domain-report-list.ts'
import { readDmarcSummary, readTlsSummary } from '../../domain-report/domain-report-summary.ts'
import type { ReporterLine, SourceLine } from '../../domain-report/domain-report-summary.ts'
import { observeDomain, originOf } from '../../domain-report/observe-domain.ts'
import type { PublishedPolicy } from '../../domain-report/observe-domain.ts'
import { SternaError } from '../../errors.ts'
import { isoTime } from '../../iso-time.ts'
import type { Domain } from '../../sending-domain/domain.ts'
import { firstDmarcRecord } from '../../sending-domain/report-addresses.ts'
import type { SendingDomains } from '../../sending-domain/sending-domains.ts'
import type { Database } from '../../store/database.ts'
import type { ApiContext } from '../api-state.ts'
import { type Operation, operation } from '../operation.ts'
import { listBody, listOf, pageOf } from '../page.ts'
import { dmarcSummaryAnswer, domainReportAnswer, periodParameters, reportParameters, tlsSummaryAnswer } from './domain-report-schema.ts'

export interface DomainReportParts {
  db: Database
  clock: Clock
  sendingDomains: SendingDomains
  /** Those that this server's mail leaves from; none where that is not known. */
  ownAddresses(): Promise<string[]>
}

const path = '/api/domains/{idOrName}'
const tag = 'Domains'
const standardPeriodMs = 30 * 86_400_000

/** What receivers report about a domain. */
export const domainReportOperations = (parts: DomainReportParts): Operation[] => [
  operation(
    {
      id: 'domains.reports',
      method: 'GET',
      path: `${path}/reports`,
      tag,
      summary: 'List what was reported about a domain',
      description:
        'DMARC aggregate reports and TLS reports that receivers sent to this server. Anybody can send one, so they are for ' +
        'information only. Of a domain that is not verified none are shown.',
      permission: 'read_access',
      query: reportParameters,
      answers: [{ status: 200, description: 'A page of reports, the newest first.', schema: listOf(domainReportAnswer) }],
      refuses: ['not_found', 'invalid_parameter'],
    },
    async (ctx, { query }) => {
      const { kind, since, until, ...asked } = query
      const page = pageOf(asked)
      return listBody(await listDomainReports(parts.db, domainIn(ctx, parts), { kind, since, until }, page), page, reportObject)
    },
  ),
  operation(
    {
      id: 'domains.dmarc',
      method: 'GET',
      path: `${path}/dmarc`,
      tag,
      summary: 'What receivers say of the mail of a domain',
      description: 'Sums of the DMARC reports of a time, and whether the domain is ready for a stricter policy.',
      permission: 'read_access',
      query: periodParameters,
      answers: [{ status: 200, description: 'The summary.', schema: dmarcSummaryAnswer }],
      refuses: ['not_found', 'invalid_parameter'],
    },
    async (ctx, { query }) => {
      const domain = domainIn(ctx, parts)
      const period = periodOf(query, parts.clock.now())
      const [summary, ownAddresses] = await Promise.all([readDmarcSummary(parts.db, domain, period), parts.ownAddresses()])
      const observation = observeDomain(domain, summary, ownAddresses)
      const { published } = observation
      const own = new Set(ownAddresses)
      const { totals, lines, reporters } = summary
      return {
        object: 'dmarc_summary' as const,
        ...frameOf(domain, period, totals.reports),
        policy: published?.policy ?? null,
        record: published?.text ?? null,
        messages: totals.total,
        passed: totals.total - totals.failed,
        pass_rate: rateOf(totals.total - totals.failed, totals.total),
        reporters: reporters.map(reporterObject),
        sources: lines.map((line) => sourceObject(line, own)),
        advice: adviceObject(adviseDmarc(observation), published, standardRecord(domain, parts)),
      }
    },
  ),
  operation(
    {
      id: 'domains.tls',
      method: 'GET',
      path: `${path}/tls`,
      tag,
      summary: 'What senders say of TLS with the hosts of a domain',
      description: 'Sums of the TLS reports (RFC 8460) of a time, about mail to the domain and to its return path.',
      permission: 'read_access',
      query: periodParameters,
      answers: [{ status: 200, description: 'The summary.', schema: tlsSummaryAnswer }],
      refuses: ['not_found', 'invalid_parameter'],
    },
    async (ctx, { query }) => {
      const domain = domainIn(ctx, parts)
      const period = periodOf(query, parts.clock.now())
      const { totals, reporters, lines } = await readTlsSummary(parts.db, domain, period)
      const record = parts.sendingDomains.tlsReportRecord(domain)
      return {
        object: 'tls_summary' as const,
        ...frameOf(domain, period, totals.reports),
        sessions: totals.total,
        failed: totals.failed,
        success_rate: rateOf(totals.total - totals.failed, totals.total),
        reporters: reporters.map(reporterObject),
        results: lines.map((line) => ({ ...line })),
        record,
      }
    },
  ),
]

/** Of the caller's own account; of anybody else's as if it did not exist. */
const domainIn = (ctx: ApiContext, { sendingDomains }: DomainReportParts): Domain =>
  sendingDomains.get(ctx.state.submitter.accountId, ctx.params['idOrName'] ?? '')

/** @throws SternaError `invalid_parameter` */
function periodOf({ since, until }: { since: number | null; until: number | null }, now: number): ReportPeriod {
  const end = until ?? now
  const period = { since: since ?? end - standardPeriodMs, until: end }
  if (period.since < period.until) return period
  throw new SternaError('invalid_parameter', 'The parameter since must be before until.')
}

const frameOf = ({ id, name }: Domain, { since, until }: ReportPeriod, reports: number) => ({
  domain_id: id,
  domain: name,
  start_date: isoTime(since),
  end_date: isoTime(until),
  reports,
})

/** To four places; 0 of nothing. */
const rateOf = (part: number, whole: number): number => (whole === 0 ? 0 : Math.round((part / whole) * 10_000) / 10_000)

const reporterObject = ({ reporter, reports, total, failed }: ReporterLine) => ({ name: reporter, reports, total, failed })

const reportObject = (row: DomainReportRow) => ({
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

interface TextRecord {
  name: string
  type: 'TXT'
  value: string
}

/** What a domain without a DMARC record is told to publish. */
function standardRecord(domain: Domain, { sendingDomains }: DomainReportParts): TextRecord {
  const record = sendingDomains.records(domain).find(({ kind }) => kind === 'dmarc')
  return { name: `_dmarc.${domain.name}`, type: 'TXT', value: record?.value ?? firstDmarcRecord(null) }
}

function adviceObject({ step, policy, reasons, fix }: DmarcAdvice, published: PublishedPolicy | null, standard: TextRecord) {
  const text = policy === null ? null : published === null ? standard.value : published.text === null ? null : withPolicy(published.text, policy)
  return { step, policy, record: text === null ? null : { ...standard, value: text }, reasons, fix: fix.map(({ sourceIp }) => sourceIp) }
}
