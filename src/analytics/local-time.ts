/** A stretch of time in which a zone's clocks are the same way off UTC; epoch ms, `to` excluded. */
export interface Segment {
  from: number
  to: number
  /** ms to be added to UTC */
  offset: number
}

const dayMs = 86_400_000
/** No zone has changed its clocks twice in so short a time since this program is there. */
const stepMs = 7 * dayMs
/** Clocks change on a quarter of an hour. */
const precisionMs = 900_000

/** A time zone of the IANA database, by what its clocks show. */
export class TimeZone {
  readonly #format: Intl.DateTimeFormat

  /** @throws RangeError where there is no such zone */
  constructor(name: string) {
    this.#format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset', year: 'numeric' })
  }

  /** How far its clocks are off UTC at a moment (epoch, ms), ms. */
  offsetAt(at: number): number {
    const name = this.#format.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value ?? ''
    const [, sign, hours = '0', minutes = '0'] = /^GMT(?:([+-])(\d{2}):(\d{2}))?/.exec(name) ?? []
    return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000
  }

  /** When its clocks show this time, given as if it were UTC; of two such moments the first. */
  atLocal(local: number): number {
    const guess = local - this.offsetAt(local - dayMs)
    return this.offsetAt(guess) === this.offsetAt(local - dayMs) ? guess : local - this.offsetAt(local + dayMs)
  }

  /** The stretches between two moments, which lie on a quarter of an hour each. */
  segments(from: number, to: number): Segment[] {
    const segments: Segment[] = []
    let start = from
    for (let at = from, offset = this.offsetAt(from); at < to;) {
      const next = Math.min(at + stepMs, to)
      const nextOffset = this.offsetAt(next)
      if (nextOffset !== offset) {
        const change = this.#changeBetween(at, next)
        segments.push({ from: start, to: change, offset })
        start = change
        offset = nextOffset
      }
      at = next
    }
    return [...segments, { from: start, to, offset: this.offsetAt(start) }].filter((segment) => segment.from < segment.to)
  }

  /** The first quarter of an hour with the later offset. */
  #changeBetween(before: number, after: number): number {
    const offset = this.offsetAt(after)
    let [low, high] = [before, after]
    while (high - low > precisionMs) {
      const middle = low + Math.floor((high - low) / 2 / precisionMs) * precisionMs
      if (this.offsetAt(middle) === offset) high = middle
      else low = middle
    }
    return high
  }
}
