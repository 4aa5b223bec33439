import type { Statement as Prepared } from 'better-sqlite3'
import type { Row, Value } from '../database.ts'
import { withPlaceholders } from '../named-parameters.ts'
import type { Connection } from './sqlite-connection.ts'

/** The form of a statement with its values in order: a name that it uses twice has two. */
export function positional(sql: string): { sql: string; names: string[] } {
  const names: string[] = []
  return { sql: withPlaceholders(sql, (name) => (names.push(name), '?')), names }
}

/** Each takes about 30 KB. Ordinary work prepares a hundred; list filters combine into many more. */
const maxPrepared = 400

/** Statements by their number, prepared when they first run: preparing one costs more than running it. */
export class PreparedStatements {
  readonly #connection: Connection
  readonly #texts: string[] = []
  readonly #prepared = new Map<number, Prepared<[Value[]], Row>>()

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** These texts get the next numbers. */
  learn(texts: string[]): void {
    this.#texts.push(...texts)
  }

  textOf(number: number): string {
    return this.#texts[number] as string
  }

  at(number: number): Prepared<[Value[]], Row> {
    const known = this.#prepared.get(number)
    if (known) return known
    if (this.#prepared.size >= maxPrepared) this.#prepared.clear()
    const prepared = this.#connection.prepare<[Value[]], Row>(this.textOf(number))
    this.#prepared.set(number, prepared)
    return prepared
  }
}
