import type { Clock } from '../clock.ts'
import { lastUsed } from '../last-used.ts'
import type { Log } from '../log.ts'
import { SlidingWindow } from '../sliding-window.ts'
import { StorageFullError, type Database, type Statement } from './database.ts'
import type { LimitShares, LimitWindow, LimitWindows } from './limit-shares.ts'
import { deleteWindow, everyWindow, saveWindow, timesOf, type WindowRow } from './rate-window-rows.ts'

interface LocalServices {
  db: Pick<Database, 'read' | 'write'>
  clock: Clock
}

/** How often what has changed is saved, ms: so much is forgotten after a crash. */
const saveEveryMs = 1_000
/** Keys of what is not kept; beyond that the least recently active one starts afresh. */
const maxKeys = 10_000
/** Keys of what is not kept that nodes divide. Beyond that each counts for itself: a flood of keys costs no rows. */
export const maxDivided = 1_000

/** For one node alone: it counts in memory, and asks nobody. */
export const aloneWithLimits = (services: LocalServices): LimitShares => ({
  windows: (_, { windowMs, isKept }) => (isKept ? new KeptWindows(services, windowMs) : new ForgottenWindows(services, windowMs)),
})

class LocalWindow implements LimitWindow {
  readonly counted: SlidingWindow
  /** False if the same is already on disk. */
  isChanged = false
  readonly #clock: Pick<Clock, 'steady'>

  constructor(clock: Pick<Clock, 'steady'>, windowMs: number) {
    this.#clock = clock
    this.counted = new SlidingWindow(windowMs)
  }

  take(limit: number, count?: number): boolean {
    if (!this.counted.take(this.#clock.steady(), limit, count)) return false
    this.isChanged = true
    return true
  }

  remaining(limit: number): number {
    return Math.max(0, limit - this.counted.countAt(this.#clock.steady()))
  }

  untilNext(limit: number): number {
    return this.counted.untilNext(this.#clock.steady(), limit)
  }
}

/** Of one node for itself. */
export class ForgottenWindows implements LimitWindows {
  readonly #byKey = lastUsed<LocalWindow>(maxKeys)
  readonly #clock: Clock
  readonly #windowMs: number

  constructor({ clock }: Pick<LocalServices, 'clock'>, windowMs: number) {
    this.#clock = clock
    this.#windowMs = windowMs
  }

  of(key: string): LimitWindow {
    const window = this.#byKey.get(key) ?? new LocalWindow(this.#clock, this.#windowMs)
    this.#byKey.set(key, window)
    return window
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {}
}

/**
 * Memory holds a window for each key that was active within the time; the disk holds a row for each, written about once a second and on
 * shutdown.
 */
class KeptWindows implements LimitWindows {
  readonly #services: LocalServices
  readonly #windowMs: number
  readonly #byKey = new Map<string, LocalWindow>()
  #timer: NodeJS.Timeout | undefined
  #saving = Promise.resolve()

  constructor(services: LocalServices, windowMs: number) {
    this.#services = services
    this.#windowMs = windowMs
  }

  of(key: string): LimitWindow {
    return this.#byKey.get(key) ?? this.#add(key)
  }

  /** Loads what the previous process saved, and saves from then on. */
  async start(log: Log): Promise<void> {
    const { clock, db } = this.#services
    // In this order: whoever is held up between the two counts requests for longer, and nobody gains one.
    const offset = clock.now() - clock.steady()
    const now = clock.steady()
    for (const row of await db.read<WindowRow>(everyWindow)) {
      const { counted } = this.#add(row.account_id)
      // If the clock was set back in the meantime, times that seem to be in the future count as now.
      for (const at of timesOf(row)) counted.take(Math.min(at - offset, now), Infinity)
    }
    this.#timer = setInterval(() => void this.#saveNext(log), saveEveryMs).unref()
  }

  /** Saves for the last time. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#saving
    await this.#save()
  }

  #add(key: string): LocalWindow {
    const window = new LocalWindow(this.#services.clock, this.#windowMs)
    this.#byKey.set(key, window)
    return window
  }

  /** One save after the other, however long the disk takes. */
  #saveNext(log: Log): Promise<void> {
    this.#saving = this.#saving
      .then(() => this.#save())
      .catch((error: unknown) => {
        // Others report a full disk; the save is retried in a second.
        if (!(error instanceof StorageFullError)) log.error({ error }, 'the requests of the last minute could not be saved')
      })
    return this.#saving
  }

  /** Writes the windows that have changed, and forgets empty ones. */
  async #save(): Promise<void> {
    const { clock, db } = this.#services
    const now = clock.steady()
    const offset = clock.now() - now
    const batch: Statement[] = []
    const written: LocalWindow[] = []
    for (const [key, window] of this.#byKey) {
      if (window.counted.countAt(now) === 0) {
        this.#byKey.delete(key)
        batch.push(deleteWindow(key))
      } else if (window.isChanged) {
        // Times are known to the millisecond: rounded so that nobody gains a request through a restart.
        batch.push(
          saveWindow(
            key,
            window.counted.times().map((at) => Math.ceil(at + offset) + 1),
          ),
        )
        window.isChanged = false
        written.push(window)
      }
    }
    if (batch.length === 0) return
    try {
      await db.write(batch, { mayBatch: true })
    } catch (error) {
      for (const window of written) window.isChanged = true
      throw error
    }
  }
}
