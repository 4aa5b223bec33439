/** A period in which a zone has the same UTC offset; epoch ms, `to` excluded. */
export interface Segment {
  from: number
  to: number
  /** ms to add to UTC */
  offset: number
}

const dayMs = 86_400_000
/** No zone has changed its offset twice within this time since Unix time began. */
const stepMs = 7 * dayMs
/** Offsets change at a quarter of an hour. */
const precisionMs = 900_000

/** A time zone of the IANA database. */
export class TimeZone {
  readonly #format: Intl.DateTimeFormat

  /** @throws RangeError for an unknown zone */
  constructor(name: string) {
    this.#format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset', year: 'numeric' })
  }

  /** The UTC offset at a time (epoch, ms), in ms. */
  offsetAt(at: number): number {
    const name = this.#format.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value ?? ''
    const [, sign, hours = '0', minutes = '0'] = /^GMT(?:([+-])(\d{2}):(\d{2}))?/.exec(name) ?? []
    return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000
  }

  /** When the zone's clocks show this local time, given as if it were UTC. If that happens twice, the first. */
  atLocal(local: number): number {
    const guess = local - this.offsetAt(local - dayMs)
    return this.offsetAt(guess) === this.offsetAt(local - dayMs) ? guess : local - this.offsetAt(local + dayMs)
  }

  /** The segments between two times, both on a quarter of an hour. */
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

  /** The first quarter of an hour with the new offset. */
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
