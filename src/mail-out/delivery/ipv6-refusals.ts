import { isIPv6 } from 'node:net'
import { lastUsed } from '../../platform/last-used.ts'
import type { Outcome } from './attempt.ts'
import type { RouteHost } from './route.ts'

/** How long a host gets its mail over IPv4 only, ms. */
const asideForMs = 24 * 3_600_000
const maxHosts = 10_000

/** No IPv6 here; no reverse DNS; and mail that is not authenticated well enough, which Google demands more strictly over IPv6. */
const statuses = ['5.7.510', '5.7.25', '4.7.25', '4.7.26']
const words = /\bIPv6 sending guidelines\b/i

/**
 * The hosts that refuse our mail over IPv6 by policy. They get it over IPv4, if they have it. Times are performance.now(). Nothing is kept over a
 * restart: to find out again costs one refusal, which does not count.
 */
export class Ipv6Refusals {
  /** By the host's name, until when. */
  readonly #aside = lastUsed<number>(maxHosts)

  /** Those to be tried: of a host that refuses IPv6, only the IPv4 addresses, if it has any. */
  leftOf(hosts: RouteHost[], now: number): RouteHost[] {
    if (this.#aside.size === 0) return hosts
    return hosts.filter((host) => !isIPv6(host.address) || (this.#aside.get(host.name) ?? 0) <= now || !hasIpv4(host.name, hosts))
  }

  /** True if the host refuses IPv6, not the mail, which it may take at another of these. */
  note({ name, address }: RouteHost, outcome: Outcome, { hosts, now }: { hosts: RouteHost[]; now: number }): boolean {
    const { reply } = outcome
    if (reply === null || outcome.type === 'delivered' || !isIPv6(address)) return false
    if (!statuses.includes(reply.enhancedStatus ?? '') && !words.test(reply.text)) return false
    if (!hasIpv4(name, hosts)) return false
    this.#aside.set(name, now + asideForMs)
    return true
  }
}

const hasIpv4 = (name: string, hosts: RouteHost[]): boolean => hosts.some((host) => host.name === name && !isIPv6(host.address))
