import { newId } from '../../platform/id.ts'
import type { Domain } from '../../senders/sending-domain/domain.ts'
import { returnPathOf } from '../../senders/sending-domain/domain-records.ts'
import type { SendingDomains } from '../../senders/sending-domain/sending-domains.ts'
import type { Database, Statement } from '../../platform/store/database.ts'
import type { DomainReport } from './domain-report.ts'
import { insertDomainReport, standingOf, type ReportArrival } from './domain-report-store.ts'

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
    const [accountId = ''] = owners.map((domain) => domain.accountId).toSorted()
    const ours = { signatures: signaturesOf(owners), accountId }
    kept.push({ fate: 'stored', statements: insertDomainReport(report, { ...arrival, id }, ours) })
    ahead.push(report)
  }
  return kept
}

/**
 * The verified domains, in any account, that a report on `name` concerns: those with that name, and those whose return path has that name.
 * Unverified domains get no reports.
 */
function ownersOf(name: string, sendingDomains: Pick<SendingDomains, 'find'>): Domain[] {
  const parent = name.slice(name.indexOf('.') + 1)
  const found = [...sendingDomains.find(name), ...sendingDomains.find(parent).filter((domain) => returnPathOf(domain) === name)]
  return found.filter(({ status, removedAt }) => status === 'verified' && removedAt === null)
}

/** `domain selector` of each key, including retired ones. */
const signaturesOf = (domains: Domain[]): ReadonlySet<string> =>
  new Set(domains.flatMap(({ name, keys }) => keys.map(({ selector }) => `${name} ${selector}`)))
