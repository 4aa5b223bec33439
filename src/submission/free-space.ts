import { statfs } from 'node:fs/promises'
import { SternaError } from '../errors.ts'
import type { Health } from '../health.ts'
import { StorageFullError } from '../store/database.ts'

/** How often the file system is asked, ms. */
const intervalMs = 1_000
/** What a message costs on disk for each byte of it: log and database hold it for a while both. */
const writtenPerByte = 2.5
/** The reserve is never more than this part of the file system, so that a small disk can be used at all. */
const largestPart = 0.1

/**
 * Keeps a reserve of disk space for what is queued already: outcomes, events and retries must be written even when
 * new mail has to be refused.
 */
export class FreeSpace {
  readonly #directory: string
  readonly #reserve: number
  readonly #health: Health
  #left = Infinity
  #timer: NodeJS.Timeout | undefined

  /** `reserve` in bytes */
  constructor(directory: string, reserve: number, health: Health) {
    this.#directory = directory
    this.#reserve = reserve
    this.#health = health
  }

  async start(): Promise<void> {
    await this.measure()
    this.#timer = setInterval(() => void this.measure(), intervalMs)
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** Asks the file system; where it gives no answer the last figure stands. */
  async measure(): Promise<void> {
    const { bavail, blocks, bsize } = await statfs(this.#directory).catch(() => ({ bavail: NaN, blocks: 0, bsize: 0 }))
    if (Number.isNaN(bavail)) return
    this.#left = bavail * bsize - Math.min(this.#reserve, blocks * bsize * largestPart)
    this.#health.set('disk_full', this.#left <= 0, { free: bavail * bsize })
  }

  /** True where a message of so many bytes would be let in now. */
  has(bytes: number): boolean {
    return this.#left >= bytes * writtenPerByte
  }

  /**
   * Counts a message of so many bytes against what is left until the next measurement.
   * @throws StorageFullError where it would use up the reserve
   * @throws SternaError `service_unavailable` where what is written has no place on the disk any more
   */
  require(bytes: number): void {
    if (this.#health.has('database_gone')) {
      throw new SternaError('service_unavailable', 'The server cannot keep mail at the moment. Nothing was accepted; try again later.')
    }
    if (!this.has(bytes)) throw new StorageFullError('the disk has only its reserve left')
    this.#left -= bytes * writtenPerByte
  }
}
