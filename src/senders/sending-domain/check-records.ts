import type { DnsAnswer, MxRecord, Resolver } from '../../platform/resolver.ts'
import type { RecordKind, RecordReason } from './domain.ts'
import { isDmarcText, readDmarc } from './dmarc-record.ts'
import type { DnsRecord } from './domain-records.ts'
import { tagsOf, withoutZoneFileMarks } from './record-text.ts'

/** What the DNS says about a record to be published. */
export interface Finding {
  kind: RecordKind
  /** Null if the DNS gave no answer. */
  isPresent: boolean | null
  /** Why it is not present; null if it is. */
  reason: RecordReason | null
  /** What is there instead, for people; null if nothing is. */
  found: string | null
}

/** Looks up all records at the same time. Never throws. */
export const checkRecords = (records: DnsRecord[], resolver: Resolver): Promise<Finding[]> =>
  Promise.all(records.map((record) => checkRecord(record, resolver)))

export async function checkRecord(record: DnsRecord, resolver: Resolver): Promise<Finding> {
  if (record.type === 'MX') {
    return findingOf(record.kind, await resolver.mx(record.name), {
      matches: (hosts) => pointsTo(hosts, record.value),
      show: ({ preference, exchange }) => `${preference} ${exchange || '.'}`,
    })
  }
  if (record.type === 'CNAME') {
    return findingOf(record.kind, await resolver.cname(record.name), {
      matches: (hosts) => hosts.some((host) => host.toLowerCase() === record.value.toLowerCase()),
      show: (host) => host,
    })
  }
  const answer = await resolver.txt(record.name)
  const finding = findingOf(record.kind, answer, { matches: (texts) => matchesText(record, texts), show: (text) => text })
  return finding.reason === 'differs' ? { ...finding, reason: whyItDiffers(record, answer.records) } : finding
}

/** characters; a record with a key of 4096 bits has some 750 */
const maxFoundLength = 4000

function findingOf<T>(
  kind: RecordKind,
  answer: DnsAnswer<T>,
  { matches, show }: { matches: (records: T[]) => boolean; show: (record: T) => string },
): Finding {
  if (answer.status === 'servfail') return { kind, isPresent: null, reason: 'unreachable', found: null }
  // The text comes from outside and is shown on terminals.
  const found = answer.records
    .map((each) => show(each).replace(/\p{C}/gu, '\ufffd'))
    .join('\n')
    .slice(0, maxFoundLength)
  const isPresent = answer.status === 'ok' && matches(answer.records)
  return { kind, isPresent, reason: isPresent ? null : found === '' ? 'missing' : 'differs', found: found || null }
}

function matchesText({ record, name, value }: DnsRecord, texts: string[]): boolean {
  switch (record) {
    case 'DKIM': {
      const [key, another] = texts.filter(isKeyRecord)
      return key !== undefined && another === undefined && isSameKey(key, value)
    }
    case 'SPF':
      return allowsHost(texts, name, hostIn(value))
    case 'DMARC':
      return !('fault' in readDmarc(texts))
    default:
      return texts.includes(value)
  }
}

/** Of a name at which there are records, but not the one that is wanted. */
function whyItDiffers(record: DnsRecord, texts: string[]): 'several' | 'quoted' | 'differs' {
  const counted = { DKIM: isKeyRecord, SPF: isSpf, DMARC: isDmarcText, Tracking: () => false }[record.record]
  if (texts.filter(counted).length > 1) return 'several'
  return matchesText(record, texts.map(withoutZoneFileMarks)) ? 'quoted' : 'differs'
}

/** The host that the SPF records we want allow. */
const hostIn = (spf: string): string => mechanismsOf(spf)[0]?.replace(/^a:/, '') ?? ''

/** True if bounces reach `host`, as one of the hosts that are tried first. */
export function pointsTo(hosts: MxRecord[], host: string): boolean {
  const first = Math.min(...hosts.map(({ preference }) => preference))
  return hosts.some(({ preference, exchange }) => preference === first && exchange.toLowerCase() === host.toLowerCase())
}

/** True if a DKIM key record (RFC 6376 3.6.1) publishes the same key for mail, in any order and spacing. */
export function isSameKey(published: string, wanted: string): boolean {
  const [there, ours] = [tagsOf(published), tagsOf(wanted)]
  const isForMail = listOf(there.get('s') ?? '*').some((service) => service === '*' || service === 'email')
  const takesSha256 = !there.has('h') || listOf(there.get('h') ?? '').includes('sha256')
  return (
    (there.get('v') ?? 'DKIM1') === 'DKIM1' &&
    (there.get('k') ?? 'rsa').toLowerCase() === (ours.get('k') ?? 'rsa') &&
    there.get('p') === ours.get('p') &&
    isForMail &&
    takesSha256
  )
}

/** Several are an error, as several SPF records are (RFC 6376 3.6.2.2). */
function isKeyRecord(text: string): boolean {
  const tags = tagsOf(text)
  return tags.has('p') && (tags.get('v') ?? 'DKIM1') === 'DKIM1'
}

/** True if there is exactly one SPF record at a name (RFC 7208 4.5: several are an error) and it lets mail from the host pass. */
export function allowsHost(texts: string[], name: string, host: string): boolean {
  const [record, another] = texts.filter(isSpf)
  if (record === undefined || another !== undefined) return false
  const there = mechanismsOf(record)
  // Nothing after `all` counts (RFC 7208 5.1).
  const all = there.findIndex((mechanism) => /^[-~?]?all$/.test(mechanism))
  const reached = all === -1 ? there : there.slice(0, all)
  return reached.includes(`a:${host}`) || (name === host && reached.includes('a'))
}

export const isSpf = (text: string): boolean => /^v=spf1( |$)/i.test(text.trim())

/** Lower case, without `v=spf1` and the default qualifier `+`. */
const mechanismsOf = (spf: string): string[] =>
  spf
    .trim()
    .toLowerCase()
    .split(/\s+/)
    .slice(1)
    .map((mechanism) => mechanism.replace(/^\+/, ''))

const listOf = (value: string): string[] => value.toLowerCase().split(':')
