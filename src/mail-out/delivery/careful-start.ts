import { nextPlace, nextTurn, noteServed, placeOf, type InTurn, type Served, type Waiter } from './connection-turns.ts'
import { standardWaitMs } from './pool-limits.ts'

interface Waiting extends InTurn {
  /** `leave` is to be called once, at the job's end; null: its turn did not come in time. */
  enter(leave: (() => void) | null): void
  timer: NodeJS.Timeout
}

/** A group that takes mail again after a stop. */
interface Start {
  /** By the steady clock. */
  begunAt: number
  /** Jobs at a time; each has one connection. */
  limit: number
  used: number
  /** Accepted since the limit rose. */
  accepted: number
  /** The urgent first, each kind by its turns. */
  waiting: Waiting[]
  served: Served
}

/** So many acceptances for each connection allow one more. */
const provenBy = 20
/** From here on there is no limit but that of all hosts. */
const enough = 20
/** Nor is there one so long after the stop, however little mail there was, ms. */
const lastsMs = 24 * 60 * 60_000

/**
 * Once a stop ends, mail comes to the group over one connection, and then over more of them one by one: all of what has waited at once would
 * bring about the next stop. Who waits has its turn as at the connections to a host. Keys are those of `ProviderStops`.
 */
export class CarefulStart {
  readonly #waitMs: number
  readonly #now: () => number
  /** The first to have begun first. */
  readonly #starts = new Map<string, Start>()

  /** @param waitMs how long a job waits for its turn; @param now the steady clock, ms */
  constructor(waitMs = standardWaitMs, now = () => performance.now()) {
    this.#waitMs = waitMs
    this.#now = now
  }

  get isOver(): boolean {
    return this.#starts.size === 0
  }

  begin(key: string): void {
    const start = this.#starts.get(key) ?? { used: 0, waiting: [], served: { urgent: 0, usual: 0, wasUrgent: false } }
    this.#starts.delete(key)
    this.#starts.set(key, Object.assign(start, { begunAt: this.#now(), limit: 1, accepted: 0 }))
  }

  /** Resolves when it is a job's turn, as `Waiting.enter` says. Null: it need not wait. */
  enter(key: string, { account, isUrgent }: Waiter): Promise<(() => void) | null> | null {
    this.#endOld()
    const start = this.#starts.get(key)
    if (!start) return null
    return new Promise((enter) => {
      const turn = nextTurn(start.waiting, { account, isUrgent }, start.served)
      const waiting = { account, isUrgent, turn, enter, timer: setTimeout(() => giveUp(start, waiting), this.#waitMs) }
      start.waiting.splice(placeOf(start.waiting, waiting), 0, waiting)
      this.#serve(start)
    })
  }

  /** The group has accepted a message. */
  accepted(key: string): void {
    const start = this.#starts.get(key)
    if (!start || ++start.accepted < provenBy * start.limit) return
    start.limit++
    start.accepted = 0
    if (start.limit >= enough) this.#end(key, start)
    else this.#serve(start)
  }

  #endOld(): void {
    for (const [key, start] of this.#starts) {
      if (start.begunAt + lastsMs > this.#now()) return
      this.#end(key, start)
    }
  }

  #end(key: string, start: Start): void {
    this.#starts.delete(key)
    start.limit = Infinity
    this.#serve(start)
  }

  #serve(start: Start): void {
    while (start.used < start.limit) {
      const [next] = start.waiting.splice(nextPlace(start.waiting, start.served), 1)
      if (!next) return
      clearTimeout(next.timer)
      noteServed(start.served, next)
      start.used++
      next.enter(() => {
        start.used--
        this.#serve(start)
      })
    }
  }
}

function giveUp(start: Start, waiting: Waiting): void {
  start.waiting.splice(start.waiting.indexOf(waiting), 1)
  waiting.enter(null)
}
