import type { ChangeFollower, Changes } from './changes.ts'
import type { Database, Row, Statement } from './database.ts'
import { KeyedMutex } from './keyed-mutex.ts'

/** Reads what a list holds from the database: all of it, or the item with this id. */
type Fetch<T> = (id: string | null) => Promise<T[]>

/** The rows of one table that a list holds. `where`: which ones; `by`: the column of their ids, `id` by default. */
interface HeldRows<T> {
  select: string
  where?: string
  by?: string
  read(row: Row): T
}

export const heldRows =
  <T>(db: Pick<Database, 'read'>, { select, where = '1 = 1', by = 'id', read }: HeldRows<T>): Fetch<T> =>
  async (id) =>
    (await db.read(`${select} where ${where} ${id === null ? '' : `and ${by} = :id`}`, { id })).map(read)

/** What a list of one kind is held with: `kind` is the name of its table. */
export interface HeldBy<T> {
  kind: string
  changes: Changes
  fetch: Fetch<T>
}

/**
 * A list held in memory, because each request or attempt needs something of it, and an installation has thousands of these at most. Call
 * `load` before anything else. Whoever changes the database adds `note` to the batch, so that other nodes hear of it, and then says what is
 * held here: by `keep` and `drop` what it knows, by `reload` what the database knows.
 *
 * Items are replaced, never changed in place, so a caller that holds one sees a consistent snapshot.
 */
export abstract class HeldList<T extends { readonly id: string }> implements ChangeFollower {
  protected readonly changes: Changes
  readonly #kind: string
  readonly #fetch: Fetch<T>
  readonly #byId = new Map<string, T>()
  readonly #turns = new KeyedMutex()

  constructor({ kind, changes, fetch }: HeldBy<T>) {
    this.#kind = kind
    this.changes = changes
    this.#fetch = fetch
    changes.on(kind, this)
  }

  /** Goes into the batch that changes these. */
  note(...ids: string[]): Statement[] {
    return ids.flatMap((id) => this.changes.note(this.#kind, id))
  }

  /** Reads all of it anew. */
  async load(): Promise<void> {
    const items = await this.#fetch(null)
    const stored = new Set(items.map(({ id }) => id))
    for (const id of this.#byId.keys()) if (!stored.has(id)) this.drop(id)
    for (const item of items) this.keep(item)
  }

  /** Reads one anew, after a change in the database; undefined if it is gone. One reading follows the other, so the newest state stays. */
  reload(id: string): Promise<T | undefined> {
    return this.#turns.take(id, async () => {
      const [item] = await this.#fetch(id)
      if (!item) this.drop(id)
      return item && this.keep(item)
    })
  }

  protected held(id: string): T | undefined {
    return this.#byId.get(id)
  }

  /** The oldest first. */
  protected inOrder(isMeant: (item: T) => boolean = () => true): T[] {
    return [...this.#byId.values()].filter(isMeant).toSorted((a, b) => (a.id < b.id ? -1 : 1))
  }

  protected keep<Item extends T>(item: Item): Item {
    const before = this.#byId.get(item.id)
    this.#byId.set(item.id, item)
    this.follow(before, item)
    return item
  }

  protected drop(id: string): void {
    const before = this.#byId.get(id)
    if (!before) return
    this.#byId.delete(id)
    this.follow(before, undefined)
  }

  /** Follows each change, for what a list derives from its items: other ways to find them, counts. */
  protected follow(_before: T | undefined, _after: T | undefined): void {}
}
