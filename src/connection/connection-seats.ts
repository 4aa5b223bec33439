import { Crowd } from './crowd.ts'

export interface SeatLimits {
  /** Connections over all ports that share them. */
  max: number
  /** Of these, connections of strangers. */
  maxStrangers: number
  /** Per client network. */
  maxPerNetwork: number
  /** Whether known clients count towards `maxPerNetwork`. */
  countsKnown: boolean
}

/** One connection's right to be open. */
export interface Seat {
  /** The client was active: it sent a command, a request, or content that arrives fast enough. Waiting for us counts too. */
  progress(): void
  /** The client has proved a key. Nobody else gets its seat while the connection lasts. */
  vouch(): void
  /** The connection has ended. */
  free(): void
}

/** What happened to connections when there was no free seat. */
export interface Crowding {
  /** Lost their seat to a newcomer. */
  sentAway: number
  /** Got none. */
  refused: number
}

export interface SeatFigures extends Crowding {
  open: number
  max: number
}

interface SeatServices {
  /** ms, on a steady clock. */
  steady(): number
  /** Called at most once a minute, with the counts since the last time. */
  crowded(crowding: Crowding): void
}

/** ms that a new or active connection keeps its seat, unless its network has more than another gets */
export const restMs = 3_000
/** Seats per second that may go to networks with no fewer seats. Each change costs more than a refusal. */
const changesPerSecond = 50
const tellMs = 60_000

/**
 * Decides who may have a connection. When all seats are taken, a newcomer gets a stranger's: from the network with the most seats, the one
 * idle for longest. So connections that are merely held open shut nobody out, and a network cannot displace one that has fewer. The cost
 * does not grow with the number of connections.
 */
export class ConnectionSeats {
  readonly #limits: SeatLimits
  readonly #services: SeatServices
  readonly #byNetwork = new Map<string, number>()
  /** In order of last activity. */
  readonly #strangers = new Crowd<Holder>()
  #taken = 0
  #takenByStrangers = 0
  #loners = 0
  #changesLeft = changesPerSecond
  #changedAt = 0
  #crowding: Crowding = { sentAway: 0, refused: 0 }
  readonly #total: Crowding = { sentAway: 0, refused: 0 }
  #toldAt = -Infinity

  constructor(limits: SeatLimits, services: SeatServices) {
    this.#limits = limits
    this.#services = services
  }

  /** The current numbers, and what happened to connections since the start. */
  get figures(): SeatFigures {
    return { open: this.#taken, max: this.#limits.max, ...this.#total }
  }

  /**
   * Gives a seat, or says why there is none.
   * @param network the client's; null for one that counts as a network of its own, such as a proxy that many share
   * @param sendAway closes the connection, because somebody else got its seat
   */
  take(network: string | null, sendAway: () => void): Seat | 'full' | 'network_full' {
    const name = network ?? `loner ${++this.#loners}`
    const refusal = this.#makeRoom(name)
    if (refusal) {
      this.#note('refused')
      return refusal
    }
    this.#taken++
    this.#takenByStrangers++
    this.#count(name, 1)
    const holder: Holder = { network: name, sendAway, standing: 'stranger', progressAt: 0 }
    // Arriving counts as activity.
    this.#progress(holder)
    return { progress: () => this.#progress(holder), vouch: () => this.#vouch(holder), free: () => this.#free(holder) }
  }

  #progress(holder: Holder): void {
    if (holder.standing !== 'stranger') return
    holder.progressAt = this.#services.steady()
    this.#strangers.add(holder.network, holder)
  }

  #vouch(holder: Holder): void {
    if (holder.standing !== 'stranger') return
    this.#leaveStrangers(holder, 'known')
    if (!this.#limits.countsKnown) this.#count(holder.network, -1)
  }

  #free(holder: Holder): void {
    if (holder.standing === 'gone') return
    if (holder.standing === 'stranger' || this.#limits.countsKnown) this.#count(holder.network, -1)
    if (holder.standing === 'stranger') this.#leaveStrangers(holder, 'gone')
    holder.standing = 'gone'
    this.#taken--
  }

  #leaveStrangers(holder: Holder, standing: 'known' | 'gone'): void {
    holder.standing = standing
    this.#strangers.remove(holder.network, holder)
    this.#takenByStrangers--
  }

  /** Makes room for one more connection from this network. */
  #makeRoom(network: string): 'full' | 'network_full' | null {
    const isNetworkFull = (this.#byNetwork.get(network) ?? 0) >= this.#limits.maxPerNetwork
    const isFull = this.#taken >= this.#limits.max || this.#takenByStrangers >= this.#limits.maxStrangers
    if (!isNetworkFull && !isFull) return null
    const leaving = isNetworkFull ? this.#changing(this.#strangers.oldestOf(network)) : this.#leavingFor(network)
    if (!leaving) return isNetworkFull ? 'network_full' : 'full'
    this.#note('sentAway')
    this.#free(leaving)
    leaving.sendAway()
    return null
  }

  /** Who has to give way to a newcomer from this network when all seats are taken. */
  #leavingFor(network: string): Holder | undefined {
    const strangers = this.#strangers
    const itsOwn = strangers.sizeOf(network)
    if (strangers.largest > itsOwn + 1) return strangers.oldestOfLargest()
    // With the newcomer, its own network would be the largest, or tied.
    return this.#changing(itsOwn === strangers.largest ? strangers.oldestOf(network) : strangers.oldestOfLargest())
  }

  /** The holder, if it has been idle and there have not been too many changes. */
  #changing(holder: Holder | undefined): Holder | undefined {
    const now = this.#services.steady()
    if (!holder || now - holder.progressAt < restMs) return undefined
    this.#changesLeft = Math.min(changesPerSecond, this.#changesLeft + ((now - this.#changedAt) * changesPerSecond) / 1000)
    this.#changedAt = now
    if (this.#changesLeft < 1) return undefined
    this.#changesLeft--
    return holder
  }

  #count(network: string, change: 1 | -1): void {
    const count = (this.#byNetwork.get(network) ?? 0) + change
    if (count === 0) this.#byNetwork.delete(network)
    else this.#byNetwork.set(network, count)
  }

  #note(what: keyof Crowding): void {
    this.#crowding[what]++
    this.#total[what]++
    const now = this.#services.steady()
    if (now - this.#toldAt < tellMs) return
    this.#services.crowded(this.#crowding)
    this.#crowding = { sentAway: 0, refused: 0 }
    this.#toldAt = now
  }
}

interface Holder {
  network: string
  sendAway: () => void
  standing: 'stranger' | 'known' | 'gone'
  /** On the steady clock. */
  progressAt: number
}
