import type { TlsaResolver } from '../../platform/dns/dns-resolver.ts'
import { lastUsed } from '../../platform/last-used.ts'
import type { DnsAnswer, TlsaRecord } from '../../platform/resolver.ts'
import { fingerprintOf, firstOf, namesAuthority, usableRecords, type Dane, type DaneFault } from './dane.ts'
import type { RouteHost } from './route.ts'

const maxDestinations = 10_000
/** For how long at least a destination is known to have TLSA records, ms: by then it is known whether the name servers still validate. */
const leastKnownMs = 60 * 60_000

/**
 * Looks up what DANE requires of hosts. If the name servers no longer validate, an attacker could make any destination look as if it had no
 * TLSA records: mail for those that are known to have some then waits, for as long as these may be cached, and an hour at least. A
 * name server that does validate is believed at once. Times are by `now`, ms.
 */
export class DaneHosts {
  readonly #resolver: TlsaResolver
  readonly #now: () => number
  /** Until when each destination is known to have records. */
  readonly #knownUntil = lastUsed<number>(maxDestinations)

  /** @param now on a clock that never goes back */
  constructor(resolver: TlsaResolver, now: () => number) {
    this.#resolver = resolver
    this.#now = now
  }

  /** False if DANE cannot apply to the host of a destination. */
  concerns({ signedNames, smarthost }: RouteHost, destination: string): boolean {
    if (smarthost) return false
    return (signedNames !== undefined && signedNames.length > 0) || this.#knownUntil.has(destination)
  }

  /** Null if DANE does not apply to the host of a destination. Asks nobody about one whose zone is not signed. */
  async find(host: RouteHost, destination: string): Promise<Dane | null> {
    const { signedNames } = host
    if (!signedNames || signedNames.length === 0) return this.#faultIfKnown(destination, signedNames !== undefined)
    for (const base of signedNames) {
      const answer = await this.#resolver.tlsa(`_${host.port}._tcp.${base}`)
      if (answer.status === 'servfail') return { is: 'fault', fault: `the TLSA records of ${base} cannot be looked up, or are not valid` }
      if (!answer.secure) {
        const fault = await this.#faultIfKnown(destination, answer.isValidated === true)
        if (fault) return fault
      } else if (answer.status === 'ok') return this.#required(answer, base, host.name, destination)
    }
    return null
  }

  #required(answer: DnsAnswer<TlsaRecord>, base: string, hostName: string, destination: string): Dane {
    this.#knownUntil.set(destination, this.#now() + Math.max(answer.ttl * 1000, leastKnownMs))
    const records = usableRecords(answer.records)
    if (records.length === 0) return { is: 'unusable', records: firstOf(answer.records), base }
    const names = [...new Set([base, hostName, destination])]
    return { is: 'records', records, base, names, key: keyOf(records, base, names) }
  }

  /** @param isValidated whether a name server that validated when it was last asked said that it is not signed */
  async #faultIfKnown(destination: string, isValidated: boolean): Promise<DaneFault | null> {
    const until = this.#knownUntil.get(destination)
    if (until === undefined || this.#now() >= until) return null
    if (isValidated && (await this.#resolver.stillValidates())) return null
    return { is: 'fault', fault: `${destination} has TLSA records, but no name server that validates DNSSEC answers any more` }
  }
}

/** Names count only for an authority's certificates. */
const keyOf = (records: TlsaRecord[], base: string, names: string[]): string =>
  [fingerprintOf(records), ...(namesAuthority(records) ? names : [base])].join(' ')
