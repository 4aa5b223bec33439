import { countsOf } from '../domain-report/domain-report-store.ts'
import type { DomainReport } from '../domain-report/domain-report.ts'
import type { DomainReportReader } from '../domain-report/domain-report-reader.ts'
import { keepDomainReports, type DomainReportFate } from '../domain-report/keep-domain-reports.ts'
import { isoTime } from '../../platform/iso-time.ts'
import type { SendingDomains } from '../../senders/sending-domain/sending-domains.ts'
import type { Database } from '../../platform/store/database.ts'
import { withoutEffect, type ReturnedMailHandler, type ReturnedMailResult } from './returned-mail-handler.ts'

interface DomainReportHandlerServices {
  db: Pick<Database, 'read'>
  reader: Pick<DomainReportReader, 'read'>
  sendingDomains: Pick<SendingDomains, 'find'>
}

/** The result of a message with several reports: the first of these that applies to any of them. */
const results: [DomainReportFate, ReturnedMailResult][] = [
  ['stored', 'stored'],
  ['known', 'duplicate'],
  ['full', 'limit_reached'],
  ['unknown_domain', 'unknown_domain'],
]

/**
 * Handles mail to a domain's addresses for DMARC and TLS reports. Either address takes both kinds: the content decides. A report changes
 * only what the API shows about the domain.
 */
export const domainReportHandler =
  ({ db, reader, sendingDomains }: DomainReportHandlerServices): ReturnedMailHandler =>
  async ({ receivedAt, reversePath, remoteAddress }, content) => {
    const { reports, faults } = await reader.read(content)
    const arrival = { receivedAt, reversePath, remoteAddress }
    const kept = await keepDomainReports(reports, arrival, { db, sendingDomains })
    const [, result = 'not_understood' as const] = results.find(([fate]) => kept.some((each) => each.fate === fate)) ?? []
    const strangers = reports.filter((_, place) => kept[place]?.fate === 'unknown_domain')
    const fault = [...faults, ...strangers.map(({ domain }) => `${domain} is not a verified domain of this server.`)].join(' ')
    const summary = { reports: reports.map((report, place) => summaryOf(report, kept[place]?.fate)), fault: fault.slice(0, 1000) || null }
    return { ...withoutEffect(result, summary), statements: kept.flatMap(({ statements }) => statements) }
  }

const summaryOf = (report: DomainReport, fate: DomainReportFate | undefined) => ({
  kind: report.kind,
  domain: report.domain,
  reporter: report.reporter,
  report_id: report.reportId,
  start_date: isoTime(report.beginAt),
  end_date: isoTime(report.endAt),
  ...countsOf(report),
  fate,
})
