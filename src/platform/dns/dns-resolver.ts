import { getServers } from 'node:dns'
import type { DnsAnswer, MxRecord, Resolver, TlsaRecord } from '../resolver.ts'
import { DnsCache } from './dns-cache.ts'
import {
  isDecisive,
  isNxdomain,
  maxNegativeTtl,
  maxTtl,
  mayDislikeEdns,
  negativeTtl,
  normalName,
  queryFor,
  recordsAt,
  type DnsReply,
  type RecordType,
} from './dns-message.ts'
import { DnsSockets, parseServer, type NameServer } from './dns-sockets.ts'
import { Validation, type DnssecProbe } from './validation.ts'

/** The look-ups that routing needs. */
export type RouteResolver = Pick<Resolver, 'mx' | 'a' | 'aaaa' | 'cname'>

/**
 * The look-ups that DANE needs. An answer is `secure` only from a server that has proved that it validates: at the first look-up, and every
 * hour.
 */
export interface TlsaResolver {
  tlsa(name: string): Promise<DnsAnswer<TlsaRecord>>
  /** Asks whether the name servers that were found to validate DNSSEC still do. */
  stillValidates(): Promise<boolean>
}

export interface DnsResolver extends Resolver, TlsaResolver {
  /** Resolves an address, given as its name under in-addr.arpa or ip6.arpa, to host names. */
  ptr(name: string): Promise<DnsAnswer<string>>
  /** Each name server on its own, without the cache. */
  eachServer: (RouteResolver & { server: string })[]
  /** Ends look-ups under way with `servfail`. Later ones fail the same way at once. */
  close(): void
}

export interface DnsResolverOptions {
  /** `ip`, `ip:port` or `[ipv6]:port`, asked in this order. Empty: the operating system's servers. */
  servers: string[]
  /** What a server among `servers` must answer with the AD bit set before it is believed to validate DNSSEC; without it, none is. */
  dnssecProbe?: DnssecProbe | null
  /** Per server and question. */
  timeoutMs?: number
  /** Answers to cache. */
  cacheSize?: number
  /** Sockets open at a time; unlimited by default. */
  maxSockets?: number
  /** Called for each look-up by name; `cached` if no server was asked. */
  noteLookUp?: (result: DnsAnswer<unknown>['status'] | 'cached') => void
  /**
   * Called after each proof, once a server has proved that it validates DNSSEC: the addresses of those that had proved it before and no longer
   * do.
   */
  noteUnvalidated?: (servers: string[]) => void
  /** The cache's clock, ms. */
  now?: () => number
}

/** The limit per look-up. Two rounds over all servers fit in. */
const lookupMs = 10_000
/** seconds */
const servfailTtl = 5
const maxChainLength = 8

/**
 * Asks recursive name servers over UDP, and over TCP if the answer is truncated. Unlike node:dns it returns the TTL and the AD bit, and
 * distinguishes NXDOMAIN, NODATA and SERVFAIL. It never keeps the process alive.
 * @throws SternaError `configuration` if a server is not an address
 */
export function dnsResolver(options: DnsResolverOptions): DnsResolver {
  const servers = (options.servers.length > 0 ? options.servers : getServers()).map(parseServer)
  if (servers.length === 0) servers.push({ address: '127.0.0.1', port: 53 })
  const tryMs = Math.min(options.timeoutMs ?? 2500, lookupMs / (2 * servers.length))
  const sockets = new DnsSockets(options.maxSockets)
  const now = options.now ?? (() => performance.now())
  const cache = new DnsCache(options.cacheSize ?? 10_000, now)
  const askOne = (question: Question, server: NameServer) => askServers(question, { servers: [server], tryMs, sockets })
  const validation = validationBy(options, servers, { ask: askOne, now, cache })
  const ask =
    (of: NameServer[]): Ask =>
    async (type, name) => {
      await validation.renew()
      return resolve({ name, type, validation, ask: (question) => askServers(question, { servers: of, tryMs, sockets }) })
    }
  const note = options.noteLookUp ?? (() => {})
  const lookUp = cachedLookUp(ask(servers), { cache, validation, isClosed: () => sockets.closed, note })
  const lookUpText = (type: RecordType) => (name: string) => lookUp(type, name) as Promise<DnsAnswer<string>>
  return {
    ...routeResolver(lookUp),
    txt: lookUpText('TXT'),
    ns: lookUpText('NS'),
    ptr: lookUpText('PTR'),
    tlsa: (name) => lookUp('TLSA', name) as Promise<DnsAnswer<TlsaRecord>>,
    stillValidates: () => validation.holds(),
    eachServer: servers.map((server) => ({ server: server.address, ...routeResolver(uncachedLookUp(ask([server]))) })),
    close: () => sockets.close(),
  }
}

/** Looks up a normalised name. `size`: bytes of the messages that contained the answer. */
type Ask = (type: RecordType, name: string) => Promise<{ answer: DnsAnswer<unknown>; size: number }>
type LookUp = (type: RecordType, given: string) => Promise<DnsAnswer<unknown>>

const routeResolver = (lookUp: LookUp): RouteResolver => ({
  mx: (name) => lookUp('MX', name) as Promise<DnsAnswer<MxRecord>>,
  a: (name) => lookUp('A', name) as Promise<DnsAnswer<string>>,
  aaaa: (name) => lookUp('AAAA', name) as Promise<DnsAnswer<string>>,
  cname: (name) => lookUp('CNAME', name) as Promise<DnsAnswer<string>>,
})

/**
 * The system's own name servers are not believed to validate: nobody has said that the way to them, and theirs to others, is safe. Once one is
 * newly believed, what was cached without it is asked for again, lest its protection be missed for as long as that may be cached.
 */
function validationBy(
  { servers: named, dnssecProbe = null, noteUnvalidated = () => {} }: DnsResolverOptions,
  servers: NameServer[],
  { ask, now, cache }: { ask: (question: Question, server: NameServer) => Promise<Answered | null>; now: () => number; cache: DnsCache },
): Validation {
  const near = dnssecProbe === null || named.length === 0 ? [] : servers
  const probe = async (server: NameServer) => dnssecProbe && ask({ ...dnssecProbe, deadline: performance.now() + lookupMs }, server)
  return new Validation(near, probe, now, {
    lost: (lost) => noteUnvalidated(lost.map(({ address }) => address)),
    gained: () => cache.dropUnvalidated(),
  })
}

const uncachedLookUp =
  (ask: Ask): LookUp =>
  async (type, given) => {
    const name = normalName(given)
    return name === null ? noName : (await ask(type, name)).answer
  }

interface CachedLookUpServices {
  cache: DnsCache
  validation: Validation
  /** Answers that arrive after closing are not cached. */
  isClosed(): boolean
  note: NonNullable<DnsResolverOptions['noteLookUp']>
}

/** Answers from the cache. Concurrent look-ups of the same name share one query. */
function cachedLookUp(ask: Ask, { cache, validation, isClosed, note }: CachedLookUpServices): LookUp {
  const underWay = new Map<string, Promise<DnsAnswer<unknown>>>()
  const askOnce = async (key: string, type: RecordType, name: string): Promise<DnsAnswer<unknown>> => {
    const { answer, size } = await ask(type, name)
    if (!isClosed()) cache.keep(key, answer, size)
    note(answer.status)
    return answer
  }
  return async (type, given) => {
    const name = normalName(given)
    if (name === null) return noName
    const key = `${type} ${name}`
    const cached = cache.find(key)
    if (cached) {
      note('cached')
      // Otherwise nothing would be proved while the cache knows all that is asked.
      if (cached.isValidated !== true) void validation.renew()
      return cached
    }
    const asking = underWay.get(key) ?? askOnce(key, type, name).finally(() => underWay.delete(key))
    underWay.set(key, asking)
    const answer = await asking
    return { ...answer, records: answer.records.slice() }
  }
}

/** Nobody is asked about what cannot be a name. */
const noName: DnsAnswer<never> = { status: 'nxdomain', records: [], ttl: 0, secure: false }

interface Question {
  name: string
  type: RecordType
  /** On the clock of `performance.now()`. */
  deadline: number
}

interface Answered extends DnsReply {
  server: NameServer
}

/** Looks up a name. Follows aliases within an answer and, if an answer ends with one, with another query. */
async function resolve(lookup: {
  name: string
  type: RecordType
  validation: Validation
  ask: (question: Question) => Promise<Answered | null>
}): Promise<{ answer: DnsAnswer<unknown>; size: number }> {
  const { type, validation } = lookup
  const deadline = performance.now() + lookupMs
  const servfail = { answer: { status: 'servfail' as const, records: [], ttl: servfailTtl, secure: false }, size: 0 }
  let name: string | null = lookup.name
  let [ttl, secure, isValidated, aliases, size] = [maxTtl, true, true, 0, 0]
  const answered = (status: DnsAnswer<unknown>['status'], records: unknown[], mostTtl: number) => ({
    answer: {
      status,
      records,
      ttl: Math.min(ttl, mostTtl),
      secure,
      ...(isValidated && { isValidated }),
      ...(aliases > 0 && name !== null && { expandedName: name }),
    },
    size,
  })
  for (;;) {
    const reply = await lookup.ask({ name, type, deadline })
    if (!reply) return servfail
    const { packet } = reply
    size += reply.size
    isValidated &&= validation.has(reply.server)
    secure &&= isValidated && packet.flag_ad
    const asked: string = name
    let found = recordsAt(packet, name, type)
    while (found.records.length === 0 && type !== 'CNAME') {
      const alias = recordsAt(packet, name, 'CNAME')
      if (alias.records.length === 0) break
      if (++aliases > maxChainLength) return servfail
      ttl = Math.min(ttl, alias.ttl)
      name = normalName(String(alias.records[0]))
      // An alias to an invalid name leads nowhere.
      if (name === null) return answered('nxdomain', [], maxNegativeTtl)
      found = recordsAt(packet, name, type)
    }
    if (found.records.length > 0) return answered('ok', found.records, found.ttl)
    // RFC 6604: after an alias, NXDOMAIN is about the last name of the chain.
    if (isNxdomain(packet) || name === asked) return answered(isNxdomain(packet) ? 'nxdomain' : 'nodata', [], negativeTtl(packet))
  }
}

/** Asks each server until one gives a decisive reply: with EDNS first, then again without, where that may help. */
async function askServers(
  question: Question,
  { servers, tryMs, sockets }: { servers: NameServer[]; tryMs: number; sockets: DnsSockets },
): Promise<Answered | null> {
  const settled = new Set<NameServer>()
  for (const edns of [true, false]) {
    for (const server of servers) {
      if (settled.has(server)) continue
      const timeoutMs = (): number => Math.min(tryMs, question.deadline - performance.now())
      if (timeoutMs() <= 0 || sockets.closed) return null
      const query = queryFor(question, edns)
      let reply = await sockets.overUdp(server, query, timeoutMs())
      if (reply?.packet.flag_tc) reply = await sockets.overTcp(server, query, Math.max(0, timeoutMs()))
      if (reply && isDecisive(reply.packet)) return { ...reply, server }
      if (reply && !mayDislikeEdns(reply.packet)) settled.add(server)
    }
  }
  return null
}
