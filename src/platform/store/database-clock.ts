import { clockFrom, type CancelTimer, type Clock } from '../clock.ts'

/** What a database that is on a server said about the time. */
export interface TimeReading {
  /** When it was asked and when its answer was here, by the steady clock of this machine, ms. */
  askedAt: number
  answeredAt: number
  /** By the database's clock, epoch, ms. */
  time: number
}

/** While it is ahead of the database, this clock runs at half speed. */
const slowedBy = 1 / 2

/**
 * The clock of the database, as a node knows it that shares the database with others: a node whose own clock is wrong changes no due time, no
 * expiry and no quota. Between two readings the steady clock of this machine goes on. A reading says between which bounds the database is
 * ahead of that: it took its time after it was asked and before it answered. So a late answer moves nothing. The clock never goes back. If it
 * is ahead, it goes on at half speed until it no longer is; if it is behind, it steps forward.
 */
export class DatabaseClock implements Clock {
  readonly steady: () => number
  readonly #clock: Clock
  /** How far the database is ahead of the steady clock, ms. */
  #offset: number
  /** What this clock has too much, ms, at a time of the steady clock. */
  #excess = 0
  #excessAt = 0

  /** @param first is taken as if it were from the middle between question and answer */
  constructor(first: TimeReading, steady: () => number = () => performance.now()) {
    this.steady = steady
    this.#offset = first.time - (first.askedAt + first.answeredAt) / 2
    this.#clock = clockFrom({ now: () => this.now(), steady })
  }

  now(): number {
    const steady = this.steady()
    // Columns with times are integers.
    return Math.floor(steady + this.#offset + this.#excessLeft(steady))
  }

  at(at: number, fire: () => void): CancelTimer {
    return this.#clock.at(at, fire)
  }

  /** Call it with each answer of the database that has its time, at least once a second. */
  heard({ askedAt, answeredAt, time }: TimeReading): void {
    const offset = Math.min(Math.max(this.#offset, time - answeredAt), time - askedAt)
    if (offset === this.#offset) return
    const steady = this.steady()
    this.#excess = Math.max(0, this.#offset + this.#excessLeft(steady) - offset)
    this.#excessAt = steady
    this.#offset = offset
  }

  #excessLeft(steady: number): number {
    return this.#excess === 0 ? 0 : Math.max(0, this.#excess - (steady - this.#excessAt) * slowedBy)
  }
}
