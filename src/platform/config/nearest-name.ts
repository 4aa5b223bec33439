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

/** The Levenshtein distance: how many letters must be added, removed or replaced. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1)
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, replaced))
    }
    row = next
  }
  return row[to.length] ?? 0
}
