import { DamagedError, orDamage, type Database, type Statement } from './database.ts'
import { firstRows, nextRows } from './remove-in-pieces.ts'

/** A table whose old rows are walked in the order of a key. */
export interface WalkedTable<Key> {
  /** The last key of at most this many rows after `after`; `isEnd` if there are no more. Null if there are none. */
  piece(after: Key, rows: number): Promise<{ last: Key; isEnd: boolean } | null>
  /** Removes what may be removed after `after`, up to `last`. */
  remove(after: Key, last: Key): Statement[]
}

/** How long until rows that had to stay are checked again, ms. */
const againAfterMs = 600_000

/**
 * Progress in removing the old rows of a table in which some must stay. Those are checked only every ten minutes, so they cost little
 * however many they are.
 */
export class TableWalk<Key> {
  readonly #start: Key
  #after: Key
  #begunAt = -Infinity

  constructor(start: Key) {
    this.#start = start
    this.#after = start
  }

  /** Continues to the end, piece by piece. `now`: epoch, ms */
  async run(db: Pick<Database, 'write'>, table: WalkedTable<Key>, now: number): Promise<void> {
    if (now < this.#begunAt || now >= this.#begunAt + againAfterMs) {
      this.#after = this.#start
      this.#begunAt = now
    }
    for (let rows = firstRows; ;) {
      const piece = await orDamage(table.piece(this.#after, rows))
      if (!piece) return
      let held = 0
      const removed =
        piece instanceof DamagedError
          ? piece
          : await orDamage(db.write(table.remove(this.#after, piece.last), { mayBatch: true, onStoreTime: (ms) => (held = ms) }))
      if (removed instanceof DamagedError && rows > 1) {
        rows = 1
        continue
      }
      if (piece instanceof DamagedError) throw piece
      // A row that cannot be removed stays.
      this.#after = piece.last
      if (piece.isEnd) return
      rows = nextRows(rows, held)
    }
  }
}
