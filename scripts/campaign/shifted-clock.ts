/** Loaded before a server: its machine's clock is wrong by `CAMPAIGN_CLOCK_MS`. */
const shiftMs = Number(process.env['CAMPAIGN_CLOCK_MS'] ?? 0)
const RealDate = Date

globalThis.Date = class extends RealDate {
  constructor(...words: [] | [number]) {
    if (words.length === 0) super(RealDate.now() + shiftMs)
    else super(...words)
  }

  static override now(): number {
    return RealDate.now() + shiftMs
  }
} as DateConstructor
