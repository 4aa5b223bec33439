import { adviseDmarc, type DmarcAdvice } from '../../mail-back/domain-report/dmarc-advice.ts'
import type { ReportPeriod } from '../../mail-back/domain-report/domain-report-list.ts'
import type { DmarcSummary, ReportTotals, TlsSummary } from '../../mail-back/domain-report/domain-report-summary.ts'
import { observeDomain, originOf, type PublishedPolicy } from '../../mail-back/domain-report/observe-domain.ts'
import { isoTime } from '../../platform/iso-time.ts'
import { withPolicy, type DmarcFault } from '../../senders/sending-domain/dmarc-record.ts'
import type { Domain } from '../../senders/sending-domain/domain.ts'
import { dmarcSource, domainReporter, tlsResult, type TextRecord } from './domain-report-resource.ts'

/**
 * @param ownAddresses the addresses that this server's mail leaves from
 * @param firstRecord the DMARC record for a domain that has none yet
 */
export function dmarcSummaryObject(
  domain: Domain,
  period: ReportPeriod,
  summary: DmarcSummary,
  { ownAddresses, firstRecord }: { ownAddresses: string[]; firstRecord: string },
) {
  const observation = observeDomain(domain, summary, ownAddresses)
  const { published } = observation
  const { policy, text: record } = 'fault' in published ? { policy: null, text: null } : published
  const { total, failed } = summary.totals
  const own = new Set(ownAddresses)
  const recordOf = (value: string): TextRecord => ({ name: `_dmarc.${domain.name}`, type: 'TXT', value })
  const advice = adviseDmarc(observation)
  const text = textFor(advice, published, firstRecord)
  return {
    object: 'dmarc_summary' as const,
    ...frameOf(domain, period, summary.totals),
    policy,
    record,
    messages: total,
    passed: total - failed,
    pass_rate: rateOf(total - failed, total),
    reporters: summary.reporters.map(domainReporter.answer),
    sources: summary.lines.map((line) => dmarcSource.answer({ ...line, origin: originOf(line, own) })),
    advice: {
      step: advice.step,
      policy: advice.policy,
      record: text === null ? null : recordOf(text),
      reasons: advice.reasons.map(({ what }) => what),
      reason_codes: advice.reasons.map(({ code, parameters }) => ({ code, parameters })),
      fix: advice.fix.map(({ sourceIp }) => sourceIp),
    },
  }
}

/** The record to publish; null if nothing should change, if one of several should stay, or if it must change at a parent domain. */
function textFor({ policy }: DmarcAdvice, published: PublishedPolicy | DmarcFault, firstRecord: string): string | null {
  if ('fault' in published) return published.fault === 'missing' ? firstRecord : 'text' in published ? published.text : null
  if (policy === null) return null
  return published.text === null ? null : withPolicy(published.text, policy)
}

/** @param record the record that has such reports sent to this server */
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
    reporters: reporters.map(domainReporter.answer),
    results: lines.map(tlsResult.answer),
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

/** Rounded to four decimal places; 0 if there are none. */
const rateOf = (part: number, whole: number): number => (whole === 0 ? 0 : Math.round((part / whole) * 10_000) / 10_000)
