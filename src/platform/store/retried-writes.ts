import type { Log } from '../log.ts'
import { ConflictError, DamagedError, type Database, type Statement, type Written } from './database.ts'

interface RetriedWritesServices {
  db: Pick<Database, 'write'>
  log: Log
}

/** The wait before a batch is written again, ms: it doubles up to the longest. */
const firstWaitMs = 100
const maxWaitMs = 4_000
/** From this wait on, what damage keeps from being written is left out, ms. */
const damagedAfterMs = 1_600

/**
 * Writes what has happened in the world and cannot be undone, such as the outcome of an attempt: if it were forgotten, it would happen
 * again. Retries a batch until it is written, whatever is in the way (a full disk, a lock of another process), or until the process
 * ends. Only a conflict ends it earlier, because somebody else has then decided the same matter. Statements after the first that need a
 * damaged page are given up: without their event, a delivery is at least not repeated after a restart.
 */
export class RetriedWrites {
  readonly #services: RetriedWritesServices
  /** Ends each wait in progress. */
  readonly #wakes = new Set<() => void>()
  #isFailing = false
  #isStopped = false

  constructor(services: RetriedWritesServices) {
    this.#services = services
  }

  /**
   * Null if `stop` came before it could be written.
   * @throws ConflictError
   */
  async write(batch: Statement[]): Promise<Written[] | null> {
    let left = batch
    for (let waitMs = firstWaitMs; ; waitMs = Math.min(2 * waitMs, maxWaitMs)) {
      const isLast = this.#isStopped
      try {
        const written = await this.#services.db.write(left, { mayBatch: true })
        this.#noteWritten()
        return written
      } catch (error) {
        if (error instanceof ConflictError) throw error
        this.#noteFailure(error)
        if (error instanceof DamagedError && error.statement > 0 && (isLast || waitMs >= damagedAfterMs)) {
          this.#services.log.error({ error }, 'a part of an outcome cannot be written to a damaged page and is given up')
          left = left.toSpliced(error.statement, 1)
          continue
        }
        if (isLast) return null
        if (!this.#isStopped) await this.#pause(waitMs)
      }
    }
  }

  /** Tries pending batches once more at once, and nothing after that. */
  stop(): void {
    this.#isStopped = true
    for (const wake of this.#wakes) wake()
  }

  /** Once, however many batches fail. */
  #noteFailure(error: unknown): void {
    if (this.#isFailing) return
    this.#isFailing = true
    this.#services.log.error({ error }, 'outcomes cannot be written to the database; retrying until they are')
  }

  #noteWritten(): void {
    if (!this.#isFailing) return
    this.#isFailing = false
    this.#services.log.info({}, 'outcomes can be written to the database again')
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer)
        this.#wakes.delete(wake)
        resolve()
      }
      const timer = setTimeout(wake, ms).unref()
      this.#wakes.add(wake)
    })
  }
}
