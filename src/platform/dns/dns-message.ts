import { randomInt } from 'node:crypto'
import { type Answer, AUTHENTIC_DATA, type DecodedPacket, decode, DNSSEC_OK, encode, type Packet, RECURSION_DESIRED } from 'dns-packet'
import type { MxRecord, TlsaRecord } from '../resolver.ts'

export const recordTypes = ['MX', 'A', 'AAAA', 'TXT', 'CNAME', 'NS', 'PTR', 'TLSA'] as const
export type RecordType = (typeof recordTypes)[number]

/** A message from a server, and its length in bytes. */
export interface DnsReply {
  packet: DecodedPacket
  size: number
}

/** Seconds; the longest time to cache an answer, and the absence of one. */
export const maxTtl = 86_400
export const maxNegativeTtl = 300
/** Passes every network unfragmented (DNS flag day 2020). */
const udpPayloadSize = 1232

export interface Query {
  id: number
  name: string
  type: RecordType
  bytes: Buffer
}

/** Encodes a query, with EDNS (RFC 6891), or without for the oldest servers. */
export function queryFor({ name, type }: { name: string; type: RecordType }, edns: boolean): Query {
  const id = randomInt(65_536)
  const flags = RECURSION_DESIRED | AUTHENTIC_DATA
  const packet: Packet = { type: 'query', id, flags, questions: [{ name, type, class: 'IN' }] }
  if (edns) {
    packet.additionals = [
      { type: 'OPT', name: '.', udpPayloadSize, extendedRcode: 0, ednsVersion: 0, flags: DNSSEC_OK, flag_do: true, options: [] },
    ]
  }
  return { id, name, type, bytes: encode(packet) }
}

const rcodes = { noerror: 0, formerr: 1, nxdomain: 3, notimp: 4, badvers: 16 }

/** Includes the upper bits from EDNS (RFC 6891 6.1.3). */
function rcodeOf(packet: DecodedPacket): number {
  const opt = (packet.additionals ?? []).find((record) => record.type === 'OPT')
  return ((packet.flags ?? 0) & 0xf) | ((opt?.type === 'OPT' ? opt.extendedRcode : 0) << 4)
}

export const isNxdomain = (packet: DecodedPacket): boolean => rcodeOf(packet) === rcodes.nxdomain

/** True if the reply settles the question: NOERROR or NXDOMAIN from a server entitled to say so. */
export function isDecisive(packet: DecodedPacket): boolean {
  const rcode = rcodeOf(packet)
  if (packet.flag_tc || (rcode !== rcodes.noerror && rcode !== rcodes.nxdomain)) return false
  // Neither authoritative nor recursive: its empty answer is a referral and says nothing about the name.
  return packet.flag_aa || packet.flag_ra || (packet.answers ?? []).length > 0
}

/** True if the server may answer the same question without EDNS. */
export const mayDislikeEdns = (packet: DecodedPacket): boolean => [rcodes.formerr, rcodes.notimp, rcodes.badvers].includes(rcodeOf(packet))

/** True if this replies to exactly that query. */
export function isReplyTo(query: Query, packet: DecodedPacket): boolean {
  if (!packet.flag_qr) return false
  const questions = packet.questions ?? []
  // A server that could not parse the question may omit it. We accept only failures from such a reply.
  if (questions.length === 0) return !isDecisive(packet)
  const [question] = questions
  if (questions.length !== 1 || question?.class !== 'IN') return false
  return question.type === query.type && wireName(question.name) === query.name
}

/** Null if it is not a DNS message. */
export function parseReply(message: Buffer): DnsReply | null {
  try {
    return { packet: decode(message), size: message.length }
  } catch {
    return null
  }
}

/** The records of a type and name in the answer section, and their lowest TTL, seconds. */
export function recordsAt(packet: DecodedPacket, name: string, type: RecordType): { records: unknown[]; ttl: number } {
  const records: unknown[] = []
  let ttl = maxTtl
  for (const answer of packet.answers ?? []) {
    if (answer.type !== type || answer.class !== 'IN' || wireName(answer.name) !== name) continue
    records.push(recordOf(answer))
    ttl = Math.min(ttl, answer.ttl ?? 0)
  }
  return { records, ttl }
}

function recordOf(answer: Answer): unknown {
  switch (answer.type) {
    case 'MX':
      return { preference: answer.data.preference ?? 0, exchange: wireName(answer.data.exchange) } satisfies MxRecord
    case 'TXT':
      return Buffer.concat([answer.data].flat().map((part) => Buffer.from(part))).toString()
    case 'CNAME':
    case 'NS':
    case 'PTR':
      return wireName(answer.data)
    case 'A':
    case 'AAAA':
      return answer.data
    case 'TLSA': {
      const { usage, selector, matchingType, certificate } = answer.data
      return { usage, selector, matchingType, data: certificate } satisfies TlsaRecord
    }
    default:
      throw new Error(`cannot read records of type ${answer.type}`)
  }
}

/** Seconds to cache an absence: the lower of the SOA record's TTL and its minimum (RFC 2308 5); 0 without an SOA record. */
export function negativeTtl(packet: DecodedPacket): number {
  const soa = (packet.authorities ?? []).find((record) => record.type === 'SOA')
  if (soa?.type !== 'SOA') return 0
  return Math.min(soa.ttl ?? 0, soa.data.minimum ?? 0, maxNegativeTtl)
}

/** A name from the wire, safe to show and compare. Bytes that host names cannot have become `?`. */
const wireName = (name: string): string => (name === '.' ? '' : name.toLowerCase().replace(/[^!-~]/g, '?'))

/** Lower case, without the trailing dot; null if it cannot be a DNS name. */
export function normalName(name: string): string | null {
  const normal = (name.endsWith('.') ? name.slice(0, -1) : name).toLowerCase()
  return normal.length <= 253 && /^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/.test(normal) ? normal : null
}
