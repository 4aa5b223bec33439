import type { Resolver } from '../resolver.ts'
import { tagsOf } from '../sending-domain/check-records.ts'
import { organizationalDomain } from '../sending-domain/sending-domain-name.ts'
import { type Finding, sayOf } from './finding.ts'

/** Receivers send to two at least, and need not send to more. */
const mostAddresses = 2

/**
 * Whether those that a DMARC record has reports sent to say that they take them: elsewhere than under the domain itself
 * they must, or nobody sends any (RFC 7489 7.1). Tells only of what is missing.
 * @param at the domain whose record it is
 */
export async function examineReportAddresses(at: string, record: string, resolver: Pick<Resolver, 'txt'>): Promise<Finding[]> {
  const elsewhere = [...new Set(reportDomainsIn(record))].filter((domain) => organizationalDomain(domain) !== organizationalDomain(at))
  const findings = await Promise.all(elsewhere.slice(0, mostAddresses).map((domain) => examineConsent(at, domain, resolver)))
  return findings.flat()
}

async function examineConsent(at: string, domain: string, resolver: Pick<Resolver, 'txt'>): Promise<Finding[]> {
  const name = `${at}._report._dmarc.${domain}`
  const { status, records } = await resolver.txt(name)
  if (status === 'servfail' || records.some((text) => tagsOf(text).get('v') === 'DMARC1')) return []
  return [
    sayOf('domain').warning(
      `${at}: its DMARC reports are to go to ${domain}, which does not say that it takes them, so receivers send none.`,
      `Publish TXT ${name} (or *._report._dmarc.${domain}) with "v=DMARC1", or have reports sent to an address under ${organizationalDomain(at)}, such as the domain's return path.`,
    ),
  ]
}

/** The domains of the addresses of rua=, which may each have a limit of size behind a `!`. */
const reportDomainsIn = (record: string): string[] =>
  (tagsOf(record).get('rua') ?? '')
    .split(',')
    .flatMap((uri) => /^mailto:[^@]+@([a-z0-9.-]+?)\.?(?:![0-9]+[kmgt]?)?$/i.exec(uri)?.[1]?.toLowerCase() ?? [])
