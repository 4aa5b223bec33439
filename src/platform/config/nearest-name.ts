/** The name that a mistyped one probably stands for; undefined if none is close. */
export function nearestName(mistyped: string, names: readonly string[]): string | undefined {
  const near = Math.max(2, Math.floor(mistyped.length / 6))
  let best: { name: string; distance: number } | undefined
  for (const name of names) {
    const distance = editDistance(mistyped, name)
    if (distance <= near && (!best || distance < best.distance)) best = { name, distance }
  }
  return best?.name
}

/** Whether at most so many slips of the pen make one of the two the other. */
export const differsByAtMost = (most: number, one: string, other: string): boolean =>
  Math.abs(one.length - other.length) <= most && editDistance(one, other) <= most

/** How many letters must be left out, added, replaced or swapped with their neighbour (Damerau and Levenshtein). */
function editDistance(one: string, other: string): number {
  let before: number[] = []
  let last = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (let i = 1; i <= one.length; i++) {
    const row = [i]
    for (let j = 1; j <= other.length; j++) {
      const isSame = one[i - 1] === other[j - 1]
      const isSwapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]
      const changed = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (isSame ? 0 : 1))
      row.push(isSwapped ? Math.min(changed, before[j - 2]! + 1) : changed)
    }
    before = last
    last = row
  }
  return last.at(-1)!
}
