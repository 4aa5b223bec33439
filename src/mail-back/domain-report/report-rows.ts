/**
 * Merges rows that differ only in their counts, because some receivers repeat a row for every message.
 * @param count the name of the count; all other members are the key
 */
export function withoutRepetition<K extends string, R extends Record<K, number>>(rows: R[], count: K): R[] {
  const merged = new Map<string, R>()
  for (const row of rows) {
    const key = JSON.stringify({ ...row, [count]: 0 })
    const same = merged.get(key)
    merged.set(key, same ? { ...same, [count]: same[count] + row[count] } : row)
  }
  return [...merged.values()]
}
