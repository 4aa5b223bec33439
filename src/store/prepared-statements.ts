import type { Statement as Prepared } from 'better-sqlite3'
import type { Row, Value } from './database.ts'
import type { Connection } from './sqlite-connection.ts'

/** Statements by their number, prepared when they are first run: preparing one costs more than running it. */
export class PreparedStatements {
  readonly #connection: Connection
  readonly #texts: string[] = []
  readonly #prepared: Prepared<[Value[]], Row>[] = []

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** The next numbers are those of these texts. */
  learn(texts: string[]): void {
    this.#texts.push(...texts)
  }

  at(number: number): Prepared<[Value[]], Row> {
    return (this.#prepared[number] ??= this.#connection.prepare<[Value[]], Row>(this.#texts[number] as string))
  }
}
