import type { Database, Statement } from './database.ts'

/** How long one piece may hold the store, ms: the commits of others wait for it. */
const heldMs = 10
export const firstRows = 8
const mostRows = 4_096

/** How many rows fit into the next piece, by how long those of the last one have held the store, ms. */
export const nextRows = (rows: number, held: number): number =>
  Math.max(1, Math.min(mostRows, rows * 2, Math.floor((rows * heldMs) / Math.max(held, 0.01))))

/** bytes of large values that one piece removes, because all of them are overwritten */
const bytesAtOnce = 2 * 1024 * 1024

/** The first of these rows, as many as one piece can remove by their sizes (bytes); one at least, where there is any. */
export function firstRowsBySize<R>(rows: R[], sizeOf: (row: R) => number): R[] {
  let bytes = 0
  const beyond = rows.findIndex((row) => (bytes += sizeOf(row)) > bytesAtOnce)
  return beyond === -1 ? rows : rows.slice(0, Math.max(1, beyond))
}

/**
 * Removes rows a piece at a time, until less than a piece is left, with room for the commits of others in between.
 * @param batch removes one piece: its statements look for `:rows` rows each, and the last one tells whether there may be more
 */
export async function removeInPieces(db: Pick<Database, 'write'>, batch: Statement[]): Promise<void> {
  for (let rows = firstRows; ;) {
    let held = 0
    const piece = batch.map(({ sql, params }) => ({ sql, params: { ...params, rows } }))
    const written = await db.write(piece, { patient: true, onHeld: (ms) => (held = ms) })
    if ((written.at(-1)?.changes ?? 0) < rows) return
    rows = nextRows(rows, held)
  }
}
