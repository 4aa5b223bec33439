import type { Database, Statement } from './database.ts'
import { firstRows, nextRows } from './remove-in-pieces.ts'

/** A table whose old rows are gone through in the order of a key. */
export interface WalkedTable<Key> {
  /** The last key of the next rows behind `after`, at most so many; `isEnd` where there are no more. Null where there is none. */
  piece(after: Key, rows: number): Promise<{ last: Key; isEnd: boolean } | null>
  /** Removes what may go behind `after`, up to `last`. */
  remove(after: Key, last: Key): Statement[]
}

/** What had to stay is looked at again after so long, ms. */
const againAfterMs = 600_000

/**
 * How far one has come in removing the old rows of a table of which some have to stay. These are passed over once in ten
 * minutes, so that it costs little however many they are.
 */
export class TableWalk<Key> {
  readonly #start: Key
  #after: Key
  #begunAt = -Infinity

  constructor(start: Key) {
    this.#start = start
    this.#after = start
  }

  /** Goes on to the end, a piece at a time. `now`: epoch, ms */
  async run(db: Pick<Database, 'write'>, table: WalkedTable<Key>, now: number): Promise<void> {
    if (now < this.#begunAt || now >= this.#begunAt + againAfterMs) {
      this.#after = this.#start
      this.#begunAt = now
    }
    for (let rows = firstRows; ;) {
      const piece = await table.piece(this.#after, rows)
      if (!piece) return
      let held = 0
      await db.write(table.remove(this.#after, piece.last), { patient: true, onHeld: (ms) => (held = ms) })
      this.#after = piece.last
      if (piece.isEnd) return
      rows = nextRows(rows, held)
    }
  }
}
