import { newId } from '../../platform/id.ts'
import type { SendingDomains } from '../../senders/sending-domain/sending-domains.ts'
import type { Database, Statement } from '../../platform/store/database.ts'
import type { DomainReport } from './domain-report.ts'
import { insertDomainReport, standingOf, type ReportArrival } from './domain-report-store.ts'
import { ownersOf, signaturesOf } from './report-owners.ts'

/** What happens to a report. `full`: the domain has reached its daily limit. */
export type DomainReportFate = 'stored' | 'known' | 'full' | 'unknown_domain'

interface KeepServices {
  db: Pick<Database, 'read'>
  sendingDomains: Pick<SendingDomains, 'find'>
}

interface KeptReport {
  fate: DomainReportFate
  statements: Statement[]
}

/**
 * The statements for the reports of one message, in order, and each report's fate. A report is stored only once, and only for domains
 * verified here. If another message stores it first, the batch fails with a `ConflictError`.
 */
export async function keepDomainReports(
  reports: readonly DomainReport[],
  arrival: Omit<ReportArrival, 'id'>,
  { db, sendingDomains }: KeepServices,
): Promise<KeptReport[]> {
  const kept: KeptReport[] = []
  const ahead: DomainReport[] = []
  for (const report of reports) {
    const owners = ownersOf(report.domain, sendingDomains)
    const standing = owners.length === 0 ? 'unknown_domain' : await standingOf(db, report, { ahead, now: arrival.receivedAt })
    if (standing !== 'new') {
      kept.push({ fate: standing, statements: [] })
      continue
    }
    const id = newId('drp', arrival.receivedAt)
    kept.push({ fate: 'stored', statements: insertDomainReport(report, { ...arrival, id }, signaturesOf(owners)) })
    ahead.push(report)
  }
  return kept
}
