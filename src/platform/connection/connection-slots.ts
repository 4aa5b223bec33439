import { GroupedLru } from './grouped-lru.ts'

export interface SlotLimits {
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
export interface ConnectionSlot {
  /** The client was active: it sent a command, a request, or content that arrives fast enough. Waiting for us counts too. */
  progress(): void
  /**
   * The client has proved a key of this account, and the seat counts as the account's. False if the account has all the seats that it may
   * have, and uses them: then close the connection.
   */
  authenticated(account: string): boolean
  /** The connection is a proxy's, and now serves a stranger of this network; null: nobody. */
  serve(network: string | null): void
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

export interface SlotFigures extends Crowding {
  open: number
  max: number
}

interface SlotServices {
  /** ms, on a steady clock. */
  steady(): number
  /** Called at most once a minute, with the counts since the last time. */
  crowded(crowding: Crowding): void
}

/** ms that a new or active connection keeps its seat, unless its network or account has more than another gets */
export const restMs = 3_000
/** Connections that the kernel keeps until we take them: what comes beyond, it drops, and the client tries again after a second. */
export const backlog = 4_096
/** Seats per second that may go to those with no fewer seats. Each change costs more than a refusal. */
const changesPerSecond = 50
/** Part of all seats that one account may have. */
const accountShare = 1 / 2
/** Part of all seats that strangers get even if those who are known have more than the rest. */
const strangersShare = 1 / 4
const tellMs = 60_000

/**
 * Decides who may have a connection. A seat counts for its client's network until the client has proved a key, then for the key's account.
 * When all seats are taken, a newcomer gets one from whoever has the most: the one idle for longest. So connections that are merely held
 * open shut nobody out, and nobody can displace those who have fewer. Strangers displace only strangers once they have a quarter of all
 * seats, because anybody can come from many networks. The cost does not grow with the number of connections.
 */
export class ConnectionSlots {
  readonly #limits: SlotLimits
  readonly #maxPerAccount: number
  readonly #ofStrangers: number
  readonly #services: SlotServices
  readonly #byNetwork = new Map<string, number>()
  /** By network, in order of last activity. */
  readonly #strangers = new GroupedLru<Holder>()
  /** By account, in order of last activity. */
  readonly #known = new GroupedLru<Holder>()
  #taken = 0
  #takenByStrangers = 0
  #loners = 0
  #changesLeft = changesPerSecond
  #changedAt = 0
  #crowding: Crowding = { sentAway: 0, refused: 0 }
  readonly #total: Crowding = { sentAway: 0, refused: 0 }
  #toldAt = -Infinity

  constructor(limits: SlotLimits, services: SlotServices) {
    this.#limits = limits
    this.#maxPerAccount = Math.ceil(limits.max * accountShare)
    this.#ofStrangers = Math.min(limits.maxStrangers, Math.ceil(limits.max * strangersShare))
    this.#services = services
  }

  /** The current numbers, and what happened to connections since the start. */
  get figures(): SlotFigures {
    return { open: this.#taken, max: this.#limits.max, ...this.#total }
  }

  /** How many seats an account may have. */
  get maxPerAccount(): number {
    return this.#maxPerAccount
  }

  /**
   * Gives a seat, or says why there is none.
   * @param network the client's; null for one that counts as a network of its own, such as a proxy that many share
   * @param sendAway closes the connection, because somebody else got its seat; what is being carried out for it may end first
   */
  take(network: string | null, sendAway: () => void): ConnectionSlot | 'full' | 'network_full' {
    const name = network ?? this.#loner()
    const refusal = this.#makeRoom(name)
    if (refusal) {
      this.#note('refused')
      return refusal
    }
    const holder: Holder = { network: name, account: null, sendAway, isGone: false, progressAt: 0 }
    this.#taken++
    this.#enter(holder)
    return {
      progress: () => this.#progress(holder),
      authenticated: (account) => this.#vouch(holder, account),
      serve: (served) => this.#serve(holder, served),
      free: () => this.#free(holder),
    }
  }

  #loner(): string {
    return `loner ${++this.#loners}`
  }

  #progress(holder: Holder): void {
    if (holder.isGone) return
    holder.progressAt = this.#services.steady()
    if (holder.account === null) this.#strangers.add(holder.network, holder)
    else this.#known.add(holder.account, holder)
  }

  #vouch(holder: Holder, account: string): boolean {
    if (holder.isGone || holder.account === account) return true
    if (this.#known.sizeOf(account) >= this.#maxPerAccount) {
      const leaving = this.#changing(this.#known.oldestOf(account))
      if (!leaving) {
        this.#note('refused')
        return false
      }
      this.#sendAway(leaving)
    }
    this.#leave(holder)
    this.#enter(Object.assign(holder, { account }))
    return true
  }

  #serve(holder: Holder, network: string | null): void {
    if (holder.isGone) return
    this.#leave(holder)
    this.#enter(Object.assign(holder, { account: null, network: network ?? this.#loner() }))
  }

  #free(holder: Holder): void {
    if (holder.isGone) return
    this.#leave(holder)
    holder.isGone = true
    this.#taken--
  }

  /** Counts a holder. Arriving counts as activity. */
  #enter(holder: Holder): void {
    if (holder.account === null) this.#takenByStrangers++
    this.#countNetwork(holder, 1)
    this.#progress(holder)
  }

  #leave(holder: Holder): void {
    if (holder.account === null) {
      this.#takenByStrangers--
      this.#strangers.remove(holder.network, holder)
    } else this.#known.remove(holder.account, holder)
    this.#countNetwork(holder, -1)
  }

  #sendAway(holder: Holder): void {
    this.#note('sentAway')
    this.#free(holder)
    holder.sendAway()
  }

  /** Makes room for one more connection from this network. */
  #makeRoom(network: string): 'full' | 'network_full' | null {
    const isNetworkFull = (this.#byNetwork.get(network) ?? 0) >= this.#limits.maxPerNetwork
    const isFull = this.#taken >= this.#limits.max || this.#takenByStrangers >= this.#limits.maxStrangers
    if (!isNetworkFull && !isFull) return null
    const leaving = isNetworkFull ? this.#changing(this.#leavingIn(network)) : this.#leavingFor(network)
    if (!leaving) return isNetworkFull ? 'network_full' : 'full'
    this.#sendAway(leaving)
    return null
  }

  /** Who has to give way where the network has all the seats that it may have: a stranger of it, or of the account that fills it. */
  #leavingIn(network: string): Holder | undefined {
    const known = this.#known.largest > 1 ? this.#known.oldestOfLargest() : undefined
    return this.#strangers.oldestOf(network) ?? (known?.network === network ? known : undefined)
  }

  /** Who has to give way to a newcomer from this network when all seats are taken. */
  #leavingFor(network: string): Holder | undefined {
    const itsOwn = this.#strangers.sizeOf(network)
    const crowd = this.#mayTakeFromKnown ? this.#known : this.#strangers
    if (crowd.largest > itsOwn + 1) return crowd.oldestOfLargest()
    // With the newcomer, its own network would be the largest, or tied.
    const isOwnLargest = crowd === this.#strangers && itsOwn === crowd.largest
    return this.#changing(isOwnLargest ? crowd.oldestOf(network) : crowd.oldestOfLargest())
  }

  get #mayTakeFromKnown(): boolean {
    return this.#takenByStrangers < this.#ofStrangers && this.#known.largest > this.#strangers.largest
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

  #countNetwork({ network, account }: Holder, change: 1 | -1): void {
    if (account !== null && !this.#limits.countsKnown) return
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
  /** Whose key it has proved; null: a stranger. */
  account: string | null
  sendAway: () => void
  isGone: boolean
  /** On the steady clock. */
  progressAt: number
}
