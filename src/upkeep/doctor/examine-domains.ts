import type { Resolver } from '../../platform/resolver.ts'
import { allowsHost, checkRecords, isSpf, type Finding as RecordFinding } from '../../senders/sending-domain/check-records.ts'
import type { DmarcFault, DmarcRecord } from '../../senders/sending-domain/dmarc-record.ts'
import { type Domain, requiredKindsOf } from '../../senders/sending-domain/domain.ts'
import type { DnsRecord } from '../../senders/sending-domain/domain-records.ts'
import { findDmarc } from '../../senders/sending-domain/find-dmarc.ts'
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
  const [found, dmarc] = await Promise.all([checkRecords(records, resolver), findDmarc(domain.name, resolver)])
  const reportsTo = dmarc && !('fault' in dmarc.reading) ? await examineReportAddresses(dmarc.at, dmarc.reading.text, resolver) : []
  return [judgeRecords(domain, records, found), judgeDmarc(domain, dmarc?.reading ?? null), ...reportsTo]
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

/** @param reading what receivers find; null if the DNS gave no answer */
export function judgeDmarc(
  { name: domain, subdomains }: Pick<Domain, 'name' | 'subdomains'>,
  reading: DmarcRecord | DmarcFault | null,
): Finding {
  const say = sayOf('domain')
  if (reading === null) return say.skipped('dmarc_unknown', { domain })
  if ('fault' in reading) {
    if (!('text' in reading)) return say.warning(reading.fault === 'missing' ? 'dmarc_none' : 'dmarc_several', { domain })
    return say.warning(`dmarc_${reading.fault}`, { domain, value: printed(reading.text) })
  }
  const tags = tagsOf(reading.text)
  if (tags.get('aspf')?.toLowerCase() === 's') return say.warning('dmarc_strict_spf', { domain })
  if (tags.get('adkim')?.toLowerCase() === 's' && subdomains) return say.warning('dmarc_strict_dkim', { domain })
  return say.ok('dmarc_fine', { domain, policy: reading.policy })
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
