/** Numbers that look random and are the same for the same seed (mulberry32). */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed | 0
  }

  /** A whole number from 0 to `below - 1`. */
  below(below: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below)
  }

  /** True once in so many times. */
  oneIn(times: number): boolean {
    return this.below(times) === 0
  }

  of<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T
  }
}
