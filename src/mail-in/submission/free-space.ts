import { statfs } from 'node:fs/promises'
import { SternaError } from '../../platform/errors.ts'
import type { Health } from '../../platform/health.ts'
import { StorageFullError } from '../../platform/store/database.ts'

/** How often the free space is measured, ms. */
const intervalMs = 1_000
/** What a message costs on disk for each byte: for a while, both the log and the database hold it. */
const writtenPerByte = 2.5
/** The reserve is at most this fraction of the file system, so that small disks are usable too. */
const maxPartBytes = 0.1

/**
 * Keeps a reserve of disk space for what is already queued: outcomes, events and retries must be written even when new mail has to be
 * refused.
 */
export class FreeSpace {
  readonly #directory: string | null
  readonly #reserve: number
  readonly #health: Health
  #left = Infinity
  #timer: NodeJS.Timeout | undefined

  /**
   * @param directory of the database; null if it is on a server, which says by itself when its disk is full
   * @param reserve bytes
   */
  constructor(directory: string | null, reserve: number, health: Health) {
    this.#directory = directory
    this.#reserve = reserve
    this.#health = health
  }

  async start(): Promise<void> {
    if (this.#directory === null) return
    await this.measure()
    this.#timer = setInterval(() => void this.measure(), intervalMs)
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** Measures the free space, if there is a directory; if the file system gives no answer, the last figure stays. */
  async measure(): Promise<void> {
    if (this.#directory === null) return
    const { bavail, blocks, bsize } = await statfs(this.#directory).catch(() => ({ bavail: NaN, blocks: 0, bsize: 0 }))
    if (Number.isNaN(bavail)) return
    this.#left = bavail * bsize - Math.min(this.#reserve, blocks * bsize * maxPartBytes)
    this.#health.set('disk_full', this.#left <= 0, { free: bavail * bsize })
  }

  /** True if a message of this many bytes would be accepted now. */
  has(bytes: number): boolean {
    return this.#left >= bytes * writtenPerByte
  }

  /**
   * Subtracts a message of this many bytes from the free space until the next measurement.
   * @throws StorageFullError if it would use up the reserve
   * @throws SternaError `service_unavailable` if the database's files no longer exist on the disk
   */
  require(bytes: number): void {
    if (this.#health.has('database_gone')) {
      throw new SternaError('service_unavailable', 'The server cannot store mail at the moment. Nothing was accepted; try again later.')
    }
    if (!this.has(bytes)) throw new StorageFullError('the disk has only its reserve left')
    this.#left -= bytes * writtenPerByte
  }
}
