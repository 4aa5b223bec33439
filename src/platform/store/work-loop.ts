import type { Log } from '../log.ts'
import { BusyError, ClosedError, DamagedError, StorageFullError, StorageUnavailableError } from './database.ts'

/** When to retry work that failed for an internal reason (such as a full disk), ms. */
export const retryMs = 1_000
/** The same after damage, which stays until an operator acts, ms. */
const damagedRetryMs = 60_000

const transient = [StorageFullError, BusyError, StorageUnavailableError, ClosedError]

/**
 * A full disk, a lock of another process and a server that cannot be reached, which end, and health reports them in the meantime; and a stop,
 * after which a start goes on.
 */
export const isTransientFault = (error: unknown): boolean => transient.some((kind) => error instanceof kind)

interface Work {
  /** Does everything there is to do. */
  run(): Promise<void>
  /** Logged when a run fails. */
  fault: string
  /** How long a run waits for more work to combine, ms; default: 0. */
  gatherMs?: number
}

/**
 * Work that runs whenever there is some, one run at a time: if it is woken during a run, it runs once more. A failed run is repeated a
 * second later, or a minute if damage is in the way.
 */
export class WorkLoop {
  readonly #log: Log
  readonly #work: Required<Work>
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | null = null
  #isWoken = false
  #isStopped = false

  constructor(log: Log, { gatherMs = 0, ...work }: Work) {
    this.#log = log
    this.#work = { ...work, gatherMs }
  }

  /** There is something to do. Returns at once and never throws. */
  wake(waitMs = this.#work.gatherMs): void {
    this.#isWoken = true
    if (this.#isStopped || this.#running || this.#timer) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#running = this.#run().then((nextMs) => {
        this.#running = null
        if (this.#isWoken) this.wake(nextMs)
      })
    }, waitMs).unref()
  }

  /** Begins nothing new and waits for the current run. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#running
  }

  /** @returns how long the next run waits, ms */
  async #run(): Promise<number> {
    this.#isWoken = false
    try {
      await this.#work.run()
      return this.#work.gatherMs
    } catch (error) {
      if (!isTransientFault(error)) this.#log.error({ error }, `${this.#work.fault}; trying again`)
      this.#isWoken = true
      return error instanceof DamagedError ? damagedRetryMs : retryMs
    }
  }
}
