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
  if (left > 0)
    findings.push(
      sayOf('domain').skipped(
        `${left} more domains were not checked.`,
        'The server checks each of them every six hours: see sterna domain list.',
      ),
    )
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

function judgeRecords(domain: Domain, records: DnsRecord[], found: RecordFinding[]): Finding {
  const say = sayOf('domain')
  const { name, status } = domain
  const required = found.filter(({ kind }) => requiredKindsOf(domain).includes(kind))
  if (required.some(({ isPresent }) => isPresent === null)) {
    return say.skipped(
      `${name}: its records could not be looked up.`,
      "Run the check again; if this persists, check the domain's name servers.",
    )
  }
  const missing = required.filter(({ isPresent }) => !isPresent).flatMap(({ kind }) => records.find((record) => record.kind === kind) ?? [])
  if (missing.length > 0) {
    const words = missing.map(({ type, name: at }) => `${type} ${at}`).join(', ')
    const advice = `Publish the records that "sterna domain show ${name}" prints.`
    const what = `${name} (${status}): missing or wrong records: ${words}.`
    return status === 'verified' ? say.failed(what, advice) : say.warning(what, advice)
  }
  if (status !== 'verified')
    return say.warning(`${name}: its records are published, but it is ${status}.`, `Run: sterna domain verify ${name}`)
  return say.ok(`${name}: its DKIM and SPF records are published.`)
}

export function judgeDmarc({ name, subdomains }: Pick<Domain, 'name' | 'subdomains'>, policies: string[] | null): Finding {
  const say = sayOf('domain')
  const [policy, another] = policies ?? []
  if (policies === null) return say.skipped(`${name}: its DMARC policy could not be looked up.`, 'Run the check again.')
  if (policy === undefined) {
    return say.warning(`${name} has no DMARC policy, which large receivers require.`, `Publish TXT _dmarc.${name} with "v=DMARC1; p=none".`)
  }
  if (another !== undefined)
    return say.warning(`${name} has several DMARC policies, so receivers ignore them all.`, `Keep one record at _dmarc.${name}.`)
  const tags = tagsOf(policy)
  if (tags.get('aspf')?.toLowerCase() === 's') {
    return say.warning(
      `${name}: DMARC requires strict SPF alignment (aspf=s), but the return path is a name below the domain, so only DKIM can pass.`,
      'Remove aspf=s from the DMARC record.',
    )
  }
  if (tags.get('adkim')?.toLowerCase() === 's' && subdomains) {
    return say.warning(
      `${name}: DMARC requires strict DKIM alignment (adkim=s), so mail from names below the domain does not pass.`,
      'Remove adkim=s from the DMARC record, or add each of these names as a domain.',
    )
  }
  return say.ok(`${name}: DMARC policy ${tags.get('p') ?? 'none'}; DKIM and SPF are aligned with it.`)
}

/** Used by domains without a return path of their own, and by notices. */
export function judgeReturnPath(
  { hostname, returnPathDomain }: { hostname: string; returnPathDomain: string },
  texts: string[] | null,
): Finding {
  const say = sayOf('return_path')
  if (texts === null) return say.skipped(`The SPF record of ${returnPathDomain} could not be looked up.`, 'Run the check again.')
  if (!returnPathDomain.includes('.'))
    return say.skipped('The return path has no name in the DNS.', 'Set hostname, or return_path.domain, to a full name.')
  const isNamed = allowsAll(texts, [`a:${hostname}`]) || (hostname === returnPathDomain && allowsAll(texts, ['a']))
  if (isNamed) return say.ok(`The SPF record of ${returnPathDomain} allows ${hostname}.`)
  return say.warning(
    `No SPF record of ${returnPathDomain} allows a:${hostname}.`,
    `Publish TXT ${returnPathDomain} with "v=spf1 a:${hostname} ~all".`,
  )
}
