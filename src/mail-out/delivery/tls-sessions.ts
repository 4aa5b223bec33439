import { LRUCache } from 'lru-cache'
import type { TLSSocket } from 'node:tls'
import { daneFault, namesAuthority, shownBy } from './dane.ts'
import type { ConnectionTls } from './transport-facts.ts'
import { hostText, type RouteHost } from './route.ts'
import type { HelloGroups } from './tls-policy.ts'
import { tlsObjection, type TransportPolicy } from './transport-policy.ts'

/** What a full handshake with a host has shown. */
interface Verdict extends Pick<ConnectionTls, 'verified' | 'problem'> {
  /** Until when its sessions may be resumed without looking at the certificate again; epoch ms. */
  until: number
}

/** A session to offer to a host. */
export interface KeptSession {
  /** What OpenSSL resumes it from. */
  session: Buffer
  verdict: Verdict
  /** Of the hello that it began with. */
  groups: HelloGroups
}

/** How a handshake was made. */
interface Shaken {
  policy: TransportPolicy
  offered: KeptSession | null
  groups: HelloGroups
}

/** What a session is kept for. */
interface Under {
  host: RouteHost
  policy: TransportPolicy
}

/** How long one look at a certificate counts, ms. */
const maxAgeMs = 60 * 60_000
/** Of a session: the host's certificate and its ticket. */
const maxSessionBytes = 16 * 1024
const maxBytes = 8 * 1024 * 1024
/** Of those that mail to one host has. */
const maxPolicies = 8
/** Of the tickets on one connection: a host may send any number. */
const maxTickets = 2

/**
 * The TLS sessions that hosts let us resume (RFC 8446 2.2, RFC 5077), without another signature. A resumed session shows
 * no certificate, and Node checks neither its name nor its dates. So the newest session with a host is kept together with the verdict on
 * the certificate of the handshake that it began with, for the host's name and address and one policy, and never resumed under another. Mail
 * with REQUIRETLS has each host show its certificate anew.
 */
export class TlsSessions {
  readonly #now: () => number
  /** By host and policy. */
  readonly #kept = new LRUCache<string, ReadonlyMap<string, KeptSession>>({ maxSize: maxBytes, sizeCalculation: sizeOf })

  /** @param now epoch ms */
  constructor(now: () => number) {
    this.#now = now
  }

  /**
   * What to resume with this host by such a hello; null: nothing. One that began with classical groups may be of a host that loses the large
   * hello which all groups can lead to.
   */
  find(host: RouteHost, { key, isPassedOn }: TransportPolicy, groups: HelloGroups): KeptSession | null {
    if (isPassedOn) return null
    const kept = this.#kept.get(keyOf(host))?.get(key)
    const left = (kept?.verdict.until ?? 0) - this.#now()
    // More is left than there was if the clock has been set back.
    return kept?.groups === groups && left > 0 && left <= maxAgeMs ? kept : null
  }

  /** What a completed handshake says about the host. If it meets the policy, the sessions of this connection are kept. */
  judge(socket: TLSSocket, host: RouteHost, { policy, offered, groups }: Shaken): ConnectionTls {
    const isResumed = offered !== null && socket.isSessionReused()
    const verdict = isResumed ? offered.verdict : this.#verdictOn(socket, policy)
    const { verified, problem } = verdict
    const tls = {
      version: socket.getProtocol() ?? 'unknown',
      cipher: socket.getCipher().name,
      group: groupOf(socket),
      verified,
      problem,
      isResumed,
      isClassical: groups === 'classical',
    }
    if (tlsObjection(policy, { is: 'encrypted', problem })) this.forget(host)
    else if (!policy.isPassedOn) this.#follow(socket, { host, policy }, { version: tls.version, verdict, groups })
    return tls
  }

  /** The next handshake with the host is a full one. */
  forget(host: RouteHost): void {
    this.#kept.delete(keyOf(host))
  }

  /** TLS 1.3 sends sessions after the handshake; TLS 1.2 has one at its end. */
  #follow(socket: TLSSocket, under: Under, { version, ...shaken }: Omit<KeptSession, 'session'> & { version: string }): void {
    const keep = (session: Buffer | undefined): void => {
      if (session && session.length <= maxSessionBytes) this.#keep(under, { session, ...shaken })
    }
    if (version !== 'TLSv1.3') return keep(socket.getSession())
    let left = maxTickets
    const onSession = (session: Buffer): void => {
      if (--left === 0) socket.off('session', onSession)
      keep(session)
    }
    socket.on('session', onSession)
  }

  #keep({ host, policy }: Under, session: KeptSession): void {
    const key = keyOf(host)
    // Another map: the cache asks for the size of what is new.
    const byPolicy = new Map(this.#kept.get(key))
    byPolicy.delete(policy.key)
    byPolicy.set(policy.key, session)
    const [oldest] = byPolicy.keys()
    if (oldest !== undefined && byPolicy.size > maxPolicies) byPolicy.delete(oldest)
    this.#kept.set(key, byPolicy)
  }

  /** A session that is resumed under the same policy has the same TLSA records, which its certificate matched. */
  #verdictOn(socket: TLSSocket, policy: TransportPolicy): Verdict {
    let until = this.#now() + maxAgeMs
    if (policy.mode === 'dane' && policy.records) {
      const { records, names } = policy.records
      const shown = shownBy(socket.getPeerX509Certificate())
      const problem = daneFault(shown, records, { names, at: this.#now() }) ?? ''
      // Dates count under an authority.
      if (namesAuthority(records)) for (const { validTo } of shown) until = Math.min(until, Date.parse(validTo))
      return { verified: problem === '', problem, until }
    }
    if (!socket.authorized) return { verified: false, problem: String(socket.authorizationError), until }
    for (const { validTo } of shownBy(socket.getPeerX509Certificate())) until = Math.min(until, Date.parse(validTo))
    return { verified: true, problem: '', until }
  }
}

/** What was agreed on for the key exchange, such as X25519MLKEM768; null for RSA, and for a session of TLS 1.2 that was resumed. */
function groupOf(socket: TLSSocket): string | null {
  const { name = null } = (socket.getEphemeralKeyInfo() ?? {}) as { name?: string }
  return name
}

const keyOf = hostText

function sizeOf(byPolicy: ReadonlyMap<string, KeptSession>): number {
  let size = 0
  for (const { session } of byPolicy.values()) size += session.length
  return size
}
