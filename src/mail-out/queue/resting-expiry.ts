import type { CancelTimer, Clock } from '../../platform/clock.ts'

interface RestingExpiryServices {
  clock: Clock
  /** Destinations that rest, and why. */
  resting(): Iterable<{ name: string; reason: string }>
  /** Bounces expired mail for a destination. */
  expire(destination: string, reason: string): Promise<void>
  failed(error: unknown): void
}

/** How often to check, ms. */
const everyMs = 15_000

/** Mail that expires while its destination rests is bounced at once, not when its host is tried again. */
export class RestingExpiry {
  readonly #services: RestingExpiryServices
  #cancelTimer: CancelTimer = () => {}
  #isArmed = false
  #isStopped = false

  constructor(services: RestingExpiryServices) {
    this.#services = services
  }

  /** A destination rests: check until none does. */
  arm(): void {
    if (this.#isArmed || this.#isStopped) return
    this.#isArmed = true
    const { clock, failed } = this.#services
    this.#cancelTimer = clock.at(clock.now() + everyMs, () => void this.#look().catch(failed))
  }

  stop(): void {
    this.#isStopped = true
    this.#cancelTimer()
  }

  async #look(): Promise<void> {
    const resting = [...this.#services.resting()]
    try {
      for (const { name, reason } of resting) if (!this.#isStopped) await this.#services.expire(name, reason)
    } finally {
      this.#isArmed = false
      if (resting.length > 0) this.arm()
    }
  }
}
