import { setTimeout as pause } from 'node:timers/promises'
import type { StoreUpkeep } from './database.ts'

/** Between two steps, so that what others want of the store comes first, ms. */
const pauseMs = 10
/** One run gives room back for so long, ms. */
const shrinkingMs = 30_000
/** Steps of overwriting in one run. A step is a mebibyte, so a database of 11 GiB is gone through in a day of runs by the minute. */
const stepsAtOnce = 8
/** How long readers of the log are waited for, ms. */
const patienceMs = 60_000

/** Keeps the files of the database small and free of what was removed, in steps, one after the other. */
export class Upkeep {
  readonly #store: StoreUpkeep
  #place = 1
  #turn: Promise<void> = Promise.resolve()

  constructor(store: StoreUpkeep) {
    this.#store = store
  }

  /** To be called about once a minute. */
  run(): Promise<void> {
    return this.#inTurn(async () => {
      for (const end = performance.now() + shrinkingMs; (await this.#store.shrink()) && performance.now() < end;) await pause(pauseMs)
      await this.#store.emptyLog()
      for (let step = 0; step < stepsAtOnce; step++) {
        this.#place = (await this.#store.overwriteUnused(this.#place)) ?? 1
        // Its end, or somebody is in the way.
        if (this.#place === 1) return
        await pause(pauseMs)
      }
    })
  }

  /**
   * When the promise resolves, neither the database nor its log holds anything of what was removed before.
   * @throws Error where somebody reads the log for longer than a minute
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

  /** Pages that move while others are overwritten would take along what they hold. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work)
    this.#turn = done.catch(() => {})
    return done
  }
}

/** @throws Error where it does not succeed for a minute */
async function patiently(step: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + patienceMs; !(await step());) {
    if (performance.now() > end)
      throw new Error('the log of the database could not be emptied for a minute: somebody reads it all the time')
    await pause(pauseMs)
  }
  await pause(pauseMs)
}
