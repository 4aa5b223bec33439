import { newId } from '../id.ts'
import type { SendingDomains } from '../sending-domain/sending-domains.ts'
import type { Database, Statement } from '../store/database.ts'
import type { DomainReport } from './domain-report.ts'
import { insertDomainReport, standingOf } from './domain-report-store.ts'
import type { ReportArrival } from './domain-report-store.ts'
import { ownersOf, signaturesOf } from './report-owners.ts'

/** What becomes of a report. `full`: more was reported about the domain today than is kept. */
export type DomainReportFate = 'stored' | 'known' | 'full' | 'unknown_domain'

interface KeepParts {
  db: Pick<Database, 'read'>
  sendingDomains: Pick<SendingDomains, 'find'>
}

/**
 * What is to be written of a report that has come in, and what that comes to. Reports are kept once, however often they
 * come, and only about domains that somebody has verified here.
 */
export async function keepDomainReport(
  report: DomainReport,
  arrival: Omit<ReportArrival, 'id'>,
  { db, sendingDomains }: KeepParts,
): Promise<{ fate: DomainReportFate; statements: Statement[] }> {
  const owners = ownersOf(report.domain, sendingDomains)
  if (owners.length === 0) return { fate: 'unknown_domain', statements: [] }
  const standing = await standingOf(db, report, arrival.receivedAt)
  if (standing !== 'new') return { fate: standing, statements: [] }
  const id = newId('drp', arrival.receivedAt)
  return { fate: 'stored', statements: insertDomainReport(report, { ...arrival, id }, signaturesOf(owners)) }
}
