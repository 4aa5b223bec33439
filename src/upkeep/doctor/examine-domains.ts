import type { Resolver } from '../../platform/resolver.ts'
import { allowsHost, checkRecords, isSpf, type Finding as RecordFinding } from '../../senders/sending-domain/check-records.ts'
import type { DmarcRecord } from '../../senders/sending-domain/dmarc-record.ts'
import { type Domain, requiredKindsOf } from '../../senders/sending-domain/domain.ts'
import { returnPathOf, type DnsRecord } from '../../senders/sending-domain/domain-records.ts'
import { appliedPolicy, findDmarc, findOrganizationalDomain, type FoundDmarc } from '../../senders/sending-domain/find-dmarc.ts'
import { tagsOf, withoutZoneFileMarks } from '../../senders/sending-domain/record-text.ts'
import { examineReportAddresses } from './examine-report-addresses.ts'
import { type Finding, sayOf } from './finding.ts'

/** How many are checked, and how many at a time; the server itself checks all of them every six hours. */
const [maxDomains, domainsAtOnce] = [200, 10]

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
  const wanted = domains.slice(0, maxDomains)
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
  const { name } = domain
  const [found, dmarc, own] = await Promise.all([checkRecords(records, resolver), findDmarc(name, resolver), resolver.txt(name)])
  const ofRecord = [judgeRecords(domain, records, found), judgeDmarc(domain, dmarc, own.status !== 'nxdomain')]
  if (!dmarc || 'fault' in dmarc.reading) return ofRecord
  const [aligned, reportsTo] = await Promise.all([
    examineAlignment(domain, resolver),
    examineReportAddresses(dmarc.at, dmarc.reading.text, resolver),
  ])
  return [...ofRecord, ...judgeObsolete(domain, dmarc.at, dmarc.reading), ...aligned, ...reportsTo]
}

/** A pct= that receivers ignore may have been meant to hold back a policy. */
const judgeObsolete = ({ name: domain }: Pick<Domain, 'name'>, at: string, { pct }: DmarcRecord): Finding[] =>
  pct === null ? [] : [sayOf('domain').warning('dmarc_pct', { domain, at, pct: printed(pct) })]

/** Whether receivers take the return path for a name of the same organization. Reports only that they do not. */
async function examineAlignment(domain: Domain, resolver: Resolver): Promise<Finding[]> {
  const returnPath = returnPathOf(domain)
  if (returnPath === domain.name) return []
  const [own, ofReturnPath] = await Promise.all([domain.name, returnPath].map((name) => findOrganizationalDomain(name, resolver)))
  if (!own || !ofReturnPath || own === ofReturnPath) return []
  return [sayOf('domain').warning('dmarc_not_aligned', { domain: domain.name, return_path: returnPath, own, other: ofReturnPath })]
}

function judgeRecords(sendingDomain: Domain, records: DnsRecord[], found: RecordFinding[]): Finding {
  const say = sayOf('domain')
  const { name: domain, status } = sendingDomain
  const required = found.filter(({ kind }) => requiredKindsOf(sendingDomain).includes(kind))
  if (required.some(({ isPresent }) => isPresent === null)) {
    return say.skipped('domain_unknown', { domain })
  }
  const missing = required.filter(({ isPresent }) => !isPresent)
  if (missing.length > 0) {
    // What is there and spoils the rest comes first: the wanted record beside it would not help.
    const reason = (['quoted', 'several'] as const).find((each) => missing.some((finding) => finding.reason === each))
    const told = missing.filter((finding) => reason === undefined || finding.reason === reason)
    const words = told.flatMap(({ kind }) => records.filter((record) => record.kind === kind)).map(({ type, name }) => `${type} ${name}`)
    const said = { domain, records: words.join(', ') }
    return say[status === 'verified' ? 'failed' : 'warning'](`domain_records_${reason ?? 'missing'}`, said)
  }
  return status === 'verified' ? say.ok('domain_fine', { domain }) : say.warning('domain_not_verified', { domain })
}

/**
 * @param found what receivers find; null if the DNS gave no answer
 * @param exists whether the DNS has the domain's name
 */
export function judgeDmarc(
  { name: domain, subdomains }: Pick<Domain, 'name' | 'subdomains'>,
  found: FoundDmarc | null,
  exists = true,
): Finding {
  const say = sayOf('domain')
  if (found === null) return say.skipped('dmarc_unknown', { domain })
  const { at, reading } = found
  if ('fault' in reading) {
    if (!('text' in reading)) return say.warning(reading.fault === 'missing' ? 'dmarc_none' : 'dmarc_several', { domain })
    return say.warning(`dmarc_${reading.fault}`, { domain, value: printed(reading.text) })
  }
  const tags = tagsOf(reading.text)
  if (tags.get('aspf')?.toLowerCase() === 's') return say.warning('dmarc_strict_spf', { domain })
  if (tags.get('adkim')?.toLowerCase() === 's' && subdomains) return say.warning('dmarc_strict_dkim', { domain })
  const policy = appliedPolicy(domain, at, reading, exists)
  return reading.isOnTrial ? say.ok('dmarc_trial', { domain, at, policy }) : say.ok('dmarc_fine', { domain, policy })
}

/** A text from the DNS, for terminals. */
const printed = (text: string): string => text.slice(0, 500).replace(/\p{C}/gu, '\ufffd')

/** Used by domains without a return path of their own, and by notices. */
export function judgeReturnPath(
  { hostname: host, returnPathDomain: domain }: { hostname: string; returnPathDomain: string },
  texts: string[] | null,
): Finding {
  const say = sayOf('return_path')
  if (texts === null) return say.skipped('return_path_spf_unknown', { domain })
  if (!domain.includes('.')) return say.skipped('return_path_unnamed')
  if (allowsHost(texts, domain, host)) return say.ok('return_path_spf_fine', { domain, host })
  if (texts.filter(isSpf).length > 1) return say.warning('return_path_spf_several', { domain, host })
  if (allowsHost(texts.map(withoutZoneFileMarks), domain, host)) return say.warning('return_path_spf_quoted', { domain })
  return say.warning('return_path_spf_missing', { domain, host })
}
