const durationUnits = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** The ms that a text like `90s` or `1.5h` means; null if it is no duration. */
export function msOf(text: string): number | null {
  if (text === '0') return 0
  const [, number, unit] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)$/.exec(text) ?? []
  return number === undefined ? null : Math.round(Number(number) * durationUnits[unit as keyof typeof durationUnits])
}

/** A duration as one writes it, in the largest unit that it is a whole number of. */
export function shortDuration(ms: number): string {
  const [unit, each] = Object.entries(durationUnits).findLast(([, size]) => ms >= size && ms % size === 0) ?? ['s', 1000]
  return `${ms / each}${unit}`
}
