import { lastUsed } from '../../platform/last-used.ts'
import { fairShare } from '../../platform/fair-share.ts'
import { AccountTurns } from './account-turns.ts'
import type { AboutDestinations, HostInBackoff } from './backoffs.ts'
import { destinationKey, isUrgent, nameOf, urgentKey } from './destination-key.ts'
import { isOverfull, roomsOf, type Room, type Rooms } from './destination-rooms.ts'
import { Gate } from './gate.ts'
import type { Lane } from './queue-store.ts'
import { averageWith, type Pace } from './submission-hold.ts'

/** A destination with mail that is waiting in the queue or claimed: its usual mail, or its urgent mail. */
interface Destination {
  key: string
  name: string
  /** When the first waiting mail is due, epoch ms; infinite if nothing waits. */
  dueAt: number
  /** Whose mail that is; null until any waits. */
  turns: AccountTurns | null
  /** Claimed recipients. */
  inFlight: number
  /** The pool in which its claimed recipients count. */
  room: Room
  /** True until a host of it has answered, and again if none of them does. */
  isStranger: boolean
}

/** What to claim. */
export interface Turn {
  lane: Lane
  /** recipients */
  room: number
  /** True if it is a probe of whether a host is up again. */
  isProbe: boolean
}

/** A destination hangs if none of its claimed recipients has made progress for this long, ms. */
const hangsAfterMs = 2_000
/**
 * How many recipients of a stranger may be claimed, as Postfix begins with: mail for a hundred new destinations at once would open
 * thousands of connections, and hold up the others meanwhile.
 */
const strangerLimit = 5
/** How many destinations are remembered as answering. */
const maxRemembered = 20_000
/** Room for urgent mail beside the rest: of one destination, and of all together. */
const urgentLimit = 16
const urgentTotalLimit = 500

const limitOf = ({ isStranger, room }: Destination): number => (isStranger ? Math.min(strangerLimit, room.limitEach) : room.limitEach)

/**
 * The destinations that have mail in the queue, in memory: one entry per destination and account, however long the queue. Destinations take
 * turns, so one that is slow or has a long queue does not hold up the others; so do the accounts whose mail waits for one of them. Those
 * that have recently answered have room of their own, and lose it if they hang. Urgent mail has room of its own everywhere. A destination
 * whose hosts are down is in backoff.
 */
export class DestinationDirectory {
  readonly #destinations = new Map<string, Destination>()
  /** Destinations with more mail to claim that are at their limit. They are in no line. */
  readonly #full = new Set<Destination>()
  readonly #usual: Rooms
  readonly #urgent = roomsOf(urgentLimit, urgentTotalLimit)
  /** Those that go first, first. */
  readonly #rooms: readonly Room[]
  /** Destinations that have answered, and how long their recipients are in hand on average, ms; infinite if the last one was deferred. */
  readonly #answered = lastUsed<number>(maxRemembered)
  /** Proven destinations with claimed recipients, and when one of those last made progress; the longest idle first. */
  readonly #moving = new Map<Destination, number>()
  readonly gate = new Gate()
  readonly #waiting: AboutDestinations = {
    dueAt: (name) => this.#both(name).reduce((first, { dueAt }) => Math.min(first, dueAt), Infinity),
    isInFlight: (name) => this.#both(name).some(({ inFlight }) => inFlight > 0),
  }

  /**
   * `limit`: how many recipients of one destination may be claimed; `totalLimit`: of all together, half of them for those that answer. Urgent
   * mail does not count.
   */
  constructor(limit: number, totalLimit: number) {
    this.#usual = roomsOf(limit, totalLimit)
    this.#rooms = [this.#urgent, this.#usual].flatMap(({ proven, others }) => [proven, others])
  }

  /** Claimed recipients of all destinations. */
  get inFlight(): number {
    let sum = 0
    for (const { inFlight } of this.#rooms) sum += inFlight
    return sum
  }

  /**
   * When the oldest waiting mail was due, epoch ms. Includes destinations at their limit, but not those in backoff. Infinite if nothing
   * waits.
   */
  get oldestDueAt(): number {
    let oldest = Infinity
    for (const { line } of this.#rooms) oldest = Math.min(oldest, line.firstDueAt)
    for (const { dueAt, name } of this.#full) if (!this.gate.has(name)) oldest = Math.min(oldest, dueAt)
    return oldest
  }

  /**
   * No destination of the group is claimed from until its hosts may be tried again, and then only one recipient of one. Null: they take mail
   * again.
   */
  setStop(group: string, stop: HostInBackoff | null): void {
    if (!stop) return this.#getAllInLine(this.gate.endStop(group))
    if (!this.gate.stop(group, stop)) return
    for (const { name } of this.#destinations.values()) if (this.gate.isIn(name, group)) this.backOff(name, stop)
  }

  /** False if mail may go another way than to the hosts of its group. What waits otherwise wakes, because its way may be another one now. */
  heedStops(areHeeded: boolean): void {
    this.#getAllInLine(this.gate.heedStops(areHeeded))
  }

  /** Destinations in backoff, and why. */
  get inBackoff(): Iterable<{ name: string; reason: string }> {
    return this.gate.all()
  }

  /** Mail of this lane waits in the queue and is due at this time. */
  noteWaiting(lane: Lane, dueAt: number): void {
    const destination = this.#destination(destinationKey(lane))
    destination.turns ??= new AccountTurns()
    destination.turns.note(lane.account_id, dueAt)
    if (dueAt >= destination.dueAt) return
    destination.dueAt = dueAt
    this.#getInLine(destination)
  }

  /**
   * True if mail for the destination is already due, if it is at its limit, or if it is in backoff: newer mail must then wait in the queue
   * behind it.
   */
  isBehind(key: string, now: number): boolean {
    const destination = this.#destinations.get(key)
    const room = destination?.room ?? this.#roomOf(key)
    if (room.inFlight >= room.limit) return true
    if (!destination) return this.gate.has(nameOf(key))
    return destination.dueAt <= now || destination.inFlight >= limitOf(destination) || this.gate.has(destination.name)
  }

  /** Undefined if it has not answered of late, has no mail in hand or in the queue, or is in backoff. */
  paceOf(key: string, now: number): Pace | undefined {
    const destination = this.#destinations.get(key)
    const inHandMs = destination && this.#answered.get(destination.name)
    if (!destination || inHandMs === undefined || this.gate.has(destination.name)) return undefined
    const { inFlight, dueAt } = destination
    return { inHandMs, inFlight, idleMs: now - (this.#moving.get(destination) ?? now), overdueMs: Math.max(0, now - dueAt) }
  }

  /** The next lane to claim from, and how many recipients; undefined if none is due or there is no room. */
  next(now: number): Turn | undefined {
    this.#findHanging(now)
    const probe = this.gate.nextProbe(now, this.#waiting)
    if (probe !== undefined) return this.#probeTurn(probe, now)
    for (const room of this.#rooms) {
      const turn = this.#nextIn(room, now)
      if (turn) return turn
    }
    return undefined
  }

  /** When to ask for the next one again if there is none now, epoch ms; also ask when claims are released. */
  nextLookAt(now: number): number {
    let at = this.gate.firstProbeAt
    for (const room of this.#rooms) {
      const { firstDueAt } = room.line
      if (firstDueAt > now) at = Math.min(at, firstDueAt)
    }
    // Once a destination that fills the room is found to hang, another gets its turn.
    const [since] = this.#moving.values()
    const isWaitedFor = isOverfull(this.#urgent.proven, now) || isOverfull(this.#usual.proven, now)
    return isWaitedFor && since !== undefined ? Math.min(at, since + hangsAfterMs) : at
  }

  claimed(key: string, recipients: number, now: number): void {
    const destination = this.#destination(key)
    destination.inFlight += recipients
    destination.room.inFlight += recipients
    if (destination.room === this.#roomsOf(key).proven && !this.#moving.has(destination)) this.#moving.set(destination, now)
  }

  released(key: string, recipients: number, now: number): void {
    const destination = this.#destination(key)
    destination.inFlight -= recipients
    destination.room.inFlight -= recipients
    if (this.#moving.delete(destination) && destination.inFlight > 0) this.#moving.set(destination, now)
    if (this.#full.delete(destination)) this.#getInLine(destination)
    if (destination.inFlight > 0 || destination.dueAt < Infinity) return
    this.#destinations.delete(key)
    if (this.gate.has(destination.name) && this.#both(destination.name).length === 0) this.gate.forget(destination.name)
  }

  /**
   * An attempt has ended.
   * @param inHandMs for how long the recipient was in hand; infinite if it was deferred, null if no host of the destination replied
   */
  noteAttempt(name: string, inHandMs: number | null, now: number): void {
    const isAnswered = inHandMs !== null
    const average = this.#answered.get(name)
    if (isAnswered) this.#answered.set(name, averageWith(average ?? Infinity, inHandMs))
    else this.#answered.delete(name)
    // Then its mail of both kinds has the room already.
    if (isAnswered && average !== undefined) return
    for (const destination of this.#both(name)) {
      const { proven, others } = this.#roomsOf(destination.key)
      const room = isAnswered ? proven : others
      destination.isStranger = !isAnswered
      if (destination.room === room) continue
      this.#move(destination, room)
      if (isAnswered && destination.inFlight > 0) this.#moving.set(destination, now)
    }
  }

  /** A host of the destination can be tried: it is no longer in backoff, nor are those that were with it. */
  wake(name: string): void {
    if (!this.gate.has(name)) return
    this.#getAllInLine(this.gate.wake(name))
  }

  /**
   * Nothing is claimed for the destination until its host may be tried again, and then only one recipient. True if the host was not in
   * backoff before.
   */
  backOff(name: string, host: HostInBackoff): boolean {
    for (const { key, room } of this.#both(name)) room.line.delete(key)
    return this.gate.add(name, host)
  }

  /** If the destination is in backoff, try its host now. */
  probeNow(name: string, now: number): void {
    this.gate.probeNow(name, now)
  }

  #nextIn(room: Room, now: number): Turn | undefined {
    while (room.inFlight < room.limit && room.line.firstDueAt <= now) {
      const destination = this.#destination(room.line.first ?? '')
      room.line.delete(destination.key)
      const left = this.#shareOf(destination) - destination.inFlight
      if (left <= 0) this.#full.add(destination)
      else {
        const turn = this.#turn(destination, left, now)
        if (turn) return turn
      }
    }
    return undefined
  }

  /** One account's turn: its part of the room that is left. The others get in line again. */
  #turn(destination: Destination, left: number, now: number): Turn | undefined {
    const turn = this.#takeTurn(destination, now)
    if (!turn) return undefined
    this.#getInLine(destination)
    return { lane: turn.lane, room: Math.ceil(left / (turn.others + 1)), isProbe: false }
  }

  /** Usual mail tries whether a host is up again, where there is some. */
  #probeTurn(name: string, now: number): Turn | undefined {
    const destination = this.#both(name).find(({ dueAt }) => dueAt <= now)
    const turn = destination && this.#takeTurn(destination, now)
    return turn && { lane: turn.lane, room: 1, isProbe: true }
  }

  #takeTurn(destination: Destination, now: number): { lane: Lane; others: number } | undefined {
    const { turns, name, key } = destination
    const turn = turns?.next(now)
    destination.dueAt = turns?.firstDueAt ?? Infinity
    const urgent = isUrgent(key) ? 1 : 0
    return turn && { lane: { destination: name, account_id: turn.accountId, urgent }, others: turn.others }
  }

  /** With the others of its kind, or with those that wait for a probe. */
  #getInLine(destination: Destination): void {
    const { key, name, dueAt, room } = destination
    if (dueAt === Infinity || this.#full.has(destination)) return
    if (this.gate.has(name)) this.gate.noteWaiting(name, dueAt)
    else room.line.set(key, dueAt)
  }

  /** They have woken. */
  #getAllInLine(names: Iterable<string>): void {
    for (const name of names) for (const destination of this.#both(name)) this.#getInLine(destination)
  }

  /** Takes hanging destinations out of the rooms for proven ones. */
  #findHanging(now: number): void {
    for (const [destination, since] of this.#moving) {
      if (since + hangsAfterMs > now) return
      this.#answered.delete(destination.name)
      this.#move(destination, this.#roomsOf(destination.key).others)
    }
  }

  #move(destination: Destination, to: Room): void {
    destination.room.line.delete(destination.key)
    destination.room.inFlight -= destination.inFlight
    to.inFlight += destination.inFlight
    destination.room = to
    this.#moving.delete(destination)
    this.#getInLine(destination)
  }

  /**
   * How many recipients one destination may have claimed now: the less room is left, the fewer, down to one when a quarter is left. It
   * takes hundreds of hanging destinations to leave nothing for the others of their kind.
   */
  #shareOf(destination: Destination): number {
    const { limit, inFlight } = destination.room
    return fairShare(limitOf(destination), (limit - inFlight) / limit)
  }

  #roomOf(key: string): Room {
    const { proven, others } = this.#roomsOf(key)
    return this.#answered.has(nameOf(key)) ? proven : others
  }

  #roomsOf(key: string): Rooms {
    return isUrgent(key) ? this.#urgent : this.#usual
  }

  /** The usual and the urgent mail for a destination, as far as there is some. */
  #both(name: string): Destination[] {
    return [this.#destinations.get(name), this.#destinations.get(urgentKey(name))].filter((each) => each !== undefined)
  }

  #destination(key: string): Destination {
    let destination = this.#destinations.get(key)
    if (!destination) {
      destination = {
        key,
        name: nameOf(key),
        dueAt: Infinity,
        turns: null,
        inFlight: 0,
        room: this.#roomOf(key),
        isStranger: !this.#answered.has(nameOf(key)),
      }
      this.#destinations.set(key, destination)
    }
    return destination
  }
}
