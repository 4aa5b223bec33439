import type { Log } from '../log.ts'
import { BusyError, StorageFullError } from './database.ts'

/** When work that failed for a reason of ours (a full disk, say) is tried again, ms. */
export const retryMs = 1_000

/** A full disk and a lock of another process: they end, and health reports them meanwhile. */
export const isPassing = (error: unknown): boolean => error instanceof StorageFullError || error instanceof BusyError

interface Work {
  /** Does all there is to do. */
  run(): Promise<void>
  /** Logged when a run fails. */
  fault: string
  /** How long a run waits for more to do with it, ms; 0 unless given. */
  gatherMs?: number
}

/**
 * Work that is done whenever there is some, one run at a time: woken during a run, it runs once more. A run that fails is
 * repeated a second later.
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

  /** Begins nothing new and waits for the run under way. */
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
      if (!isPassing(error)) this.#log.error({ error }, `${this.#work.fault}; trying again`)
      this.#isWoken = true
      return retryMs
    }
  }
}
