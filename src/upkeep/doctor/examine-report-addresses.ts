import type { Resolver } from '../../platform/resolver.ts'
import { isDmarcText } from '../../senders/sending-domain/dmarc-record.ts'
import { tagsOf } from '../../senders/sending-domain/record-text.ts'
import { findOrganizationalDomain } from '../../senders/sending-domain/find-dmarc.ts'
import { type Finding, sayOf } from './finding.ts'

/** Receivers must send to at least two, and need not send to more. */
const maxAddresses = 2

/**
 * Whether the report destinations in a DMARC record consent: destinations of another organizational domain must, or receivers send nothing
 * (RFC 9990 4). Reports only what is missing.
 * @param at the domain whose record it is
 */
export async function examineReportAddresses(at: string, record: string, resolver: Pick<Resolver, 'txt'>): Promise<Finding[]> {
  const own = await findOrganizationalDomain(at, resolver)
  if (own === null) return []
  const named = [...new Set(reportDomainsIn(record))].filter((domain) => domain !== at)
  const findings = await Promise.all(named.slice(0, maxAddresses).map((domain) => examineConsent({ at, own, domain }, resolver)))
  return findings.flat()
}

/** @param own the organizational domain */
async function examineConsent(
  { at, own, domain }: { at: string; own: string; domain: string },
  resolver: Pick<Resolver, 'txt'>,
): Promise<Finding[]> {
  const owner = await findOrganizationalDomain(domain, resolver)
  if (owner === null || owner === own) return []
  const name = `${at}._report._dmarc.${domain}`
  const { status, records } = await resolver.txt(name)
  if (status === 'servfail' || records.some(isDmarcText)) return []
  return [
    sayOf('domain').warning('dmarc_reports_refused', {
      domain: at,
      receiver: domain,
      consent: name,
      own_domain: own,
    }),
  ]
}

/** The domains of the rua= addresses, each of which may have a size limit after a `!`. */
const reportDomainsIn = (record: string): string[] =>
  (tagsOf(record).get('rua') ?? '')
    .split(',')
    .flatMap((uri) => /^mailto:[^@]+@([a-z0-9.-]+?)\.?(?:![0-9]+[kmgt]?)?$/i.exec(uri)?.[1]?.toLowerCase() ?? [])
