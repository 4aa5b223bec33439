import type { DnsAnswer, MxRecord, Resolver } from '../../src/platform/resolver.ts'

export interface FakeNames {
  mx?: [preference: number, exchange: string][]
  a?: string[]
  aaaa?: string[]
  txt?: string[]
  cname?: string[]
  ns?: string[]
  secure?: boolean
}

/** By name, lower case. A name that is not in it is `nxdomain`. */
export type FakeNameTable = Record<string, FakeNames | 'servfail' | 'nxdomain'>

/** A resolver that answers from a table, which may be changed meanwhile. `asked` tells what it was asked: `mx example.com`. */
export function fakeResolver(names: FakeNameTable): Resolver & { asked: string[] } {
  const asked: string[] = []
  const answer = <T>(type: keyof FakeNames, name: string, recordsOf: (entry: FakeNames) => T[] | undefined): Promise<DnsAnswer<T>> => {
    asked.push(`${type} ${name}`)
    const entry = names[name.toLowerCase()] ?? 'nxdomain'
    if (typeof entry === 'string') return Promise.resolve({ status: entry, records: [], ttl: 0, secure: false })
    const records = recordsOf(entry) ?? []
    return Promise.resolve({ status: records.length > 0 ? 'ok' : 'nodata', records, ttl: 300, secure: entry.secure ?? false })
  }
  return {
    asked,
    mx: (name) => answer<MxRecord>('mx', name, ({ mx }) => mx?.map(([preference, exchange]) => ({ preference, exchange }))),
    a: (name) => answer('a', name, ({ a }) => a),
    aaaa: (name) => answer('aaaa', name, ({ aaaa }) => aaaa),
    txt: (name) => answer('txt', name, ({ txt }) => txt),
    cname: (name) => answer('cname', name, ({ cname }) => cname),
    ns: (name) => answer('ns', name, ({ ns }) => ns),
  }
}
