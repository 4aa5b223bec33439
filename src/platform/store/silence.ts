/** How long a counter must stand still, ms. */
export const silentMs = 5_000
/** After a longer time without a look of its own, an observer does not know what it has missed, ms. */
const gapMs = 2_500

export interface Beat {
  name: string
  /** Counts up while the node lives. */
  beat: number
}

/** The time of a look, by the observer's steady clock, ms. */
interface Look {
  beganAt: number
  endedAt: number
}

/**
 * What an observer makes of the beats of others. A node is dead when its counter has stood still for `silentMs` while the observer looked
 * every moment; after a gap in its own looks, all get that time anew. No clock is compared with another's.
 */
export class Silence {
  #heard = new Map<string, { beat: number; since: number }>()
  #lookedAt = -Infinity

  /** @returns those that are dead, with the counter at which they stopped */
  look(beats: readonly Beat[], { beganAt, endedAt }: Look): Beat[] {
    const isGap = endedAt - this.#lookedAt > gapMs
    this.#lookedAt = endedAt
    const before = this.#heard
    this.#heard = new Map(
      beats.map(({ name, beat }) => {
        const known = before.get(name)
        return [name, known && known.beat === beat && !isGap ? known : { beat, since: endedAt }]
      }),
    )
    // The counter was still the same when this look began, and no later.
    return beats.filter(({ name }) => beganAt - (this.#heard.get(name)?.since ?? Infinity) >= silentMs)
  }
}
