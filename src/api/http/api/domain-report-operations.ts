import type { BaseServices } from '../../../platform/base-services.ts'
import {
  findDomainReport,
  listDomainReports,
  type DomainReportRow,
  type ReportPeriod,
} from '../../../mail-back/domain-report/domain-report-list.ts'
import { readDmarcRows, readTlsRows } from '../../../mail-back/domain-report/domain-report-rows.ts'
import { readDmarcSummary, readTlsSummary } from '../../../mail-back/domain-report/domain-report-summary.ts'
import { SternaError } from '../../../platform/errors.ts'
import type { SendingDomains } from '../../../senders/sending-domain/sending-domains.ts'
import type { CallTo } from '../../operation/call.ts'
import { listOperation } from '../../operation/list-operation.ts'
import { type Operation, operation } from '../../operation/operation.ts'
import { listBody, listOf, pageOf } from '../../operation/page.ts'
import { domainIn } from './domain-operations.ts'
import {
  dmarcSummaryAnswer,
  dmarcRow,
  domainReport,
  domainReportRow,
  tlsRow,
  tlsSummaryAnswer,
  periodParameters,
  reportParameters,
  rowParameters,
} from './domain-report-resource.ts'
import { dmarcSummaryObject, tlsSummaryObject } from './domain-report-summary-answers.ts'

export interface DomainReportServices extends Pick<BaseServices, 'db' | 'clock'> {
  sendingDomains: SendingDomains
  /** The addresses that this server's mail leaves from; none if they are not known. */
  ownAddresses(): Promise<string[]>
}

const path = '/api/domains/{idOrName}'
const tag = 'Domains'
const standardPeriodMs = 30 * 86_400_000

/** What receivers report about a domain. */
export const domainReportOperations = (services: DomainReportServices): Operation[] => [
  listOperation({
    id: 'domains.list_reports',
    path: `${path}/reports`,
    tag,
    summary: 'List the reports about a domain',
    description:
      'DMARC aggregate reports and TLS reports that receivers sent to this server. Anybody can send one, so they are for ' +
      'information only. None are shown for a domain that is not verified.',
    permission: 'read_access',
    query: reportParameters,
    of: domainReport,
    answer: 'A page of reports, the newest first.',
    rows: (call, page) => listDomainReports(services.db, domainIn(call, services), call.query, page),
  }),
  operation({
    id: 'domains.get_report',
    method: 'GET',
    path: `${path}/reports/{id}`,
    tag,
    summary: 'Read one report about a domain',
    permission: 'read_access',
    answers: [{ status: 200, description: 'The report, without its rows.', schema: domainReport.schema }],
    handle: async (call) => domainReport.answer(await reportIn(call, services)),
  }),
  operation({
    id: 'domains.list_report_rows',
    method: 'GET',
    path: `${path}/reports/{id}/rows`,
    tag,
    summary: 'List the rows of a report about a domain',
    description: 'For a DMARC report, what happened to the messages from each address; for a TLS report, the results of sessions.',
    permission: 'read_access',
    query: rowParameters,
    answers: [{ status: 200, description: 'A page of rows.', schema: listOf(domainReportRow) }],
    handle: async (call) => {
      const page = pageOf(call.query)
      const { id, kind } = await reportIn(call, services)
      if (kind === 'dmarc') return listBody(await readDmarcRows(services.db, id, page), page, dmarcRow.answer)
      return listBody(await readTlsRows(services.db, id, page), page, tlsRow.answer)
    },
  }),
  operation({
    id: 'domains.get_dmarc',
    method: 'GET',
    path: `${path}/dmarc`,
    tag,
    summary: 'Read what receivers report about the mail of a domain',
    description: 'Totals of the DMARC reports of a period, and whether the domain is ready for a stricter policy.',
    permission: 'read_access',
    query: periodParameters,
    answers: [{ status: 200, description: 'The summary.', schema: dmarcSummaryAnswer }],
    handle: async (call) => {
      const domain = domainIn(call, services)
      const period = periodOf(call.query, services.clock.now())
      const [summary, ownAddresses] = await Promise.all([readDmarcSummary(services.db, domain, period), services.ownAddresses()])
      return dmarcSummaryObject(domain, period, summary, { ownAddresses, firstRecord: services.sendingDomains.firstDmarcRecord(domain) })
    },
  }),
  operation({
    id: 'domains.get_tls',
    method: 'GET',
    path: `${path}/tls`,
    tag,
    summary: 'Read what senders report about TLS with the hosts of a domain',
    description: 'Totals of the TLS reports (RFC 8460) of a period, about mail to the domain and to its return path.',
    permission: 'read_access',
    query: periodParameters,
    answers: [{ status: 200, description: 'The summary.', schema: tlsSummaryAnswer }],
    handle: async (call) => {
      const domain = domainIn(call, services)
      const period = periodOf(call.query, services.clock.now())
      return tlsSummaryObject(
        domain,
        period,
        await readTlsSummary(services.db, domain, period),
        services.sendingDomains.tlsReportRecord(domain),
      )
    },
  }),
]

/** @throws SternaError `not_found` if the domain's account has no such report */
async function reportIn(call: CallTo<'idOrName' | 'id'>, services: DomainReportServices): Promise<DomainReportRow> {
  const report = await findDomainReport(services.db, domainIn(call, services), call.params.id)
  if (!report) throw new SternaError('not_found', 'There is no such report.')
  return report
}

/** @throws SternaError `invalid_parameter` */
function periodOf({ since, until }: { since: number | null; until: number | null }, now: number): ReportPeriod {
  const end = until ?? now
  const period = { since: since ?? end - standardPeriodMs, until: end }
  if (period.since < period.until) return period
  throw new SternaError('invalid_parameter', 'The parameter since must be before until.')
}
