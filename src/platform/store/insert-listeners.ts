import type { Statement } from './database.ts'

/** Who wants to know about rows that are added to a table. */
export class InsertListeners {
  readonly #byTable = new Map<string, Set<() => void>>()
  /** The table to which a statement adds rows, by its text; null: to none. */
  readonly #tables = new Map<string, string | null>()

  /** @returns a function that ends it */
  add(table: string, heard: () => void): () => void {
    const listeners = this.#byTable.get(table) ?? new Set()
    this.#byTable.set(table, listeners)
    listeners.add(heard)
    return () => void listeners.delete(heard)
  }

  /** Tells those who want to know about a table that somebody else has added rows to it. */
  tell(table: string): void {
    for (const heard of this.#byTable.get(table) ?? []) heard()
  }

  /** What to call once this batch is on disk. */
  of(batch: Statement[]): Set<() => void>[] {
    const concerned: Set<() => void>[] = []
    for (const { sql } of batch) {
      const table = this.#tableOf(sql)
      const listeners = table === null ? undefined : this.#byTable.get(table)
      if (listeners && !concerned.includes(listeners)) concerned.push(listeners)
    }
    return concerned
  }

  /** There are as few texts as `StatementNumbers` knows. */
  #tableOf(sql: string): string | null {
    const known = this.#tables.get(sql)
    if (known !== undefined) return known
    const table = /^\s*insert into (\w+)/i.exec(sql)?.[1]?.toLowerCase() ?? null
    this.#tables.set(sql, table)
    return table
  }
}
