/** Counts of a row; all its other members say what was counted. */
type Counted = { messages: number } | { sessions: number }

/** Rows that differ in their counts alone, as one: some receivers repeat a row for every message. */
export function withoutRepetition<R extends Counted>(rows: R[]): R[] {
  const merged = new Map<string, R>()
  for (const row of rows) {
    const key = JSON.stringify({ ...row, messages: 0, sessions: 0 })
    const same = merged.get(key)
    merged.set(key, same ? sum(same, row) : row)
  }
  return [...merged.values()]
}

const sum = <R extends Counted>(one: R, other: R): R =>
  'messages' in one && 'messages' in other
    ? { ...one, messages: one.messages + other.messages }
    : 'sessions' in one && 'sessions' in other
      ? { ...one, sessions: one.sessions + other.sessions }
      : one
