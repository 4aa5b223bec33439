import {
  findDomainReport,
  listDomainReports,
  type DomainReportRow,
  type ReportPeriod,
} from '../../mail-back/domain-report/domain-report-list.ts'
import { readDmarcRows, readTlsRows } from '../../mail-back/domain-report/domain-report-rows.ts'
import { readDmarcSummary, readTlsSummary } from '../../mail-back/domain-report/domain-report-summary.ts'
import { SternaError } from '../../platform/errors.ts'
import type { CallTo } from '../operation/call.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { listBody, listOf, pageOf } from '../operation/page.ts'
import { domainIn } from './domain-operations.ts'
import {
  dmarcRow,
  domainReport,
  domainReportRow,
  tlsRow,
  periodParameters,
  reportParameters,
  rowParameters,
} from './domain-report-resource.ts'
import { dmarcSummaryAnswer, dmarcSummaryObject, tlsSummary } from './domain-report-summary-resource.ts'
import type { Needs } from './operation-services.ts'

type Services = Needs<'db' | 'clock' | 'sendingDomains' | 'ownAddresses'>

const standardPeriodMs = 30 * 86_400_000

const at = operationsAt({ path: '/api/domains', tag: 'Domains', permission: 'read_access' })

/** What receivers report about a domain. */
export const domainReportOperations = (services: Services): Operation[] => [
  at.list('domains.list_reports', '/{idOrName}/reports', 'List the reports about a domain', {
    description:
      'DMARC aggregate reports and TLS reports that receivers sent to this server. Anybody can send one, so they are for ' +
      'information only. None are shown for a domain that is not verified.',
    query: reportParameters,
    answer: ['A page of reports, the newest first.', domainReport],
    rows: (call, page) => listDomainReports(services.db, domainIn(call, services), call.query, page),
  }),
  at.get('domains.get_report', '/{idOrName}/reports/{id}', 'Read one report about a domain', {
    answer: ['The report, without its rows.', domainReport.schema],
    handle: async (call) => domainReport.answer(await reportIn(call, services)),
  }),
  at.get('domains.list_report_rows', '/{idOrName}/reports/{id}/rows', 'List the rows of a report about a domain', {
    description: 'For a DMARC report, what happened to the messages from each address; for a TLS report, the results of sessions.',
    query: rowParameters,
    answer: ['A page of rows.', listOf(domainReportRow)],
    handle: async (call) => {
      const page = pageOf(call.query)
      const { id, kind } = await reportIn(call, services)
      if (kind === 'dmarc') return listBody(await readDmarcRows(services.db, id, page), page, dmarcRow.answer)
      return listBody(await readTlsRows(services.db, id, page), page, tlsRow.answer)
    },
  }),
  at.get('domains.get_dmarc', '/{idOrName}/dmarc', 'Read what receivers report about the mail of a domain', {
    description: 'Totals of the DMARC reports of a period, and whether the domain is ready for a stricter policy.',
    query: periodParameters,
    answer: ['The summary.', dmarcSummaryAnswer],
    handle: async (call) => {
      const domain = domainIn(call, services)
      const period = periodOf(call.query, services.clock.now())
      const [summary, ownAddresses] = await Promise.all([readDmarcSummary(services.db, domain, period), services.ownAddresses()])
      const firstRecord = services.sendingDomains.firstDmarcRecord(domain)
      return dmarcSummaryObject({ domain, period, summary, firstRecord }, ownAddresses)
    },
  }),
  at.get('domains.get_tls', '/{idOrName}/tls', 'Read what senders report about TLS with the hosts of a domain', {
    description: 'Totals of the TLS reports (RFC 8460) of a period, about mail to the domain and to its return path.',
    query: periodParameters,
    answer: ['The summary.', tlsSummary.schema],
    handle: async (call) => {
      const domain = domainIn(call, services)
      const period = periodOf(call.query, services.clock.now())
      const summary = await readTlsSummary(services.db, domain, period)
      return tlsSummary.answer({ domain, period, summary, record: services.sendingDomains.tlsReportRecord(domain) })
    },
  }),
]

/** @throws SternaError `not_found` if the domain's account has no such report */
async function reportIn(call: CallTo<'idOrName' | 'id'>, services: Services): Promise<DomainReportRow> {
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
