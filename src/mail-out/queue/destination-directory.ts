import { lastUsed } from '../../platform/last-used.ts'
import { fairShare } from '../../platform/fair-share.ts'
import { DueHeap } from '../../platform/due-heap.ts'
import { Backoffs, type AboutDestinations, type HostInBackoff } from './backoffs.ts'
import { averageWith, type Pace } from './submission-hold.ts'

/** A destination with mail that is waiting in the queue or claimed. */
interface Destination {
  name: string
  /** When the first waiting mail is due, epoch ms; infinite if nothing waits. */
  dueAt: number
  /** Claimed recipients. */
  inFlight: number
  /** The pool in which its claimed recipients count. */
  room: Room
}

/** How many recipients of one kind of destination may be claimed, and the waiting destinations of that kind. */
interface Room {
  readonly limit: number
  inFlight: number
  readonly heap: DueHeap
}

/** What to claim. */
interface Turn {
  name: string
  /** recipients */
  room: number
  /** True if it is a probe of whether a host is up again. */
  isProbe: boolean
}

/** A destination hangs if none of its claimed recipients has made progress for this long, ms. */
const hangsAfterMs = 2_000
/** How many destinations are remembered as answering. */
const maxRemembered = 20_000

/**
 * The destinations that have mail in the queue, in memory: one entry per destination, however long the queue. Destinations take turns,
 * so one that is slow or has a long queue does not hold up the others. Those that have recently answered have room of their own, and
 * lose it if they hang. A destination whose hosts are down is in backoff.
 */
export class DestinationDirectory {
  readonly #destinations = new Map<string, Destination>()
  /** Destinations with more mail to claim that are at their limit. They are not on a heap. */
  readonly #full = new Set<Destination>()
  readonly #limit: number
  /** For those that have answered and do not hang. */
  readonly #proven: Room
  readonly #others: Room
  /** Destinations that have answered, and how long their recipients are in hand on average, ms; infinite if the last one was deferred. */
  readonly #answered = lastUsed<number>(maxRemembered)
  /** Proven destinations with claimed recipients, and when one of those last made progress; the longest idle first. */
  readonly #moving = new Map<Destination, number>()
  readonly #backoffs = new Backoffs()
  readonly #waiting: AboutDestinations = {
    dueAt: (name) => this.#destinations.get(name)?.dueAt ?? Infinity,
    isInFlight: (name) => (this.#destinations.get(name)?.inFlight ?? 0) > 0,
  }

  /** `limit`: how many recipients of one destination may be claimed; `totalLimit`: of all together, half of them for those that answer. */
  constructor(limit: number, totalLimit: number) {
    this.#limit = limit
    this.#proven = { limit: totalLimit / 2, inFlight: 0, heap: new DueHeap() }
    this.#others = { limit: totalLimit / 2, inFlight: 0, heap: new DueHeap() }
  }

  /** Claimed recipients of all destinations. */
  get inFlight(): number {
    return this.#proven.inFlight + this.#others.inFlight
  }

  /**
   * When the oldest waiting mail was due, epoch ms. Includes destinations at their limit, but not those in backoff. Infinite if nothing
   * waits.
   */
  get oldestDueAt(): number {
    let oldest = Infinity
    for (const { heap } of [this.#proven, this.#others]) {
      this.#dropOutdated(heap)
      oldest = Math.min(oldest, heap.firstDueAt)
    }
    for (const { dueAt, name } of this.#full) if (!this.#backoffs.has(name)) oldest = Math.min(oldest, dueAt)
    return oldest
  }

  /** Destinations in backoff, and why. */
  get inBackoff(): Iterable<{ name: string; reason: string }> {
    return this.#backoffs.all()
  }

  /** Mail for this destination waits in the queue and is due at this time. */
  noteWaiting(name: string, dueAt: number): void {
    const destination = this.#destination(name)
    if (dueAt >= destination.dueAt) return
    destination.dueAt = dueAt
    if (this.#backoffs.has(name)) this.#backoffs.noteWaiting(name, dueAt)
    else if (!this.#full.has(destination)) destination.room.heap.push({ key: name, dueAt })
  }

  /**
   * True if mail for the destination is already due, if it is at its limit, or if it is in backoff: newer mail must then wait in the queue
   * behind it.
   */
  isBehind(name: string, now: number): boolean {
    const destination = this.#destinations.get(name)
    const room = destination?.room ?? this.#roomOf(name)
    if (room.inFlight >= room.limit) return true
    return destination !== undefined && (destination.dueAt <= now || destination.inFlight >= this.#limit || this.#backoffs.has(name))
  }

  /** Undefined if it has not answered of late, has no mail in hand or in the queue, or is in backoff. */
  paceOf(name: string, now: number): Pace | undefined {
    const destination = this.#destinations.get(name)
    const inHandMs = this.#answered.get(name)
    if (!destination || inHandMs === undefined || this.#backoffs.has(name)) return undefined
    const { inFlight, dueAt } = destination
    return { inHandMs, inFlight, idleMs: now - (this.#moving.get(destination) ?? now), overdueMs: Math.max(0, now - dueAt) }
  }

  /** The next destination to claim from, and how many recipients; undefined if none is due or there is no room. */
  next(now: number): Turn | undefined {
    this.#findHanging(now)
    const probe = this.#backoffs.nextProbe(now, this.#waiting)
    if (probe !== undefined) return this.#turn(this.#destination(probe), 1, true)
    return this.#nextIn(this.#proven, now) ?? this.#nextIn(this.#others, now)
  }

  /** When to ask for the next one again if there is none now, epoch ms; also ask when claims are released. */
  nextLookAt(now: number): number {
    let at = this.#backoffs.firstProbeAt
    for (const room of [this.#proven, this.#others]) {
      const { firstDueAt } = room.heap
      if (firstDueAt > now) at = Math.min(at, firstDueAt)
    }
    // Once a destination that fills the room is found to hang, another gets its turn.
    const [since] = this.#moving.values()
    const isWaitedFor = this.#proven.inFlight >= this.#proven.limit && this.#proven.heap.firstDueAt <= now
    return isWaitedFor && since !== undefined ? Math.min(at, since + hangsAfterMs) : at
  }

  claimed(name: string, recipients: number, now: number): void {
    const destination = this.#destination(name)
    destination.inFlight += recipients
    destination.room.inFlight += recipients
    if (destination.room === this.#proven && !this.#moving.has(destination)) this.#moving.set(destination, now)
  }

  released(name: string, recipients: number, now: number): void {
    const destination = this.#destination(name)
    destination.inFlight -= recipients
    destination.room.inFlight -= recipients
    if (this.#moving.delete(destination) && destination.inFlight > 0) this.#moving.set(destination, now)
    if (this.#full.delete(destination) && !this.#backoffs.has(name)) destination.room.heap.push({ key: name, dueAt: destination.dueAt })
    if (destination.inFlight > 0 || destination.dueAt < Infinity) return
    this.#backoffs.forget(name)
    this.#destinations.delete(name)
  }

  /**
   * An attempt has ended.
   * @param inHandMs for how long the recipient was in hand; infinite if it was deferred, null if no host of the destination replied
   */
  noteAttempt(name: string, inHandMs: number | null, now: number): void {
    const isAnswered = inHandMs !== null
    if (isAnswered) this.#answered.set(name, averageWith(this.#answered.get(name) ?? Infinity, inHandMs))
    else this.#answered.delete(name)
    const destination = this.#destinations.get(name)
    const room = isAnswered ? this.#proven : this.#others
    if (!destination || destination.room === room) return
    this.#move(destination, room)
    if (isAnswered && destination.inFlight > 0) this.#moving.set(destination, now)
  }

  /** A host of the destination can be tried: it is no longer in backoff, nor are those that were with it. */
  wake(name: string): void {
    if (!this.#backoffs.has(name)) return
    for (const each of this.#backoffs.wake(name)) {
      const woken = this.#destinations.get(each)
      if (woken && woken.dueAt < Infinity && !this.#full.has(woken)) woken.room.heap.push({ key: each, dueAt: woken.dueAt })
    }
  }

  /**
   * Nothing is claimed for the destination until its host may be tried again, and then only one recipient. True if the host was not in
   * backoff before.
   */
  backOff(name: string, host: HostInBackoff): boolean {
    return this.#backoffs.add(name, host)
  }

  /** If the destination is in backoff, try its host now. */
  probeNow(name: string, now: number): void {
    this.#backoffs.probeNow(name, now)
  }

  #nextIn(room: Room, now: number): Turn | undefined {
    while (room.inFlight < room.limit && room.heap.firstDueAt <= now) {
      const { key: name, dueAt } = room.heap.pop() as { key: string; dueAt: number }
      const destination = this.#destinations.get(name)
      if (!destination || destination.dueAt !== dueAt || destination.room !== room || this.#backoffs.has(name)) continue
      const left = this.#shareOf(room) - destination.inFlight
      if (left > 0) return this.#turn(destination, left, false)
      this.#full.add(destination)
    }
    return undefined
  }

  #turn(destination: Destination, room: number, isProbe: boolean): Turn {
    destination.dueAt = Infinity
    return { name: destination.name, room, isProbe }
  }

  /** Takes hanging destinations out of the room for proven ones. */
  #findHanging(now: number): void {
    for (const [destination, since] of this.#moving) {
      if (since + hangsAfterMs > now) return
      this.#answered.delete(destination.name)
      this.#move(destination, this.#others)
    }
  }

  #move(destination: Destination, to: Room): void {
    destination.room.inFlight -= destination.inFlight
    to.inFlight += destination.inFlight
    destination.room = to
    this.#moving.delete(destination)
    const isOnHeap = destination.dueAt < Infinity && !this.#full.has(destination) && !this.#backoffs.has(destination.name)
    if (isOnHeap) to.heap.push({ key: destination.name, dueAt: destination.dueAt })
  }

  /** Removes outdated entries from the top of a heap. */
  #dropOutdated(heap: DueHeap): void {
    const isOutdated = ({ key, dueAt }: { key: string; dueAt: number }): boolean => {
      const destination = this.#destinations.get(key)
      return destination?.dueAt !== dueAt || destination.room.heap !== heap || this.#backoffs.has(key)
    }
    for (let first = heap.peek(); first && isOutdated(first); first = heap.peek()) heap.pop()
  }

  /**
   * How many recipients one destination may have claimed now: the less room is left, the fewer, down to one when a quarter is left. It
   * takes hundreds of hanging destinations to leave nothing for the others of their kind.
   */
  #shareOf(room: Room): number {
    return fairShare(this.#limit, (room.limit - room.inFlight) / room.limit)
  }

  #roomOf(name: string): Room {
    return this.#answered.has(name) ? this.#proven : this.#others
  }

  #destination(name: string): Destination {
    let destination = this.#destinations.get(name)
    if (!destination) {
      destination = { name, dueAt: Infinity, inFlight: 0, room: this.#roomOf(name) }
      this.#destinations.set(name, destination)
    }
    return destination
  }
}
