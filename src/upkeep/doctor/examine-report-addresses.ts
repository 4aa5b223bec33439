import type { Resolver } from '../../platform/resolver.ts'
import { isDmarcText } from '../../senders/sending-domain/dmarc-record.ts'
import { tagsOf } from '../../senders/sending-domain/record-text.ts'
import { organizationalDomain } from '../../senders/sending-domain/sending-domain-name.ts'
import { type Finding, sayOf } from './finding.ts'

/** Receivers must send to at least two, and need not send to more. */
const maxAddresses = 2

/**
 * Whether the report destinations in a DMARC record consent: destinations outside the domain itself must, or receivers send nothing (RFC
 * 7489 7.1). Reports only what is missing.
 * @param at the domain whose record it is
 */
export async function examineReportAddresses(at: string, record: string, resolver: Pick<Resolver, 'txt'>): Promise<Finding[]> {
  const elsewhere = [...new Set(reportDomainsIn(record))].filter((domain) => organizationalDomain(domain) !== organizationalDomain(at))
  const findings = await Promise.all(elsewhere.slice(0, maxAddresses).map((domain) => examineConsent(at, domain, resolver)))
  return findings.flat()
}

async function examineConsent(at: string, domain: string, resolver: Pick<Resolver, 'txt'>): Promise<Finding[]> {
  const name = `${at}._report._dmarc.${domain}`
  const { status, records } = await resolver.txt(name)
  if (status === 'servfail' || records.some(isDmarcText)) return []
  return [
    sayOf('domain').warning('dmarc_reports_refused', {
      domain: at,
      receiver: domain,
      consent: name,
      own_domain: organizationalDomain(at),
    }),
  ]
}

/** The domains of the rua= addresses, each of which may have a size limit after a `!`. */
const reportDomainsIn = (record: string): string[] =>
  (tagsOf(record).get('rua') ?? '')
    .split(',')
    .flatMap((uri) => /^mailto:[^@]+@([a-z0-9.-]+?)\.?(?:![0-9]+[kmgt]?)?$/i.exec(uri)?.[1]?.toLowerCase() ?? [])
