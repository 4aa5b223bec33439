import type { Database, Statement } from './database.ts'

/** Rows that one batch removes, so that no commit gets long. */
const rowsAtOnce = 500

/**
 * Removes rows a bounded piece at a time, until less than a piece is left.
 * @param batch removes one piece: its statements look for `:rows` rows each, and the last one tells whether there may be more
 */
export async function removeInPieces(db: Pick<Database, 'write'>, batch: Statement[], rows = rowsAtOnce): Promise<void> {
  const piece = batch.map(({ sql, params }) => ({ sql, params: { ...params, rows } }))
  for (let removed = rows; removed >= rows; ) {
    const written = await db.write(piece, { patient: true })
    removed = written.at(-1)?.changes ?? 0
  }
}
