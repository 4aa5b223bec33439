import { isIPv6 } from 'node:net'
import { lastUsed } from '../../platform/last-used.ts'
import type { Outcome } from './attempt.ts'
import type { RouteHost } from './route.ts'

/** How long IPv6 comes last at a host, ms. */
const asideForMs = 24 * 3_600_000
/** How long nobody must have answered over IPv4 before the refusal counts, ms. */
const patienceMs = 4 * 3_600_000
const maxHosts = 10_000

/** No IPv6 here; no reverse DNS; and mail that is not authenticated well enough, which Google demands more strictly over IPv6. */
const statuses = ['5.7.510', '5.7.25', '4.7.25', '4.7.26']
const words = /\bIPv6 sending guidelines\b/i

/**
 * The hosts that refuse our mail over IPv6 by policy. They get it over IPv4, if that can be reached. Times are performance.now(). Nothing is kept
 * over a restart: to find out again costs one refusal, which does not count.
 */
export class Ipv6Refusals {
  /** By the host's name, until when. */
  readonly #aside = lastUsed<number>(maxHosts)
  /** Of these hosts, by name, since when nobody answers over IPv4, by the queue's clock (epoch, ms). */
  readonly #unansweredSince = lastUsed<number>(maxHosts)

  /** True of an IPv6 address of such a host. */
  isAside({ name, address }: RouteHost, now: number): boolean {
    return this.#aside.size > 0 && isIPv6(address) && (this.#aside.get(name) ?? 0) > now
  }

  /** These addresses come last. They may still take the mail of others, and are all there is to a machine without IPv4. */
  asideLast(hosts: RouteHost[], now: number): RouteHost[] {
    const aside = hosts.filter((host) => this.isAside(host, now))
    return aside.length === 0 ? hosts : [...hosts.filter((host) => !this.isAside(host, now)), ...aside]
  }

  /** True if the host refuses IPv6, not the mail, which it may take at another of these. */
  note({ name, address }: RouteHost, { type, reply }: Outcome, { hosts, now }: { hosts: RouteHost[]; now: number }): boolean {
    if (reply === null) return false
    if (!isIPv6(address)) {
      if (this.#unansweredSince.size > 0) this.#unansweredSince.delete(name)
      return false
    }
    if (type === 'delivered') return false
    if (!statuses.includes(reply.enhancedStatus ?? '') && !words.test(reply.text)) return false
    if (!hasIpv4(name, hosts)) return false
    this.#aside.set(name, now + asideForMs)
    return true
  }

  /** Notes that nobody has answered over IPv4 at a host that refuses IPv6. True once that has lasted: its refusal counts then. */
  noteUnanswered({ name }: RouteHost, at: number): boolean {
    const since = Math.min(at, this.#unansweredSince.get(name) ?? at)
    this.#unansweredSince.set(name, since)
    return at - since >= patienceMs
  }
}

const hasIpv4 = (name: string, hosts: RouteHost[]): boolean => hosts.some((host) => host.name === name && !isIPv6(host.address))
