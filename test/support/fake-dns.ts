import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { type Answer, AUTHENTIC_DATA, type DecodedPacket, decode, encode, type Packet } from 'dns-packet'

/** What a name holds. `cname` excludes the rest. */
export interface FakeRecords {
  /** Preference and host; the host `.` or an empty one is a null MX (RFC 7505). */
  mx?: [preference: number, exchange: string][]
  a?: string[]
  aaaa?: string[]
  /** Strings longer than 255 bytes are cut as DNS has it. */
  txt?: string[]
  cname?: string
  ns?: string[]
  /** Each as its usage, selector, matching type, and data in hexadecimal digits. */
  tlsa?: [usage: number, selector: number, matchingType: number, data: string][]
  /** Seconds, also of the SOA record that comes with NODATA; 0 unless given, so that a test may change the zone. */
  ttl?: number
  /** Sets the AD bit, as a validating resolver does. */
  secure?: boolean
}

/** What a server sends that keeps to nothing: whole messages, or what is none. */
export type FakeAnswering = (query: Asked) => Buffer[] | Promise<Buffer[]>

/** A query, and the message that answers it with these records. */
export interface Asked {
  query: DecodedPacket
  over: 'udp' | 'tcp'
  answer(entry: FakeEntry): Buffer
}

/** A name's records, or how the server fails for it: `timeout` says nothing at all. */
export type FakeEntry = FakeRecords | 'servfail' | 'nxdomain' | 'timeout' | FakeAnswering
/** By name: lower case, without the final dot. */
export type FakeZone = Record<string, FakeEntry>

export interface FakeDns {
  /** `address:port`, for the setting `dns.servers`. */
  server: string
  /** May be changed while the server runs. */
  zone: FakeZone
  /** What was asked, in order, over UDP and TCP. */
  queries: { name: string; type: string; over: 'udp' | 'tcp' }[]
  close(): Promise<void>
}

/**
 * A name server on loopback that answers as a recursive one: aliases are followed within the zone, names that only
 * have names below them exist, and everything else is NXDOMAIN unless `otherwise` knows it.
 */
export async function startFakeDns(
  zone: FakeZone = {},
  otherwise: (name: string, type: string) => FakeEntry | undefined = () => undefined,
  listen = { host: '127.0.0.1', port: 0 },
): Promise<FakeDns> {
  const queries: FakeDns['queries'] = []
  const connections = new Set<Socket>()

  const answer = (message: Buffer, over: 'udp' | 'tcp'): Buffer[] | Promise<Buffer[]> => {
    const query = decode(message)
    const [question] = query.questions ?? []
    if (!question) return []
    const name = question.name.toLowerCase()
    queries.push({ name, type: question.type, over })
    const entryAt = (at: string): FakeEntry | undefined => zone[at] ?? otherwise(at, question.type)
    const own = entryAt(name)
    if (typeof own !== 'function') return answerFrom(query, name, over, entryAt)
    const answerWith = (entry: FakeEntry): Buffer =>
      answerFrom(query, name, over, (at) => (at === name ? entry : entryAt(at)))[0] ?? Buffer.alloc(0)
    return own({ query, over, answer: answerWith })
  }

  const answerFrom = (
    query: DecodedPacket,
    name: string,
    over: 'udp' | 'tcp',
    entryAt: (name: string) => FakeEntry | undefined,
  ): Buffer[] => {
    const reply = replyTo(query, name, entryAt, zone)
    if (!reply) return []
    const bytes = encode(reply)
    const opt = (query.additionals ?? []).find((record) => record.type === 'OPT')
    if (over === 'tcp' || bytes.length <= Math.max(512, opt?.type === 'OPT' ? opt.udpPayloadSize : 0)) return [bytes]
    return [encode({ ...reply, flags: (reply.flags ?? 0) | truncated, answers: [], authorities: [] })]
  }

  const tcp = createServer((socket) => {
    connections.add(socket)
    let received = Buffer.alloc(0)
    socket.on('error', () => {})
    socket.on('close', () => connections.delete(socket))
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
        const end = 2 + received.readUInt16BE(0)
        const replies = answer(received.subarray(2, end), 'tcp')
        received = received.subarray(end)
        void Promise.resolve(replies).then((all) => {
          for (const reply of all) socket.write(Buffer.concat([Buffer.from([reply.length >> 8, reply.length & 255]), reply]))
        })
      }
    })
  })

  // The same port over UDP and TCP; the one that TCP was given may be taken over UDP.
  for (;;) {
    await once(tcp.listen(listen.port, listen.host), 'listening')
    const { port } = tcp.address() as AddressInfo
    const udp = createSocket('udp4')
    const isBound = await new Promise<boolean>((done) => {
      udp.once('error', () => done(false))
      udp.bind(port, listen.host, () => done(true))
    })
    if (!isBound) {
      await new Promise((done) => tcp.close(done))
      continue
    }
    udp.removeAllListeners('error').on('error', () => {})
    udp.on('message', (message, from) => {
      void Promise.resolve(answer(message, 'udp')).then((all) => {
        for (const reply of all) udp.send(reply, from.port, from.address)
      })
    })
    return {
      server: `${listen.host}:${port}`,
      zone,
      queries,
      close: async () => {
        for (const socket of connections) socket.destroy()
        await Promise.all([new Promise((done) => tcp.close(done)), new Promise<void>((done) => udp.close(done))])
      },
    }
  }
}

const truncated = 1 << 9
const recursionAvailable = 1 << 7
const rcodes = { noerror: 0, servfail: 2, nxdomain: 3 }

function replyTo(query: DecodedPacket, asked: string, entryAt: (name: string) => FakeEntry | undefined, zone: FakeZone): Packet | null {
  const [question] = query.questions ?? []
  const answers: Answer[] = []
  const seen = new Set<string>()
  let rcode = rcodes.noerror
  let secure = true
  let ttl = 0
  for (let name: string | undefined = asked; name !== undefined && !seen.has(name);) {
    seen.add(name)
    const entry: FakeEntry | undefined = entryAt(name)
    if (entry === 'timeout') return null
    if (entry === 'servfail') rcode = rcodes.servfail
    else if (entry === 'nxdomain' || (entry === undefined && !hasNamesBelow(zone, name))) rcode = rcodes.nxdomain
    if (typeof entry !== 'object') break
    ttl = entry.ttl ?? 0
    secure &&= entry.secure === true
    if (entry.cname !== undefined) {
      answers.push({ type: 'CNAME', name, ttl, class: 'IN', data: entry.cname })
      name = question?.type === 'CNAME' ? undefined : entry.cname.toLowerCase()
    } else {
      answers.push(...recordsOf(entry, name, ttl).filter((record) => record.type === question?.type))
      break
    }
  }
  const isNegative = rcode === rcodes.nxdomain || (rcode === rcodes.noerror && !answers.some(({ type }) => type === question?.type))
  const hasEdns = (query.additionals ?? []).some((record) => record.type === 'OPT')
  return {
    type: 'response',
    id: query.id,
    flags: (query.flag_rd ? 1 << 8 : 0) | recursionAvailable | (secure && rcode === rcodes.noerror ? AUTHENTIC_DATA : 0) | rcode,
    questions: query.questions,
    answers: rcode === rcodes.servfail ? [] : answers,
    authorities: isNegative ? [soa(ttl)] : [],
    additionals: hasEdns
      ? [{ type: 'OPT', name: '.', udpPayloadSize: 1232, extendedRcode: 0, ednsVersion: 0, flags: 0, flag_do: false, options: [] }]
      : [],
  }
}

function recordsOf(entry: FakeRecords, name: string, ttl: number): Answer[] {
  const common = { name, ttl, class: 'IN' as const }
  return [
    ...(entry.mx ?? []).map(([preference, exchange]) => ({
      type: 'MX' as const,
      ...common,
      data: { preference, exchange: exchange || '.' },
    })),
    ...(entry.a ?? []).map((data) => ({ type: 'A' as const, ...common, data })),
    ...(entry.aaaa ?? []).map((data) => ({ type: 'AAAA' as const, ...common, data })),
    ...(entry.ns ?? []).map((data) => ({ type: 'NS' as const, ...common, data })),
    ...(entry.tlsa ?? []).map(([usage, selector, matchingType, data]) => ({
      type: 'TLSA' as const,
      ...common,
      data: { usage, selector, matchingType, certificate: Buffer.from(data, 'hex') },
    })),
    ...(entry.txt ?? []).map((text) => ({ type: 'TXT' as const, ...common, data: stringsOf(text) })),
  ]
}

function stringsOf(text: string): Buffer[] {
  const bytes = Buffer.from(text)
  const strings: Buffer[] = []
  for (let from = 0; from === 0 || from < bytes.length; from += 255) strings.push(bytes.subarray(from, from + 255))
  return strings
}

const soa = (ttl: number): Answer => ({
  type: 'SOA',
  name: 'test',
  ttl,
  class: 'IN',
  data: { mname: 'ns.test', rname: 'postmaster.test', serial: 1, refresh: 3600, retry: 600, expire: 86_400, minimum: ttl },
})

const hasNamesBelow = (zone: FakeZone, name: string): boolean => Object.keys(zone).some((key) => key.endsWith(`.${name}`))
