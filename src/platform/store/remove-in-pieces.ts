import { DamagedError, orDamage, type Database, type Statement } from './database.ts'

/** How long one piece may hold the store, ms: the commits of others wait for it. */
const heldMs = 10
export const firstRows = 8
const maxRows = 4_096

/** How many rows on damaged pages one run passes over: more than a page of small rows holds. */
const maxSkipped = 128

/** How many rows fit into the next piece, given how long the last one held the store, ms. */
export const nextRows = (rows: number, held: number): number =>
  Math.max(1, Math.min(maxRows, rows * 2, Math.floor((rows * heldMs) / Math.max(held, 0.01))))

/** bytes of large values that one piece removes, because all of them are overwritten */
const bytesAtOnce = 2 * 1024 * 1024

/** The first of these rows, as many as one piece can remove by their sizes (bytes), but at least one if there are any. */
export function firstRowsBySize<R>(rows: R[], sizeOf: (row: R) => number): R[] {
  let bytes = 0
  const beyond = rows.findIndex((row) => (bytes += sizeOf(row)) > bytesAtOnce)
  return beyond === -1 ? rows : rows.slice(0, Math.max(1, beyond))
}

/**
 * Removes rows piece by piece, with room for the commits of others in between, until a piece is not full. Returns how many rows the last
 * statement removed.
 * @param batch removes one piece: each of its statements looks for `:rows` rows, and the last one says whether there may be more. Rows on
 * damaged pages stay if they also pass over the first `:skip` rows.
 */
export async function removeInPieces(db: Pick<Database, 'write'>, batch: Statement[]): Promise<number> {
  let removed = 0
  let skip = 0
  for (let rows = firstRows; ;) {
    let held = 0
    const piece = batch.map(({ sql, params }) => ({ sql, params: { ...params, rows, skip } }))
    const written = await orDamage(db.write(piece, { mayBatch: true, onStoreTime: (ms) => (held = ms) }))
    if (written instanceof DamagedError) {
      if (skip === maxSkipped || !batch.every(({ sql }) => sql.includes(':skip'))) throw written
      if (rows === 1) skip++
      rows = 1
      continue
    }
    const changes = written.at(-1)?.changes ?? 0
    removed += changes
    if (changes < rows) return removed
    rows = nextRows(rows, held)
  }
}
