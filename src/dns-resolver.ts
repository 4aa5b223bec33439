import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { getServers } from 'node:dns'
import { connect, isIP } from 'node:net'
import {
  type Answer,
  AUTHENTIC_DATA,
  type DecodedPacket,
  decode,
  DNSSEC_OK,
  encode,
  type Packet,
  RECURSION_DESIRED,
} from 'dns-packet'
import { SternaError } from './errors.ts'
import type { DnsAnswer, MxRecord, Resolver } from './resolver.ts'

export interface DnsResolver extends Resolver {
  /** Ends what is under way as `servfail`; later look-ups are `servfail` at once. */
  close(): void
}

export interface DnsResolverOptions {
  /** `ip`, `ip:port` or `[ipv6]:port`, asked in this order; empty: the servers of the operating system. */
  servers: string[]
  /** How long one server may take for one question. */
  timeoutMs?: number
  /** How many answers are kept. */
  cacheSize?: number
  /** Ages the cache, ms. */
  now?: () => number
}

type RecordType = 'MX' | 'A' | 'AAAA' | 'TXT' | 'CNAME' | 'NS'

interface Server {
  address: string
  port: number
}

interface Kept {
  answer: DnsAnswer<unknown>
  expiresAt: number
}

/** What a look-up may take in all; both rounds over all servers fit in. */
const lookupMs = 10_000
const longestTtl = 86_400
const longestNegativeTtl = 300
const servfailTtl = 5
const longestChain = 8
/** Larger answers are asked for again rather than kept, so that nobody fills our memory with them. */
const largestKept = 8192
/** Passes every network without fragments (DNS flag day 2020). */
const udpPayloadSize = 1232

/**
 * Asks recursive name servers over UDP, and over TCP where the answer is cut short. Unlike node:dns it tells the
 * TTL, the AD bit, and NXDOMAIN, NODATA and SERVFAIL apart. It never keeps the process alive.
 * @throws SternaError `configuration` where a server is not an address
 */
export function dnsResolver(options: DnsResolverOptions): DnsResolver {
  const servers = (options.servers.length > 0 ? options.servers : getServers()).map(parseServer)
  if (servers.length === 0) servers.push({ address: '127.0.0.1', port: 53 })
  const now = options.now ?? (() => performance.now())
  const tryMs = Math.min(options.timeoutMs ?? 2500, lookupMs / (2 * servers.length))
  const cacheSize = options.cacheSize ?? 10_000
  const wire = new Wire()
  const kept = new Map<string, Kept>()
  const underWay = new Map<string, Promise<DnsAnswer<unknown>>>()

  const keep = (key: string, answer: DnsAnswer<unknown>, size: number): void => {
    if (answer.ttl === 0 || size > largestKept) return
    kept.delete(key)
    kept.set(key, { answer, expiresAt: now() + answer.ttl * 1000 })
    const [oldest] = kept.size > cacheSize ? kept.keys() : []
    if (oldest !== undefined) kept.delete(oldest)
  }

  const fromCache = (key: string): DnsAnswer<unknown> | null => {
    const found = kept.get(key)
    if (!found) return null
    const leftMs = found.expiresAt - now()
    kept.delete(key)
    if (leftMs <= 0) return null
    kept.set(key, found) // the one used last is dropped last
    const { status, records, secure } = found.answer
    return { status, records: records.slice(), ttl: Math.ceil(leftMs / 1000), secure }
  }

  const lookUp = async (type: RecordType, given: string): Promise<DnsAnswer<unknown>> => {
    const name = normalName(given)
    if (name === null) return { status: 'nxdomain', records: [], ttl: 0, secure: false }
    const key = `${type} ${name}`
    const cached = fromCache(key)
    if (cached) return cached
    let asking = underWay.get(key)
    if (!asking) {
      asking = resolve({ name, type, ask: (question) => askServers(question, { servers, tryMs, wire }) })
        .then(({ answer, size }) => {
          if (!wire.closed) keep(key, answer, size)
          return answer
        })
        .finally(() => underWay.delete(key))
      underWay.set(key, asking)
    }
    const answer = await asking
    return { ...answer, records: answer.records.slice() }
  }

  return {
    mx: (name) => lookUp('MX', name) as Promise<DnsAnswer<MxRecord>>,
    a: (name) => lookUp('A', name) as Promise<DnsAnswer<string>>,
    aaaa: (name) => lookUp('AAAA', name) as Promise<DnsAnswer<string>>,
    txt: (name) => lookUp('TXT', name) as Promise<DnsAnswer<string>>,
    cname: (name) => lookUp('CNAME', name) as Promise<DnsAnswer<string>>,
    ns: (name) => lookUp('NS', name) as Promise<DnsAnswer<string>>,
    close: () => wire.close(),
  }
}

interface Question {
  name: string
  type: RecordType
  /** On the clock of `performance.now()`. */
  deadline: number
}

/** A reply that decides the question: NOERROR or NXDOMAIN, and its length in bytes. */
interface Reply {
  packet: DecodedPacket
  size: number
}

/** Looks a name up, following aliases within an answer and, where an answer ends with one, by another question. */
async function resolve(lookup: {
  name: string
  type: RecordType
  ask: (question: Question) => Promise<Reply | null>
}): Promise<{ answer: DnsAnswer<unknown>; size: number }> {
  const { type } = lookup
  const deadline = performance.now() + lookupMs
  const servfail = { answer: { status: 'servfail' as const, records: [], ttl: servfailTtl, secure: false }, size: 0 }
  let name: string | null = lookup.name
  let [ttl, secure, aliases, size] = [longestTtl, true, 0, 0]
  for (;;) {
    const reply = await lookup.ask({ name, type, deadline })
    if (!reply) return servfail
    const { packet } = reply
    size += reply.size
    secure &&= packet.flag_ad
    const asked: string = name
    let found = recordsAt(packet, name, type)
    while (found.records.length === 0 && type !== 'CNAME') {
      const alias = recordsAt(packet, name, 'CNAME')
      if (alias.records.length === 0) break
      if (++aliases > longestChain) return servfail
      ttl = Math.min(ttl, alias.ttl)
      name = normalName(String(alias.records[0]))
      // An alias to something that cannot be a name leads nowhere.
      if (name === null) {
        return { answer: { status: 'nxdomain', records: [], ttl: Math.min(ttl, longestNegativeTtl), secure }, size }
      }
      found = recordsAt(packet, name, type)
    }
    if (found.records.length > 0) {
      return { answer: { status: 'ok', records: found.records, ttl: Math.min(ttl, found.ttl), secure }, size }
    }
    // RFC 6604: after an alias NXDOMAIN speaks of the name that the chain ends with.
    const isNxdomain = rcodeOf(packet) === rcodes.nxdomain
    if (isNxdomain || name === asked) {
      const status = isNxdomain ? 'nxdomain' : 'nodata'
      return { answer: { status, records: [], ttl: Math.min(ttl, negativeTtl(packet)), secure }, size }
    }
  }
}

/** Asks each server until one decides: with EDNS first, and those that said nothing useful once more without. */
async function askServers(
  question: Question,
  { servers, tryMs, wire }: { servers: Server[]; tryMs: number; wire: Wire },
): Promise<Reply | null> {
  const settled = new Set<Server>()
  for (const edns of [true, false]) {
    for (const server of servers) {
      if (settled.has(server)) continue
      const timeoutMs = (): number => Math.min(tryMs, question.deadline - performance.now())
      if (timeoutMs() <= 0 || wire.closed) return null
      const query = queryFor(question, edns)
      let reply = await wire.overUdp(server, query, timeoutMs())
      if (reply?.packet.flag_tc) reply = await wire.overTcp(server, query, Math.max(0, timeoutMs()))
      if (reply && isDecisive(reply.packet)) return reply
      if (reply && !mayDislikeEdns(reply.packet)) settled.add(server)
    }
  }
  return null
}

interface Query {
  id: number
  name: string
  type: RecordType
  bytes: Buffer
}

function queryFor({ name, type }: Question, edns: boolean): Query {
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

/** Sockets: one for each question, so that each has a source port that nobody can foresee (RFC 5452). */
class Wire {
  closed = false
  readonly #open = new Set<() => void>()

  /** Null where the server stays silent, cannot be reached, or writes what cannot be read. */
  overUdp(server: Server, query: Query, timeoutMs: number): Promise<Reply | null> {
    const socket = createSocket(isIP(server.address) === 6 ? 'udp6' : 'udp4')
    return this.#exchange(timeoutMs, () => socket.close(), (finish) => {
      socket.unref()
      socket.on('error', () => finish(null))
      socket.on('connect', () => socket.send(query.bytes))
      socket.on('message', (message) => {
        // Whatever is not an answer to this question may be forged: the true one may still come.
        if (message.length < 12 || message.readUInt16BE(0) !== query.id) return
        const reply = parseReply(message)
        if (reply === null || answers(reply.packet, query)) finish(reply)
      })
      socket.connect(server.port, server.address)
    })
  }

  overTcp(server: Server, query: Query, timeoutMs: number): Promise<Reply | null> {
    const socket = connect({ host: server.address, port: server.port })
    return this.#exchange(timeoutMs, () => socket.destroy(), (finish) => {
      let received = Buffer.alloc(0)
      const length = Buffer.alloc(2)
      length.writeUInt16BE(query.bytes.length)
      socket.unref()
      socket.on('error', () => finish(null))
      socket.on('close', () => finish(null))
      socket.on('data', (chunk: Buffer) => {
        received = Buffer.concat([received, chunk])
        if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return
        const reply = parseReply(received.subarray(2, 2 + received.readUInt16BE(0)))
        finish(reply && reply.packet.id === query.id && answers(reply.packet, query) ? reply : null)
      })
      socket.write(Buffer.concat([length, query.bytes]))
    })
  }

  close(): void {
    this.closed = true
    for (const cancel of this.#open) cancel()
  }

  #exchange(timeoutMs: number, end: () => void, begin: (finish: (reply: Reply | null) => void) => void): Promise<Reply | null> {
    return new Promise((done) => {
      const finish = (reply: Reply | null): void => {
        if (!this.#open.delete(cancel)) return
        clearTimeout(timer)
        end()
        done(reply)
      }
      const cancel = (): void => finish(null)
      const timer = setTimeout(cancel, timeoutMs)
      timer.unref()
      this.#open.add(cancel)
      begin(finish)
    })
  }
}

const rcodes = { noerror: 0, formerr: 1, nxdomain: 3, notimp: 4, badvers: 16 }

/** With the upper bits that EDNS carries (RFC 6891 6.1.3). */
function rcodeOf(packet: DecodedPacket): number {
  const opt = (packet.additionals ?? []).find((record) => record.type === 'OPT')
  return ((packet.flags ?? 0) & 0xf) | ((opt?.type === 'OPT' ? opt.extendedRcode : 0) << 4)
}

function isDecisive(packet: DecodedPacket): boolean {
  const rcode = rcodeOf(packet)
  if (packet.flag_tc || (rcode !== rcodes.noerror && rcode !== rcodes.nxdomain)) return false
  // Neither an authority nor a recursor: an empty answer from there is a referral, it says nothing of the name.
  return packet.flag_aa || packet.flag_ra || (packet.answers ?? []).length > 0
}

const mayDislikeEdns = (packet: DecodedPacket): boolean =>
  [rcodes.formerr, rcodes.notimp, rcodes.badvers].includes(rcodeOf(packet))

function answers(packet: DecodedPacket, query: Query): boolean {
  if (!packet.flag_qr) return false
  const questions = packet.questions ?? []
  // A server that could not read the question may leave it out; nothing is believed of such a reply but its failure.
  if (questions.length === 0) return !isDecisive(packet)
  const [question] = questions
  if (questions.length !== 1 || question?.class !== 'IN') return false
  return question.type === query.type && wireName(question.name) === query.name
}

function parseReply(message: Buffer): Reply | null {
  try {
    return { packet: decode(message), size: message.length }
  } catch {
    return null
  }
}

function recordsAt(packet: DecodedPacket, name: string, type: RecordType): { records: unknown[]; ttl: number } {
  const records: unknown[] = []
  let ttl = longestTtl
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
      return wireName(answer.data)
    case 'A':
    case 'AAAA':
      return answer.data
    default:
      throw new Error(`no reader for ${answer.type}`)
  }
}

/** RFC 2308 5: the lesser of the SOA record's own TTL and its minimum; without one it is not kept. */
function negativeTtl(packet: DecodedPacket): number {
  const soa = (packet.authorities ?? []).find((record) => record.type === 'SOA')
  if (soa?.type !== 'SOA') return 0
  return Math.min(soa.ttl ?? 0, soa.data.minimum ?? 0, longestNegativeTtl)
}

/** A name from the wire, fit to be shown and compared; bytes that no host name has become `?`. */
const wireName = (name: string): string => (name === '.' ? '' : name.toLowerCase().replace(/[^!-~]/g, '?'))

/** Lower case, without the final dot; null for what cannot be a name in the DNS. */
function normalName(name: string): string | null {
  const normal = (name.endsWith('.') ? name.slice(0, -1) : name).toLowerCase()
  return normal.length <= 253 && /^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/.test(normal) ? normal : null
}

function parseServer(text: string): Server {
  if (isIP(text)) return { address: text, port: 53 }
  const parts = /^\[(.+)\](?::(\d{1,5}))?$/.exec(text) ?? /^([^:]+):(\d{1,5})$/.exec(text)
  const [address, port] = [parts?.[1] ?? '', Number(parts?.[2] ?? 53)]
  if (isIP(address) && port > 0 && port < 65_536) return { address, port }
  throw new SternaError('configuration', `"${text}" is not the address of a name server. Write ip:port, or [ipv6]:port.`)
}
