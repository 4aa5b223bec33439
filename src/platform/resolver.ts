/** The result of a DNS look-up. `nxdomain`: no such name. `nodata`: the name exists, but has no such record. */
type DnsStatus = 'ok' | 'nodata' | 'nxdomain' | 'servfail'

export interface DnsAnswer<T> {
  status: DnsStatus
  records: T[]
  /** Seconds that the answer may be cached. */
  ttl: number
  /** True if a name server that is known to validate DNSSEC vouches for the whole answer (AD bit). */
  secure: boolean
  /** True if such a server gave the answer, so that one that is not `secure` is about a zone that is not signed. */
  isValidated?: boolean
  /** The name at the end of the aliases, if the name is one. */
  expandedName?: string
  /** True if it came from the cache. */
  isKept?: boolean
}

export interface MxRecord {
  /** Lower is tried first (RFC 5321 5.1). */
  preference: number
  /** Without the trailing dot; empty for a null MX (RFC 7505). */
  exchange: string
}

/** Which certificate a service shows (RFC 6698 2.1). */
export interface TlsaRecord {
  usage: number
  selector: number
  matchingType: number
  data: Buffer
}

/** Looks up names. Never throws: a timeout, a refusal or an unreadable answer is `servfail`. Every look-up ends within ten seconds. */
export interface Resolver {
  mx(name: string): Promise<DnsAnswer<MxRecord>>
  /** IPv4 addresses. */
  a(name: string): Promise<DnsAnswer<string>>
  /** IPv6 addresses. */
  aaaa(name: string): Promise<DnsAnswer<string>>
  /** The joined strings of each record. */
  txt(name: string): Promise<DnsAnswer<string>>
  cname(name: string): Promise<DnsAnswer<string>>
  ns(name: string): Promise<DnsAnswer<string>>
}
