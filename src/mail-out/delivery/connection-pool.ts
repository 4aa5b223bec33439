import { fairShare } from '../../platform/fair-share.ts'
import { nextPlace, nextTurn, nobody, noteServed, placeOf, type InTurn, type Served, type Waiter } from './connection-turns.ts'
import { HostLine } from './host-line.ts'
import type { MxConnection } from './mx-connection.ts'
import { limitsAt, type HostLimits, type PoolLimits } from './pool-limits.ts'
import { hostKey, type RouteHost } from './route.ts'
import type { TransportPolicy } from './transport-policy.ts'

/** The right to one connection; always call `release`. */
export interface Lease {
  /** An earlier message's open connection; null: open one. */
  connection: MxConnection | null
  /** @param connection kept for the next message if it is still good; null: it was not opened, or is gone */
  release(connection: MxConnection | null): void
}

interface Idle {
  connection: MxConnection
  policy: TransportPolicy
  /** performance.now() */
  until: number
}

interface Waiting extends InTurn {
  host: RouteHost
  policy: TransportPolicy
  until: number
  leased: (lease: Lease | null) => void
}

interface Slots extends HostLimits {
  /** How long connections are kept idle now. */
  idleMs: number
  /** Connections open or being opened, idle ones too. */
  used: number
  idle: Idle[]
  /** The urgent first, each kind by its turns. */
  waiting: Waiting[]
  served: Served
}

const maxRemembered = 10_000
/** How much longer idle connections are kept once one has been used again. */
const paidIdling = 4
/** The share of all connections kept for hosts that are known to answer. */
const keptShare = 1 / 8

/**
 * The connections to all hosts: a limited number per address, reused for several messages. Who waits for one is served in order, but accounts by
 * turns, and urgent mail first: it has every other turn.
 */
export class ConnectionPool {
  readonly #limits: PoolLimits
  readonly #slots = new Map<string, Slots>()
  /** Over all hosts. */
  #used = 0
  /** Idle connections, the longest idle first. */
  readonly #idle = new Map<Idle, Slots>()
  readonly #inLine = new HostLine<Slots>()
  readonly #leased = new Set<MxConnection>()
  /** Hosts that have closed an idle connection. */
  readonly #impatient = new Set<string>()
  #timer: NodeJS.Timeout | null = null
  #timerAt = Infinity
  #stopped = false

  constructor(limits: PoolLimits) {
    this.#limits = limits
  }

  /** Null if none came free in time, or the pool has stopped. */
  acquire(host: RouteHost, policy: TransportPolicy, waiter: Waiter = nobody): Promise<Lease | null> | Lease | null {
    if (this.#stopped) return null
    const slots = this.#slotsOf(host)
    const lease = this.#leaseFrom(slots, host, policy)
    if (lease) return lease
    const { account, isUrgent } = waiter
    return new Promise((leased) => {
      const turn = nextTurn(slots.waiting, waiter, slots.served)
      const until = performance.now() + this.#limits.waitMs
      slots.waiting.splice(placeOf(slots.waiting, { isUrgent, turn }), 0, { host, policy, account, isUrgent, turn, until, leased })
      if (this.#isFullFor(host)) this.#inLine.add(slots)
      this.#arm(performance.now() + this.#limits.waitMs)
    })
  }

  /** Null if none is free now. */
  acquireNow(host: RouteHost, policy: TransportPolicy): Lease | null {
    if (this.#stopped) return null
    const slots = this.#slotsOf(host)
    const lease = this.#leaseFrom(slots, host, policy)
    if (!lease && slots.used === 0 && slots.waiting.length === 0) this.#forget(host, slots)
    return lease
  }

  /** Hands out nothing more and closes idle connections; connections in use close when they are released. */
  stop(): void {
    this.#stopped = true
    if (this.#timer) clearTimeout(this.#timer)
    for (const slots of this.#slots.values()) {
      for (const { leased } of slots.waiting.splice(0)) leased(null)
      while (slots.idle[0]) this.#closeIdle(slots, slots.idle[0])
    }
  }

  /** Breaks off everything that is still under way. */
  destroy(): void {
    for (const connection of this.#leased) connection.destroy()
  }

  #slotsOf(host: RouteHost): Slots {
    const key = hostKey(host)
    let slots = this.#slots.get(key)
    if (!slots) {
      slots = {
        ...limitsAt(host, this.#limits),
        idleMs: this.#limits.idleMs,
        used: 0,
        idle: [],
        waiting: [],
        served: { urgent: 0, usual: 0, wasUrgent: false },
      }
      this.#slots.set(key, slots)
    }
    return slots
  }

  #leaseFrom(slots: Slots, host: RouteHost, policy: TransportPolicy): Lease | null {
    // The most recently used: the others may then be closed as idle.
    const at = slots.idle.findLastIndex(
      ({ connection, policy: { key } }) =>
        connection.host.name === host.name && key === policy.key && connection.host.source === host.source,
    )
    const fitting = slots.idle[at]
    if (fitting) {
      this.#notIdle(slots, fitting)
      if (slots.idleMs === this.#limits.idleMs && !this.#impatient.has(hostKey(host))) slots.idleMs *= paidIdling
      return this.#lease(slots, { host, policy, connection: fitting.connection })
    }
    if (!this.#makeRoom(slots, host)) return null
    this.#count(slots, 1)
    return this.#lease(slots, { host, policy, connection: null })
  }

  /** Makes room for one more connection; false if all are in use. */
  #makeRoom(slots: Slots, host: RouteHost): boolean {
    const isHostFull = slots.used >= Math.min(this.#share, slots.maxConnections)
    if (!isHostFull && !this.#isFullFor(host)) return true
    // The certificate of an idle connection to the same host was checked for another name or policy.
    const [longestIdle] = this.#idle.keys()
    const idle = isHostFull ? slots.idle[0] : longestIdle
    if (!idle) return false
    this.#closeIdle(this.#idle.get(idle) ?? slots, idle)
    return true
  }

  get #isFull(): boolean {
    return this.#used >= this.#limits.maxConnections
  }

  /** Whether another connection can be had, if an idle one must go for it. */
  get #hasRoom(): boolean {
    return !this.#isFull || this.#idle.size > 0
  }

  #isFullFor(host: RouteHost): boolean {
    const { maxConnections, hasAnswered } = this.#limits
    if (this.#used < maxConnections * (1 - keptShare)) return false
    return this.#isFull || hasAnswered?.(host) === false
  }

  /** How many connections one host may have now: fewer as the total runs out, so hanging hosts leave some for the others. */
  get #share(): number {
    const { maxConnections, maxConnectionsPerHost } = this.#limits
    if (maxConnections === Infinity) return maxConnectionsPerHost
    return fairShare(maxConnectionsPerHost, (maxConnections - this.#used + this.#idle.size) / maxConnections)
  }

  #count(slots: Slots, change: 1 | -1): void {
    slots.used += change
    this.#used += change
    this.#limits.noteUsed?.(this.#used)
  }

  #notIdle(slots: Slots, idle: Idle): void {
    slots.idle.splice(slots.idle.indexOf(idle), 1)
    this.#idle.delete(idle)
  }

  #closeIdle(slots: Slots, idle: Idle): void {
    this.#notIdle(slots, idle)
    this.#count(slots, -1)
    idle.connection.quit()
  }

  #lease(slots: Slots, { host, policy, connection }: { host: RouteHost; policy: TransportPolicy; connection: MxConnection | null }): Lease {
    let released = false
    if (connection) this.#leased.add(connection)
    return {
      connection,
      release: (after) => {
        if (released) return
        released = true
        if (connection) this.#leased.delete(connection)
        if (after) this.#leased.delete(after)
        this.#takeBack(slots, { host, policy, connection: after })
      },
    }
  }

  /** A connection opened under a lease, so that `destroy` reaches it. */
  track(connection: MxConnection): void {
    this.#leased.add(connection)
  }

  /** It is gone, and another takes its place under the lease. */
  untrack(connection: MxConnection): void {
    this.#leased.delete(connection)
  }

  #takeBack(
    slots: Slots,
    { host, policy, connection }: { host: RouteHost; policy: TransportPolicy; connection: MxConnection | null },
  ): void {
    const isWorn = connection?.isWorn(slots.messagesPerConnection) === true
    const isGood = connection?.isUsable === true && !isWorn && slots.used <= this.#limits.maxConnectionsPerHost && !this.#stopped
    if (connection && isGood) {
      const idle = { connection, policy, until: performance.now() + slots.idleMs }
      slots.idle.push(idle)
      this.#idle.set(idle, slots)
      connection.onGone = () => this.#dropIdle(slots, idle)
    } else {
      this.#count(slots, -1)
      if (connection?.isUsable) connection.quit()
    }
    this.#serveLine()
    this.#serveWaiting(slots)
    if (slots.idle.length > 0) this.#arm(performance.now() + slots.idleMs)
    else if (slots.used === 0 && slots.waiting.length === 0) this.#forget(host, slots)
  }

  #dropIdle(slots: Slots, idle: Idle): void {
    if (!this.#idle.has(idle)) return
    if (this.#impatient.size >= maxRemembered) this.#impatient.clear()
    this.#impatient.add(hostKey(idle.connection.host))
    slots.idleMs = this.#limits.idleMs
    this.#notIdle(slots, idle)
    this.#count(slots, -1)
    this.#serveLine()
    this.#serveWaiting(slots)
  }

  /** One connection for each waiting host, as far as they go. */
  #serveLine(): void {
    while (!this.#stopped && this.#hasRoom && this.#inLine.serveOne(this.#serveInLine)) continue
  }

  readonly #serveInLine = (slots: Slots): boolean | null => {
    const [first] = slots.waiting
    // The remaining room may be reserved for others.
    return first && this.#isFullFor(first.host) && this.#idle.size === 0 ? null : this.#serveNext(slots)
  }

  #serveNext(slots: Slots): boolean {
    const place = nextPlace(slots.waiting, slots.served)
    const next = slots.waiting[place]
    const lease = next && this.#leaseFrom(slots, next.host, next.policy)
    if (!lease) return false
    slots.waiting.splice(place, 1)
    noteServed(slots.served, next)
    next.leased(lease)
    return true
  }

  #serveWaiting(slots: Slots): void {
    while (!this.#stopped && this.#serveNext(slots)) continue
    const [first] = slots.waiting
    if (first && this.#isFullFor(first.host)) this.#inLine.add(slots)
  }

  #forget(host: RouteHost, slots: Slots): void {
    if (this.#slots.get(hostKey(host)) === slots) this.#slots.delete(hostKey(host))
  }

  #arm(at: number): void {
    if (this.#stopped || (this.#timer && this.#timerAt <= at)) return
    if (this.#timer) clearTimeout(this.#timer)
    this.#timerAt = at
    this.#timer = setTimeout(this.#sweep, Math.max(0, at - performance.now()) + 1)
  }

  readonly #sweep = (): void => {
    this.#timer = null
    const now = performance.now()
    let next = Infinity
    for (const [key, slots] of this.#slots) {
      // Not in their order: how long they are kept may have changed.
      for (const idle of slots.idle.filter(({ until }) => until <= now)) this.#closeIdle(slots, idle)
      for (const { leased } of slots.waiting.filter(({ until }) => until <= now)) leased(null)
      slots.waiting = slots.waiting.filter(({ until }) => until > now)
      this.#serveWaiting(slots)
      next = Math.min(next, ...slots.idle.map(({ until }) => until), ...slots.waiting.map(({ until }) => until))
      if (slots.used === 0 && slots.waiting.length === 0) this.#slots.delete(key)
    }
    this.#serveLine()
    if (next < Infinity) this.#arm(next)
  }
}
