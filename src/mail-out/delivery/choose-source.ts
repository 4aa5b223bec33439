import { hash } from 'node:crypto'
import { isIP } from 'node:net'
import type { SourceAddress } from '../../platform/config/source-address.ts'
import type { DeliveryJob } from './attempt.ts'
import type { RouteHost } from './route.ts'

/** How long one that the machine has lost is not chosen, ms. */
const missingForMs = 10 * 60_000

/**
 * Chooses the address that mail leaves from. A message keeps its own over all attempts, as greylisting wants it, and so does all mail of a
 * sender to a domain: the source with the greatest hash of itself with both (rendezvous), so that of the others' mail none moves when one comes or goes. Times
 * are performance.now().
 */
export class SourceChoice {
  readonly #sources: readonly SourceAddress[]
  /** By address, until when. */
  readonly #missing = new Map<string, number>()

  constructor(sources: readonly SourceAddress[]) {
    this.#sources = sources
  }

  /**
   * Each host with the source of its family, if there is one; else the system chooses.
   * @param isResting true of a source that is chosen only if all of its family rest
   */
  assign(hosts: RouteHost[], job: DeliveryJob, now: number, isResting?: (source: string) => boolean): RouteHost[] {
    if (this.#sources.length === 0) return hosts
    const about = `${senderOf(job)} ${job.destination}`
    const sources = { 4: this.#choose(4, about, now, isResting), 6: this.#choose(6, about, now, isResting) }
    return hosts.map((host) => {
      const source = sources[isIP(host.address) === 6 ? 6 : 4]
      return source ? { ...host, source } : host
    })
  }

  /** The machine does not have it, at least now. True if that is news. */
  noteMissing({ address }: SourceAddress, now: number): boolean {
    const isNews = !this.#isMissing(address, now)
    this.#missing.set(address, now + missingForMs)
    return isNews
  }

  #isMissing(address: string, now: number): boolean {
    return (this.#missing.get(address) ?? -Infinity) > now
  }

  #choose(family: number, about: string, now: number, isResting?: (source: string) => boolean): SourceAddress | undefined {
    const ofFamily = this.#sources.filter(({ address }) => isIP(address) === family)
    const there = ofFamily.filter(({ address }) => !this.#isMissing(address, now))
    const usable = there.length > 0 ? there : ofFamily
    const awake = isResting ? usable.filter(({ address }) => !isResting(address)) : usable
    const weighed = (awake.length > 0 ? awake : usable).map((source) => ({
      source,
      weight: hash('sha256', `${source.address} ${about}`),
    }))
    return weighed.toSorted((one, other) => (one.weight > other.weight ? -1 : 1))[0]?.source
  }
}

/** The sender's domain: the one that signs, else that of the reverse-path. */
const senderOf = ({ signingKeys, recipients }: DeliveryJob): string =>
  signingKeys[0]?.signingDomain ?? recipients[0]?.reversePath.split('@').at(-1) ?? ''
