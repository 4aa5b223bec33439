import { isPublicAddress } from '../ip-address.ts'
import type { DnsReply, RecordType } from './dns-message.ts'
import type { NameServer } from './dns-sockets.ts'

/** A question whose answer every validating name server marks as authentic. */
export interface DnssecProbe {
  /** Empty: the root. */
  name: string
  type: RecordType
}

interface Notes {
  /** Called after each proof with the servers that had proved it before and no longer do, once one has proved it. */
  lost(servers: NameServer[]): void
  /** Called after a proof by which a server is newly believed. */
  gained(): void
}

/** How long a proof counts, ms; one that some server failed counts for less. */
const provenMs = 60 * 60_000
const againMs = 60_000

/**
 * Which name servers validate DNSSEC. An answer is authentic if the AD bit is set; but anybody can set a bit. So it counts only from a server
 * on this machine or in our own network, because answers of others can be forged on the way, and only while that server sets it in its
 * answer to the probe. A server that does not answer the probe is believed as before.
 */
export class Validation {
  readonly #probe: (server: NameServer) => Promise<DnsReply | null>
  readonly #now: () => number
  readonly #notes: Notes
  /** Those near enough, and whether they have proved it. */
  readonly #near: Map<NameServer, boolean>
  /** Those that have proved it at some time. */
  readonly #proved = new Set<NameServer>()
  #proving: Promise<void> | null = null
  #triedAt = -Infinity
  /** Whether at the last proof every near server proved it. */
  #isWhole = false
  /** Whether at the last proof some server proved it, and none failed that had proved it before. */
  #isFirm = false

  /**
   * @param probe asks a server about the probe
   * @param now ms
   */
  constructor(servers: NameServer[], probe: (server: NameServer) => Promise<DnsReply | null>, now: () => number, notes: Notes) {
    this.#probe = probe
    this.#now = now
    this.#notes = notes
    this.#near = new Map(servers.filter(({ address }) => !isPublicAddress(address)).map((server) => [server, false]))
  }

  has(server: NameServer): boolean {
    return this.#near.get(server) === true
  }

  /** Ends once it is proved; null if there is nothing to prove now. */
  renew(): Promise<void> | null {
    if (this.#near.size === 0 || this.#age < (this.#isWhole ? provenMs : againMs)) return null
    return this.#prove()
  }

  /** Asks whether the servers that have proved it still do. */
  async holds(): Promise<boolean> {
    if (this.#near.size > 0) await this.#prove()
    return this.#isFirm
  }

  get #age(): number {
    return this.#now() - this.#triedAt
  }

  #prove(): Promise<void> {
    return (this.#proving ??= this.#proveEach().finally(() => {
      this.#proving = null
      this.#triedAt = this.#now()
    }))
  }

  async #proveEach(): Promise<void> {
    const servers = [...this.#near.keys()]
    const replies = await Promise.all(servers.map(this.#probe))
    const proofs = replies.map((reply) => reply && reply.packet.flag_ad)
    this.#isWhole = proofs.every((proof) => proof === true)
    this.#isFirm = proofs.includes(true) && servers.every((server, i) => !this.has(server) || proofs[i] === true)
    const isGain = servers.some((server, i) => proofs[i] === true && !this.has(server))
    for (const [i, server] of servers.entries()) {
      this.#near.set(server, proofs[i] ?? this.has(server))
      if (this.has(server)) this.#proved.add(server)
    }
    if (isGain) this.#notes.gained()
    if (this.#proved.size > 0) this.#notes.lost([...this.#proved].filter((server) => !this.has(server)))
  }
}
