const units = [
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
] as const

/** A duration in the largest unit that it is a whole number of: `5 minutes`, `24 hours`. */
export function durationText(ms: number): string {
  const [unit, unitMs] = units.find(([, each]) => ms % each === 0) ?? (['second', 1000] as const)
  return new Intl.NumberFormat('en', { style: 'unit', unit, unitDisplay: 'long' }).format(ms / unitMs)
}
