import { LRUCache } from 'lru-cache'
import { organizationalDomain } from '../sending-domain/sending-domain-name.ts'
import type { LookUp } from './find-route.ts'

/** Look-ups count for so long, ms: longer than a second look takes to come, so that a doubt lasts as long as its cause. */
const windowMs = 60 * 60_000
/** Domains of which the last look-up counts: few, so that many good ones of an hour do not hide a minute of wrong ones. */
const mostRecent = 50
/** Domains that are remembered to have been found. */
const mostKnown = 20_000
/** Domains that were found before hardly ever cease to exist: so many of them, and such a part of those looked up, are no chance. */
const knownLimit = { missing: 3, share: 0.2 }
/** Of domains that nobody has mailed yet many may be wrong: only where hardly any other is found that is the resolver's fault. */
const newLimit = { missing: 10, share: 0.8 }
/** A list of addresses may be that bad, and must end: its domains are doubted for so long at most, ms. */
const longestNewDoubtMs = 4 * 60 * 60_000

/** What was looked up lately, and how much of it was not found. */
export interface Doubt {
  known: Tally
  all: Tally
}

interface Tally {
  lookedUp: number
  missing: number
}

/**
 * Judges the name servers by what they say: whether so many domains do not exist that it is rather them who are wrong. Names
 * below one registered domain count as one, so that nobody's own zone alone makes a doubt. Times are ms on a steady clock.
 */
export class ResolverTrust {
  readonly #found = new LRUCache<string, true>({ max: mostKnown })
  readonly #known = new RecentDomains()
  readonly #all = new RecentDomains()
  /** Since when hardly any new domain is found; null while that is not so. */
  #newDoubtSince: number | null = null

  note({ name, found, isKnown }: LookUp, at: number): void {
    const domain = organizationalDomain(name)
    if (isKnown || this.#found.has(domain)) this.#known.note(domain, found, at)
    this.#all.note(domain, found, at)
    if (found) this.#found.set(domain, true)
    if (!this.#isNewDoubt(at)) this.#newDoubtSince = null
    else this.#newDoubtSince ??= at
  }

  /** Null where they are to be believed. */
  doubt(at: number): Doubt | null {
    const known = this.#known.tally(at)
    const isNewDoubt = this.#newDoubtSince !== null && at - this.#newDoubtSince < longestNewDoubtMs && this.#isNewDoubt(at)
    return isNewDoubt || exceeds(known, knownLimit) ? { known, all: this.#all.tally(at) } : null
  }

  #isNewDoubt(at: number): boolean {
    const known = this.#known.tally(at)
    return known.missing === known.lookedUp && exceeds(this.#all.tally(at), newLimit)
  }
}

const exceeds = ({ lookedUp, missing }: Tally, limit: { missing: number; share: number }): boolean =>
  missing >= limit.missing && missing >= lookedUp * limit.share

/** Domains with their last look-up, the newest of the window. */
class RecentDomains {
  readonly #domains = new LRUCache<string, { found: boolean; at: number }>({ max: mostRecent })

  note(domain: string, found: boolean, at: number): void {
    this.#domains.set(domain, { found, at })
  }

  tally(now: number): Tally {
    const tally = { lookedUp: 0, missing: 0 }
    for (const { found, at } of this.#domains.values()) {
      if (at <= now - windowMs) continue
      tally.lookedUp++
      if (!found) tally.missing++
    }
    return tally
  }
}
