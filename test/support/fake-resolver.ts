import type { TlsaResolver } from '../../src/platform/dns/dns-resolver.ts'
import type { DnsAnswer, MxRecord, Resolver, TlsaRecord } from '../../src/platform/resolver.ts'

export interface FakeNames {
  mx?: [preference: number, exchange: string][]
  a?: string[]
  aaaa?: string[]
  txt?: string[]
  cname?: string[]
  ns?: string[]
  tlsa?: TlsaRecord[]
  /** Set: the answers are those of a validating name server. */
  secure?: boolean
  /** What an alias leads to. */
  expandedName?: string
}

/** By name, lower case. A name that is not in it is `nxdomain`. */
export type FakeNameTable = Record<string, FakeNames | 'servfail' | 'nxdomain'>

/** A resolver that answers from a table, which may be changed meanwhile. `asked` tells what it was asked: `mx example.com`. */
export function fakeResolver(names: FakeNameTable): Resolver & TlsaResolver & { asked: string[]; validates: boolean } {
  const asked: string[] = []
  const answer = <T>(type: keyof FakeNames, name: string, recordsOf: (entry: FakeNames) => T[] | undefined): Promise<DnsAnswer<T>> => {
    asked.push(`${type} ${name}`)
    const entry = names[name.toLowerCase()] ?? 'nxdomain'
    if (typeof entry === 'string') return Promise.resolve({ status: entry, records: [], ttl: 0, secure: false })
    const records = recordsOf(entry) ?? []
    return Promise.resolve({ status: records.length > 0 ? 'ok' : 'nodata', records, ttl: 300, secure: false, ...signed(entry) })
  }
  const signed = ({ secure, expandedName }: FakeNames) => ({
    ...(secure !== undefined && resolver.validates && { secure, isValidated: true }),
    ...(expandedName !== undefined && { expandedName }),
  })
  const resolver = {
    asked,
    validates: true,
    stillValidates: () => Promise.resolve(resolver.validates),
    mx: (name: string) => answer<MxRecord>('mx', name, ({ mx }) => mx?.map(([preference, exchange]) => ({ preference, exchange }))),
    a: (name: string) => answer('a', name, ({ a }) => a),
    aaaa: (name: string) => answer('aaaa', name, ({ aaaa }) => aaaa),
    txt: (name: string) => answer('txt', name, ({ txt }) => txt),
    cname: (name: string) => answer('cname', name, ({ cname }) => cname),
    ns: (name: string) => answer('ns', name, ({ ns }) => ns),
    tlsa: (name: string) => answer('tlsa', name, ({ tlsa }) => tlsa),
  }
  return resolver
}
