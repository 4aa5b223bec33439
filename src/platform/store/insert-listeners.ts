import type { Statement } from './database.ts'

/** Who wants to know about rows that are added to a table. */
export class InsertListeners {
  readonly #byTable = new Map<string, { insert: RegExp; heard: Set<() => void> }>()

  /** @returns a function that ends it */
  add(table: string, heard: () => void): () => void {
    const listeners = this.#byTable.get(table) ?? { insert: new RegExp(`^\\s*insert into ${table}\\b`, 'i'), heard: new Set() }
    this.#byTable.set(table, listeners)
    listeners.heard.add(heard)
    return () => {
      listeners.heard.delete(heard)
      if (listeners.heard.size === 0 && this.#byTable.get(table) === listeners) this.#byTable.delete(table)
    }
  }

  /** What to call once this batch is on disk. */
  of(batch: Statement[]): Set<() => void>[] {
    const concerned = [...this.#byTable.values()].filter(({ insert }) => batch.some(({ sql }) => insert.test(sql)))
    return concerned.map(({ heard }) => heard)
  }
}
