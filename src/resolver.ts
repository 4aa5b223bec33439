/** What a name server said of a name. `nxdomain`: no such name. `nodata`: the name exists without such a record. */
type DnsStatus = 'ok' | 'nodata' | 'nxdomain' | 'servfail'

export interface DnsAnswer<T> {
  status: DnsStatus
  records: T[]
  /** Seconds for which the answer may be kept. */
  ttl: number
  /** True where a validating resolver vouches for the answer (AD bit). */
  secure: boolean
  /** True where it is kept from an earlier look-up, and nobody was asked. */
  isKept?: boolean
}

export interface MxRecord {
  /** Lower is tried first (RFC 5321 5.1). */
  preference: number
  /** Without the final dot; empty for a null MX (RFC 7505). */
  exchange: string
}

/**
 * Looks names up. Never throws: a time-out, a refusal or an answer that cannot be read is `servfail`.
 * Every look-up ends within ten seconds.
 */
export interface Resolver {
  mx(name: string): Promise<DnsAnswer<MxRecord>>
  /** IPv4 addresses. */
  a(name: string): Promise<DnsAnswer<string>>
  /** IPv6 addresses. */
  aaaa(name: string): Promise<DnsAnswer<string>>
  /** Each record's strings joined. */
  txt(name: string): Promise<DnsAnswer<string>>
  cname(name: string): Promise<DnsAnswer<string>>
  ns(name: string): Promise<DnsAnswer<string>>
}
