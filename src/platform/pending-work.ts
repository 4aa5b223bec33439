/** Tracks work in progress, so that a stop can wait for it. */
export class PendingWork {
  readonly #work = new Set<Promise<void>>()
  readonly #failed: (error: unknown) => void

  /** @param failed called for work that rejects */
  constructor(failed: (error: unknown) => void) {
    this.#failed = failed
  }

  track(work: Promise<unknown>): void {
    const ended = (): void => void this.#work.delete(tracked)
    const tracked = work.then(ended, (error: unknown) => {
      ended()
      this.#failed(error)
    })
    this.#work.add(tracked)
  }

  /** Waits for all of it, including what begins meanwhile, but no longer than `maxMs`. */
  async ended(maxMs = Infinity): Promise<void> {
    let isLate = false
    const late = Promise.withResolvers<void>()
    const timer = maxMs === Infinity ? undefined : setTimeout(() => late.resolve(void (isLate = true)), maxMs).unref()
    while (this.#work.size > 0 && !isLate) await Promise.race([Promise.all(this.#work), late.promise])
    clearTimeout(timer)
  }
}
