/** Lines of one text that replace lines of the other; positions count from 0, ends are excluded. */
export interface Change {
  from: number
  fromEnd: number
  to: number
  toEnd: number
}

/** Comparisons of lines, some nanoseconds each; whatever is left when they are used up is one change. */
const maxSteps = 1_000_000
/** Differences searched for at a time: this many rows of this many positions are remembered. */
const maxEdits = 500

/**
 * The changes that turn the first list of lines into the second, by Myers' algorithm (1986), in rounds: if a round finds too many
 * differences, the next one continues from where it got to. So the result is always correct, and minimal if there are few.
 */
export function lineChanges(before: string[], after: string[]): Change[] {
  const [a, b] = numbered(before, after)
  const changes: Change[] = []
  const work = { steps: 0 }
  let [x, y] = [0, 0]
  while (x < a.length || y < b.length) {
    if (work.steps >= maxSteps) {
      addChange(changes, { from: x, fromEnd: a.length, to: y, toEnd: b.length })
      break
    }
    const path = furthestPath(a.subarray(x), b.subarray(y), work)
    for (const { from, fromEnd, to, toEnd } of path.changes) {
      addChange(changes, { from: x + from, fromEnd: x + fromEnd, to: y + to, toEnd: y + toEnd })
    }
    x += path.x
    y += path.y
  }
  return changes
}

/** Each line as a number, equal for equal lines. */
function numbered(a: string[], b: string[]): [Int32Array, Int32Array] {
  const numbers = new Map<string, number>()
  const number = (line: string): number => {
    const known = numbers.get(line) ?? numbers.size
    if (known === numbers.size) numbers.set(line, known)
    return known
  }
  return [Int32Array.from(a, number), Int32Array.from(b, number)]
}

/** Merges neighbours. */
function addChange(changes: Change[], change: Change): void {
  const last = changes.at(-1)
  if (last?.fromEnd === change.from && last.toEnd === change.to) Object.assign(last, { fromEnd: change.fromEnd, toEnd: change.toEnd })
  else changes.push(change)
}

/** The shortest path as far as it gets with this many differences and steps: how far in each text, and what differs up to there. */
function furthestPath(a: Int32Array, b: Int32Array, work: { steps: number }): { x: number; y: number; changes: Change[] } {
  const most = Math.min(maxEdits, a.length + b.length)
  const reached = new Int32Array(2 * most + 3)
  const middle = most + 1
  const rows: Int32Array[] = []
  for (let edits = 0; ; edits++) {
    for (let k = -edits; k <= edits; k += 2) {
      const isDown = k === -edits || (k !== edits && reached[middle + k - 1]! < reached[middle + k + 1]!)
      let x = isDown ? reached[middle + k + 1]! : reached[middle + k - 1]! + 1
      const from = x
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++
      work.steps += 1 + x - from
      reached[middle + k] = x
      if (x >= a.length && x - k >= b.length) return pathTo(rows, { edits, k, x })
    }
    rows.push(reached.slice(middle - edits, middle + edits + 1))
    if (edits < most && work.steps < maxSteps) continue
    return pathTo(rows, { edits, ...furthestOf(rows[edits] as Int32Array, a.length, b.length) })
  }
}

/** The position that is far in both texts: one that is far in only one may have skipped what the other still has. */
function furthestOf(row: Int32Array, lengthOfA: number, lengthOfB: number): { k: number; x: number } {
  const edits = (row.length - 1) / 2
  let furthest = { k: 0, x: -1 }
  for (let k = -edits; k <= edits; k += 2) {
    const x = row[k + edits] as number
    const isInside = x <= lengthOfA && x - k <= lengthOfB
    if (isInside && Math.min(x, x - k) > Math.min(furthest.x, furthest.x - furthest.k)) furthest = { k, x }
  }
  return furthest
}

/** Goes back from a position to the beginning. `rows` has how far each diagonal got, for each number of edits. */
function pathTo(rows: Int32Array[], end: { edits: number; k: number; x: number }): { x: number; y: number; changes: Change[] } {
  const changes: Change[] = []
  let { k } = end
  for (let edits = end.edits; edits > 0; edits--) {
    const row = rows[edits - 1] as Int32Array
    // Diagonal k of this row, which begins with diagonal 1 - edits.
    const at = (diagonal: number): number => row[diagonal + edits - 1] ?? -1
    const isDown = k === -edits || (k !== edits && at(k - 1) < at(k + 1))
    const [before, from] = isDown ? [k + 1, at(k + 1)] : [k - 1, at(k - 1)]
    const to = from - before
    changes.push(isDown ? { from, fromEnd: from, to, toEnd: to + 1 } : { from, fromEnd: from + 1, to, toEnd: to })
    k = before
  }
  const ordered: Change[] = []
  for (const change of changes.toReversed()) addChange(ordered, change)
  return { x: end.x, y: end.x - end.k, changes: ordered }
}
