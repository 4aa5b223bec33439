import { newId } from '../id.ts'
import type { SendingDomains } from '../sending-domain/sending-domains.ts'
import type { Database, Statement } from '../store/database.ts'
import type { DomainReport } from './domain-report.ts'
import { insertDomainReport, standingOf, type ReportArrival } from './domain-report-store.ts'
import { ownersOf, signaturesOf } from './report-owners.ts'

/** What happens to a report. `full`: more was reported on the domain today than we keep. */
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
 * The statements, in order, for the reports of one mail, and their result. Reports are stored once, however often they come, and only on
 * domains that somebody has verified here. If another mail came first meanwhile, the batch is refused with a `ConflictError`.
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
