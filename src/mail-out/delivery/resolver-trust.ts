import { lastUsed } from '../../platform/last-used.ts'
import { organizationalDomain } from '../../senders/sending-domain/sending-domain-name.ts'
import type { LookUp } from './find-route.ts'

/** How long look-ups count, ms: longer than the wait for a second look, so a doubt lasts as long as its cause. */
const windowMs = 60 * 60_000
/** How many domains' last look-ups count: few, so that an hour of good ones does not hide a minute of wrong ones. */
const maxRecent = 50
/** How many domains are remembered as found. */
const maxKnown = 20_000
/** Domains that were found before hardly ever cease to exist: this many, and this share of those looked up, is no coincidence. */
const knownLimit = { missing: 3, share: 0.2 }
/** Many of the domains that nobody has mailed before may be wrong: only if hardly any is found is it the resolver's fault. */
const newLimit = { missing: 10, share: 0.8 }
/** A list of addresses may be that bad, but must end: its domains cause doubt for at most this long, ms. */
const maxNewDoubtMs = 4 * 60 * 60_000

/** What was looked up lately, and how much of it was not found. */
interface Doubt {
  known: Tally
  all: Tally
}

interface Tally {
  lookedUp: number
  missing: number
}

/**
 * Judges the name servers by their answers: if too many domains do not exist, the name servers are probably wrong. Names below one
 * registered domain count once, so nobody's own zone causes a doubt. Times are ms on a steady clock.
 */
export class ResolverTrust {
  readonly #found = lastUsed<true>(maxKnown)
  readonly #known = new RecentDomains()
  readonly #all = new RecentDomains()
  /** Since when hardly any new domain is found; null otherwise. */
  #newDoubtSince: number | null = null

  note({ name, found, isKnown }: LookUp, at: number): void {
    const domain = organizationalDomain(name)
    if (isKnown || this.#found.has(domain)) this.#known.note(domain, found, at)
    this.#all.note(domain, found, at)
    if (found) this.#found.set(domain, true)
    if (!this.#isNewDoubt(at)) this.#newDoubtSince = null
    else this.#newDoubtSince ??= at
  }

  /** Null if they can be believed. */
  doubt(at: number): Doubt | null {
    const known = this.#known.tally(at)
    const isNewDoubt = this.#newDoubtSince !== null && at - this.#newDoubtSince < maxNewDoubtMs && this.#isNewDoubt(at)
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
  readonly #domains = lastUsed<{ found: boolean; at: number }>(maxRecent)

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
