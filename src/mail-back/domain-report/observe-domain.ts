import { readDmarc, type DmarcFault, type DmarcPolicy } from '../../senders/sending-domain/dmarc-record.ts'
import type { Domain } from '../../senders/sending-domain/domain.ts'
import type { DmarcObservation, SourceOrigin } from './dmarc-advice.ts'
import type { DmarcSummary, SourceLine } from './domain-report-summary.ts'

const dayMs = 86_400_000

/** A domain's policy and its record; the record is null if only reports mention a policy. */
export interface PublishedPolicy {
  policy: DmarcPolicy
  isOnTrial: boolean
  text: string | null
}

/**
 * Combines what we know about a domain's DMARC: the record found by the last check (else the policy that receivers found, which may be the
 * parent domain's), and what was reported about each source.
 * @param ownAddresses the addresses this server sends from; empty if unknown, as behind a smarthost
 */
export function observeDomain(
  domain: Domain,
  summary: DmarcSummary,
  ownAddresses: string[],
): DmarcObservation & { published: PublishedPolicy | DmarcFault } {
  const { begin_at: beginAt, end_at: endAt } = summary.totals
  const own = new Set(ownAddresses)
  const reading = readDmarc(domain.records.dmarc?.found?.split('\n') ?? [])
  const isMissing = 'fault' in reading && reading.fault === 'missing'
  return {
    published: isMissing && summary.policy ? { policy: summary.policy, isOnTrial: false, text: null } : reading,
    // Ranges often exclude the report's last second.
    days: beginAt === null || endAt === null ? 0 : Math.round(((endAt - beginAt) / dayMs) * 1000) / 1000,
    sources: summary.lines.map((line) => ({
      sourceIp: line.source_ip,
      origin: originOf(line, own),
      messages: line.messages,
      failed: line.failed,
    })),
  }
}

/** Most of what a forwarder passes on for us carries our signature, broken or not. */
export function originOf({ source_ip: ip, messages, signed_here: signed }: SourceLine, ownAddresses: ReadonlySet<string>): SourceOrigin {
  if (ownAddresses.has(ip)) return 'ours'
  if (signed === 0 || signed * 2 < messages) return 'other'
  return ownAddresses.size === 0 ? 'ours' : 'forwarder'
}
