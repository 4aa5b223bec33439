import { lastUsed } from '../../platform/last-used.ts'
import { isoTime } from '../../platform/iso-time.ts'
import type { HostOutcome } from './outcome.ts'
import type { RouteHost } from './route.ts'
import type { Heard } from './smtp-dialogue.ts'
import type { TlsTrouble } from './tls-policy.ts'
import { textOfPlain, textOfTls } from './transport-facts.ts'
import { inPlain, transportPolicy, type Demands, type DomainSts, type TransportPolicy } from './transport-policy.ts'

/** How a host is tried. */
export interface Try {
  host: RouteHost
  policy: TransportPolicy
  /** Why this is in plain text although no policy says so; null otherwise. */
  because: string | null
}

/** What an attempt says of its TLS if no connection was opened for it, or one in plain text. */
export const textOfTry = ({ policy, because }: Try): string | null =>
  policy.mode === 'plain' ? textOfPlain(policy, 'failed', because ?? '') : textOfTls(policy, null)

/** The same if no host was tried. */
export const textOfDemands = (demands: Demands): string | null => textOfTls(transportPolicy(null, demands, null), null)

/** What a failure inside TLS says about TLS; undefined for a reply that may change on a later try. */
export function tlsTroubleIn(heard: Heard): TlsTrouble | undefined {
  if ('broken' in heard) return heard.isTlsFault ? 'impossible' : 'broken off'
  return heard.code >= 500 ? 'impossible' : undefined
}

interface Note {
  /** Epoch, ms. */
  since: number
  reason: string
  isPlain: boolean
}

/** How long mail goes to a host in plain text before TLS is tried there again, ms. */
const rememberedMs = 24 * 60 * 60_000
/** TLS that broke off must break off again after this long, ms: a restarting host is no reason for plain text. */
const patienceMs = 300_000
const maxHosts = 10_000

/**
 * The hosts where TLS has failed, and how to try them (RFC 7435 4.1): plain text is better than no mail if no policy requires TLS. Times
 * are by the queue's clock, epoch ms.
 */
export class TlsTroubles {
  readonly #notes = lastUsed<Note>(maxHosts)

  /** The hosts in their order, with those that must not be connected to first, and those that work only in plain text last. */
  tries(hosts: RouteHost[], demands: Demands & { at: number }, sts: DomainSts | null): Try[] {
    const tries = hosts.map((host) => this.#try(host, demands, sts))
    if (tries.length === 1) return tries
    const place = ({ policy }: Try): number => (policy.closed !== undefined ? 0 : policy.mode === 'plain' ? 2 : 1)
    return tries.sort((one, other) => place(one) - place(other))
  }

  #try(host: RouteHost, demands: Demands & { at: number }, sts: DomainSts | null): Try {
    const policy = transportPolicy(host, demands, sts)
    const because = policy.closed === undefined && mayBePlain(host, policy) ? this.#because(host, demands.at) : null
    return { host, policy: because === null ? policy : inPlain(policy), because }
  }

  /** The same host in plain text, if the way its TLS attempt failed allows that at once. */
  after({ host, policy }: Try, { outcome, tlsTrouble }: HostOutcome, at: number): Try | null {
    if (outcome.type === 'delivered' && policy.mode !== 'plain') this.forget(host)
    if (!tlsTrouble || !mayBePlain(host, policy) || outcome.type === 'delivered') return null
    const earlier = this.#noteOf(host, at)
    const isPlain = tlsTrouble === 'impossible' || (earlier !== null && at - earlier.since >= patienceMs)
    const since = earlier && !isPlain ? earlier.since : at
    this.#notes.set(keyOf(host), { since, reason: outcome.reason, isPlain })
    const because = this.#because(host, at)
    return because === null ? null : { host, policy: inPlain(policy), because }
  }

  /** TLS is tried first again. */
  forget(host: RouteHost): void {
    if (this.#notes.size > 0) this.#notes.delete(keyOf(host))
  }

  #because(host: RouteHost, at: number): string | null {
    const note = this.#noteOf(host, at)
    return note?.isPlain ? `TLS failed at ${isoTime(note.since)}: ${note.reason}` : null
  }

  /** A clock that was set back does not make a note last longer. */
  #noteOf(host: RouteHost, at: number): Note | null {
    const note = this.#notes.size === 0 ? undefined : this.#notes.get(keyOf(host))
    return note && at >= note.since && at < note.since + rememberedMs ? note : null
  }
}

/** Never if a policy requires TLS, nor if we log in. */
const mayBePlain = ({ smarthost }: RouteHost, policy: TransportPolicy): boolean => policy.mode === 'opportunistic' && !smarthost?.login

const keyOf = ({ name, address, port }: RouteHost): string => `${name} ${address} ${port}`
