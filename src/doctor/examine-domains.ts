import type { Resolver } from '../resolver.ts'
import { allowsAll, checkRecords, tagsOf, type Finding as RecordFinding } from '../sending-domain/check-records.ts'
import { type Domain, requiredKindsOf } from '../sending-domain/domain.ts'
import type { DnsRecord } from '../sending-domain/domain-records.ts'
import { organizationalDomain } from '../sending-domain/sending-domain-name.ts'
import { examineReportAddresses } from './examine-report-addresses.ts'
import { type Finding, sayOf } from './finding.ts'

/** How many are checked, and how many at a time; the server itself checks all of them every six hours. */
const [mostDomains, domainsAtOnce] = [200, 10]

/** A domain with the records to publish for it. */
export interface ExaminedDomain {
  domain: Domain
  records: DnsRecord[]
}

/**
 * The DKIM and SPF records of each domain, its DMARC policy, and whether they are aligned with it. Starts no further domain once `isOver`.
 */
export async function examineDomains(domains: ExaminedDomain[], resolver: Resolver, isOver: () => boolean): Promise<Finding[]> {
  const findings: Finding[] = []
  const wanted = domains.slice(0, mostDomains)
  let done = 0
  for (; done < wanted.length && !isOver(); done += domainsAtOnce) {
    const some = wanted.slice(done, done + domainsAtOnce)
    findings.push(...(await Promise.all(some.map((each) => examineDomain(each, resolver)))).flat())
  }
  const left = domains.length - Math.min(done, wanted.length)
  if (left > 0) findings.push(sayOf('domain').skipped('domains_not_checked', { count: left }))
  return findings
}

async function examineDomain({ domain, records }: ExaminedDomain, resolver: Resolver): Promise<Finding[]> {
  const [found, dmarc] = await Promise.all([checkRecords(records, resolver), dmarcOf(domain.name, resolver)])
  const [record, another] = dmarc?.policies ?? []
  const reportsTo = dmarc && record !== undefined && another === undefined ? await examineReportAddresses(dmarc.at, record, resolver) : []
  return [judgeRecords(domain, records, found), judgeDmarc(domain, dmarc?.policies ?? null), ...reportsTo]
}

/** The DMARC records that receivers find (RFC 7489 6.6.3), and where; null if the DNS gave no answer. */
async function dmarcOf(name: string, resolver: Resolver): Promise<{ at: string; policies: string[] } | null> {
  for (const at of new Set([name, organizationalDomain(name)])) {
    const { status, records } = await resolver.txt(`_dmarc.${at}`)
    if (status === 'servfail') return null
    const policies = records.filter((text) => tagsOf(text).get('v') === 'DMARC1')
    if (policies.length > 0) return { at, policies }
  }
  return { at: name, policies: [] }
}

function judgeRecords(sendingDomain: Domain, records: DnsRecord[], found: RecordFinding[]): Finding {
  const say = sayOf('domain')
  const { name: domain, status } = sendingDomain
  const required = found.filter(({ kind }) => requiredKindsOf(sendingDomain).includes(kind))
  if (required.some(({ isPresent }) => isPresent === null)) {
    return say.skipped('domain_unknown', { domain })
  }
  const missing = required.filter(({ isPresent }) => !isPresent).flatMap(({ kind }) => records.find((record) => record.kind === kind) ?? [])
  if (missing.length > 0) {
    const words = missing.map(({ type, name }) => `${type} ${name}`).join(', ')
    return say[status === 'verified' ? 'failed' : 'warning']('domain_records_missing', { domain, records: words })
  }
  return status === 'verified' ? say.ok('domain_fine', { domain }) : say.warning('domain_not_verified', { domain })
}

export function judgeDmarc({ name: domain, subdomains }: Pick<Domain, 'name' | 'subdomains'>, policies: string[] | null): Finding {
  const say = sayOf('domain')
  const [policy, another] = policies ?? []
  if (policies === null) return say.skipped('dmarc_unknown', { domain })
  if (policy === undefined) return say.warning('dmarc_none', { domain })
  if (another !== undefined) return say.warning('dmarc_several', { domain })
  const tags = tagsOf(policy)
  if (tags.get('aspf')?.toLowerCase() === 's') return say.warning('dmarc_strict_spf', { domain })
  if (tags.get('adkim')?.toLowerCase() === 's' && subdomains) return say.warning('dmarc_strict_dkim', { domain })
  return say.ok('dmarc_fine', { domain, policy: tags.get('p') ?? 'none' })
}

/** Used by domains without a return path of their own, and by notices. */
export function judgeReturnPath(
  { hostname: host, returnPathDomain: domain }: { hostname: string; returnPathDomain: string },
  texts: string[] | null,
): Finding {
  const say = sayOf('return_path')
  if (texts === null) return say.skipped('return_path_spf_unknown', { domain })
  if (!domain.includes('.')) return say.skipped('return_path_unnamed')
  const isNamed = allowsAll(texts, [`a:${host}`]) || (host === domain && allowsAll(texts, ['a']))
  return isNamed ? say.ok('return_path_spf_fine', { domain, host }) : say.warning('return_path_spf_missing', { domain, host })
}
