/** Lets message contents into memory only up to a limit; one larger than the limit gets in alone. */
export class ByteBudget {
  readonly #limit: number
  readonly #waiting: { bytes: number; enter: () => void }[] = []
  #used = 0

  /** `limit` in bytes */
  constructor(limit: number) {
    this.#limit = limit
  }

  /** Resolves, in the order of the calls, once there is room; give the bytes back afterwards. */
  async take(bytes: number): Promise<void> {
    if (this.#waiting.length === 0 && this.#fits(bytes)) {
      this.#used += bytes
      return
    }
    await new Promise<void>((enter) => this.#waiting.push({ bytes, enter }))
  }

  get isIdle(): boolean {
    return this.#used === 0 && this.#waiting.length === 0
  }

  giveBack(bytes: number): void {
    this.#used -= bytes
    for (let next = this.#waiting[0]; next && this.#fits(next.bytes); next = this.#waiting[0]) {
      this.#waiting.shift()
      this.#used += next.bytes
      next.enter()
    }
  }

  #fits(bytes: number): boolean {
    return fits(this.#used, bytes, this.#limit)
  }
}

/** True if this many bytes still fit; more than the limit fits only alone. */
export const fits = (used: number, bytes: number, limit: number): boolean => used === 0 || used + bytes <= limit
