import type { Clock } from '../../clock.ts'
import { listDomainReports } from '../../domain-report/domain-report-list.ts'
import type { ReportPeriod } from '../../domain-report/domain-report-list.ts'
import { readDmarcSummary, readTlsSummary } from '../../domain-report/domain-report-summary.ts'
import { SternaError } from '../../errors.ts'
import type { Domain } from '../../sending-domain/domain.ts'
import type { SendingDomains } from '../../sending-domain/sending-domains.ts'
import type { Database } from '../../store/database.ts'
import type { ApiContext } from '../api-state.ts'
import { type Operation, operation } from '../operation.ts'
import { listBody, listOf, pageOf } from '../page.ts'
import { dmarcSummaryObject, reportObject, tlsSummaryObject } from './domain-report-answers.ts'
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
      summary: 'Read what receivers report about the mail of a domain',
      description: 'Sums of the DMARC reports of a period, and whether the domain is ready for a stricter policy.',
      permission: 'read_access',
      query: periodParameters,
      answers: [{ status: 200, description: 'The summary.', schema: dmarcSummaryAnswer }],
      refuses: ['not_found', 'invalid_parameter'],
    },
    async (ctx, { query }) => {
      const domain = domainIn(ctx, parts)
      const period = periodOf(query, parts.clock.now())
      const [summary, ownAddresses] = await Promise.all([readDmarcSummary(parts.db, domain, period), parts.ownAddresses()])
      return dmarcSummaryObject(domain, period, summary, { ownAddresses, firstRecord: parts.sendingDomains.firstDmarcRecord(domain) })
    },
  ),
  operation(
    {
      id: 'domains.tls',
      method: 'GET',
      path: `${path}/tls`,
      tag,
      summary: 'Read what senders report about TLS with the hosts of a domain',
      description: 'Sums of the TLS reports (RFC 8460) of a period, about mail to the domain and to its return path.',
      permission: 'read_access',
      query: periodParameters,
      answers: [{ status: 200, description: 'The summary.', schema: tlsSummaryAnswer }],
      refuses: ['not_found', 'invalid_parameter'],
    },
    async (ctx, { query }) => {
      const domain = domainIn(ctx, parts)
      const period = periodOf(query, parts.clock.now())
      return tlsSummaryObject(domain, period, await readTlsSummary(parts.db, domain, period), parts.sendingDomains.tlsReportRecord(domain))
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
