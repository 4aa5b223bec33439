import type { DnsAnswer, MxRecord, Resolver } from '../resolver.ts'
import type { RecordKind, RecordReason } from './domain.ts'
import type { DnsRecord } from './domain-records.ts'

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
  return record.record === 'SPF' && finding.reason === 'differs' && spfOf(answer.records).length > 1
    ? { ...finding, reason: 'several' }
    : finding
}

const longestFound = 1000

function findingOf<T>(
  kind: RecordKind,
  answer: DnsAnswer<T>,
  { matches, show }: { matches: (records: T[]) => boolean; show: (record: T) => string },
): Finding {
  if (answer.status === 'servfail') return { kind, isPresent: null, reason: 'unreachable', found: null }
  // The text comes from outside and is shown on terminals.
  const found = answer.records
    .map(show)
    .join('\n')
    .slice(0, longestFound)
    .replace(/[^\P{C}\n]/gu, '\ufffd')
  const isPresent = answer.status === 'ok' && matches(answer.records)
  return { kind, isPresent, reason: isPresent ? null : found === '' ? 'missing' : 'differs', found: found || null }
}

function matchesText({ record, value }: DnsRecord, texts: string[]): boolean {
  switch (record) {
    case 'DKIM':
      return texts.some((text) => isSameKey(text, value))
    case 'SPF':
      return allowsAll(texts, mechanismsOf(value).slice(0, 1))
    case 'DMARC':
      return texts.some(isDmarc)
    default:
      return texts.includes(value)
  }
}

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

/** True if there is exactly one SPF record (RFC 7208 4.5: several are an error) and all these mechanisms pass. */
export function allowsAll(texts: string[], mechanisms: string[]): boolean {
  const records = spfOf(texts)
  const [record] = records
  if (record === undefined || records.length > 1) return false
  const there = mechanismsOf(record)
  // Nothing after `all` counts (RFC 7208 5.1).
  const all = there.findIndex((mechanism) => /^[-~?]?all$/.test(mechanism))
  const reached = all === -1 ? there : there.slice(0, all)
  return mechanisms.every((mechanism) => reached.includes(mechanism))
}

const spfOf = (texts: string[]): string[] => texts.filter((text) => /^v=spf1( |$)/i.test(text.trim()))

/** Lower case, without `v=spf1` and the default qualifier `+`. */
const mechanismsOf = (spf: string): string[] =>
  spf
    .trim()
    .toLowerCase()
    .split(/\s+/)
    .slice(1)
    .map((mechanism) => mechanism.replace(/^\+/, ''))

const isDmarc = (text: string): boolean => tagsOf(text).get('v') === 'DMARC1'

/** The tags of `a=b; c=d`, as DKIM and DMARC records are written, without white space in the values. */
export function tagsOf(text: string): Map<string, string> {
  const tags = new Map<string, string>()
  for (const tag of text.split(';')) {
    const equals = tag.indexOf('=')
    if (equals !== -1) tags.set(tag.slice(0, equals).trim(), tag.slice(equals + 1).replace(/\s+/g, ''))
  }
  return tags
}

const listOf = (value: string): string[] => value.toLowerCase().split(':')
