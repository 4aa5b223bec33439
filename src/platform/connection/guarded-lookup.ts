import type { LookupFunction } from 'node:net'
import type { Resolver } from '../resolver.ts'

export interface GuardedLookUps {
  resolver: Pick<Resolver, 'a' | 'aaaa'>
  /** Whether we may connect to an address: anyone with a DNS zone chooses it. */
  mayConnect(address: string): boolean
}

/** Addresses are checked when the connection is made, and it goes to one that was. */
export const guardedLookup =
  ({ resolver, mayConnect }: GuardedLookUps): LookupFunction =>
  (host, { all }, callback) => {
    Promise.all([resolver.a(host), resolver.aaaa(host)]).then(
      ([four, six]) => {
        const found = [
          ...four.records.map((address) => ({ address, family: 4 })),
          ...six.records.map((address) => ({ address, family: 6 })),
        ]
        const allowed = found.filter(({ address }) => mayConnect(address))
        const [first] = allowed
        if (!first) return callback(new Error(whyNone(host, found[0]?.address)), '')
        if (all) return callback(null, allowed)
        callback(null, first.address, first.family)
      },
      (error: Error) => callback(error, ''),
    )
  }

const whyNone = (host: string, found: string | undefined): string =>
  found === undefined ? `the name ${host} has no address` : `${host} is at ${found}, which is not a public address`
