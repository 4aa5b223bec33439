import { setTimeout as pause } from 'node:timers/promises'
import { eachInTurn } from './each-in-turn.ts'
import type { StoreUpkeep } from './store.ts'

/** The pause between two steps, so that other work in the store comes first, ms. */
const pauseMs = 10
/** How long one run returns space, ms. */
const shrinkingMs = 30_000
/** Overwriting steps in one run. A step is a mebibyte, so runs every minute go through a database of 11 GiB in about a day. */
const stepsAtOnce = 8
/** How long to wait for readers of the log, ms. */
const patienceMs = 60_000

/** Keeps the database files small and free of removed data, in steps, one after the other. */
export class Upkeep {
  readonly #store: StoreUpkeep
  #place = 1
  #turn: Promise<void> = Promise.resolve()

  constructor(store: StoreUpkeep) {
    this.#store = store
  }

  /** Call it about once a minute. */
  run(): Promise<void> {
    return this.#inTurn(() => eachInTurn([() => this.#shrink(), () => this.#store.emptyLog(), () => this.#overwrite()]))
  }

  async #shrink(): Promise<void> {
    for (const end = performance.now() + shrinkingMs; (await this.#store.shrink()) && performance.now() < end;) await pause(pauseMs)
  }

  async #overwrite(): Promise<void> {
    for (let step = 0; step < stepsAtOnce; step++) {
      this.#place = (await this.#store.overwriteUnused(this.#place)) ?? 1
      // The end of the file, or somebody is in the way.
      if (this.#place === 1) return
      await pause(pauseMs)
    }
  }

  /**
   * When the promise resolves, neither the database nor its log holds anything that was removed before.
   * @throws Error if somebody reads the log for longer than a minute
   */
  overwriteAll(): Promise<void> {
    return this.#inTurn(async () => {
      for (let place: number | null = 1; place !== null;) {
        const from: number = place
        await patiently(async () => (place = await this.#store.overwriteUnused(from)) !== from)
      }
      await patiently(() => this.#store.emptyLog())
    })
  }

  /** If pages were moved while others are overwritten, their leftovers would move with them. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work)
    this.#turn = done.catch(() => {})
    return done
  }
}

/** @throws Error if it does not succeed within a minute */
async function patiently(step: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + patienceMs; !(await step());) {
    if (performance.now() > end)
      throw new Error('the log of the database could not be emptied for a minute, because it is being read all the time')
    await pause(pauseMs)
  }
  await pause(pauseMs)
}
