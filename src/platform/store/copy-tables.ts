import { createHash, type Hash } from 'node:crypto'
import { CommitUnknown, leftOut, type CopySource, type CopyTarget, type TableShape, type TableSum } from './copy-sides.ts'
import type { RowPiece } from './row-codec.ts'

/** One table on both sides. */
export interface CopiedTable {
  table: string
  source: TableSum
  target: TableSum
}

export interface StoreCopied {
  tables: CopiedTable[]
  /** Whether the target has what the source has. If not, nothing was kept of the copy. */
  isSame: boolean
  /** Values in which a NUL was replaced. */
  replaced: number
}

interface Copying {
  source: CopySource
  target: CopyTarget
  now: number
  /** Writes a line for the person who waits. */
  tell(line: string): void
}

/** How often a large table is told of, ms. */
const tellMs = 5_000

/**
 * Copies all tables and reads them anew at the target. Only if they are the same there, the source is marked and the target gets its data: an
 * interruption leaves both as they were, or the source marked, which `sterna store reopen` lifts. Never do both pass for the current one.
 */
export async function copyTables({ source, target, now, tell }: Copying): Promise<StoreCopied> {
  const shapes = (await source.tables()).filter(({ table }) => !leftOut.has(table))
  await target.begin()
  requireSame(shapes, await target.tables())
  const sums = new Map<string, TableSum>()
  for (const shape of shapes) {
    const summed = new SummedRows(shape, source.rows(shape), tell)
    await target.fill(shape, summed)
    sums.set(shape.table, summed.sum)
  }
  tell('Checking the copy.')
  await target.finish()
  const tables: CopiedTable[] = []
  for (const shape of shapes) {
    const found = await sumOf(target.rows(shape))
    tables.push({ table: shape.table, source: sums.get(shape.table) as TableSum, target: found })
  }
  const isSame = tables.every((table) => isEqual(table))
  if (isSame) await hand(source, target, now)
  return { tables, isSame, replaced: source.replaced() }
}

export const isEqual = ({ source, target }: CopiedTable): boolean => source.rows === target.rows && source.sha256 === target.sha256

async function hand(source: CopySource, target: CopyTarget, now: number): Promise<void> {
  await source.mark(target.shown, now)
  try {
    await target.commit()
  } catch (error) {
    if (!(error instanceof CommitUnknown)) await source.unmark()
    throw error
  }
}

/** Both are made by the same migrations. */
function requireSame(source: TableShape[], target: TableShape[]): void {
  for (const shape of source) {
    const other = target.find(({ table }) => table === shape.table)
    if (JSON.stringify(other) !== JSON.stringify(shape)) throw new Error(`the two engines do not have the same table ${shape.table}`)
  }
}

/** Rows on their way: counted, summed, and told of. */
class SummedRows implements AsyncIterable<RowPiece> {
  readonly #shape: TableShape
  readonly #rows: AsyncIterable<RowPiece>
  readonly #tell: (line: string) => void
  readonly #hash: Hash = createHash('sha256')
  #count = 0

  constructor(shape: TableShape, rows: AsyncIterable<RowPiece>, tell: (line: string) => void) {
    this.#shape = shape
    this.#rows = rows
    this.#tell = tell
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RowPiece> {
    let toldAt = performance.now()
    for await (const piece of this.#rows) {
      this.#count += piece.count
      this.#hash.update(piece.bytes)
      yield piece
      if (performance.now() - toldAt < tellMs) continue
      toldAt = performance.now()
      this.#tell(`${this.#shape.table}: ${this.#count} rows`)
    }
  }

  get sum(): TableSum {
    return { rows: this.#count, sha256: this.#hash.copy().digest('hex') }
  }
}

async function sumOf(rows: AsyncIterable<RowPiece>): Promise<TableSum> {
  const hash = createHash('sha256')
  let count = 0
  for await (const piece of rows) {
    count += piece.count
    hash.update(piece.bytes)
  }
  return { rows: count, sha256: hash.digest('hex') }
}
