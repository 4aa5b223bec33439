import type { Domain } from '../sending-domain/domain.ts'
import type { DmarcObservation, SourceOrigin } from './dmarc-advice.ts'
import { dmarcRecordIn } from './dmarc-record.ts'
import type { DmarcPolicy } from './domain-report.ts'
import type { DmarcSummary, SourceLine } from './domain-report-summary.ts'

const dayMs = 86_400_000

/** The policy of a domain, and the record it is in; null: reports say so, but there is no record at the name of the domain. */
export interface PublishedPolicy {
  policy: DmarcPolicy
  isPartial: boolean
  text: string | null
}

/**
 * What is known of a domain's DMARC: the record that its last check found, else the policy that receivers found (it may
 * be that of the domain above), and what was reported of each source.
 * @param ownAddresses those that this server's mail leaves from; none where that is not known, as behind a smarthost
 */
export function observeDomain(
  domain: Domain,
  summary: DmarcSummary,
  ownAddresses: string[],
): DmarcObservation & { published: PublishedPolicy | null } {
  const { begin_at: beginAt, end_at: endAt } = summary.totals
  const own = new Set(ownAddresses)
  return {
    published:
      dmarcRecordIn(domain.records.dmarc?.found ?? null) ??
      (summary.policy ? { policy: summary.policy, isPartial: false, text: null } : null),
    // A report's last second is often left out of its range.
    days: beginAt === null || endAt === null ? 0 : Math.round(((endAt - beginAt) / dayMs) * 1000) / 1000,
    sources: summary.lines.map((line) => ({
      sourceIp: line.source_ip,
      origin: originOf(line, own),
      messages: line.messages,
      failed: line.failed,
    })),
  }
}

/** Most of what a forwarder passes on for us bears our signature, whether or not it survived. */
export function originOf({ source_ip: ip, messages, signed_here: signed }: SourceLine, ownAddresses: ReadonlySet<string>): SourceOrigin {
  if (ownAddresses.has(ip)) return 'ours'
  if (signed === 0 || signed * 2 < messages) return 'other'
  return ownAddresses.size === 0 ? 'ours' : 'forwarder'
}
