import type { Statement, Value } from './database.ts'
import type { NumberedStatement } from './thread-messages.ts'

/**
 * What an engine takes for a statement: its text with the engine's placeholders, and the names of their values in order. The text may be
 * changed in other ways too.
 */
export type StatementForm = (sql: string) => { sql: string; names: string[] }

interface Known {
  number: number
  names: string[]
}

/**
 * The statements sent to one store thread. The text of each crosses to the thread once and is a number from then on, with its values in
 * an array: the few recurring texts are longer than most of what they write.
 */
export class StatementNumbers {
  readonly #formOf: StatementForm
  readonly #known = new Map<string, Known>()
  #untold: string[] = []

  constructor(formOf: StatementForm) {
    this.#formOf = formOf
  }

  /** @throws RangeError if a parameter has no value */
  numbered({ sql, params, expect }: Statement): NumberedStatement {
    const { number, names } = this.#known.get(sql) ?? this.#learn(sql)
    // An array of that length without a hole, which would make it slow to post.
    const values: Value[] = names.slice()
    for (let place = 0; place < names.length; place++) {
      const name = names[place] as string
      const value = params?.[name]
      if (value === undefined) throw new RangeError(`:${name} has no value in ${sql}`)
      values[place] = value
    }
    return expect === undefined ? [number, values] : [number, values, expect]
  }

  /** The texts that the thread does not know yet, in the order of their numbers. */
  takeUntold(): string[] {
    const untold = this.#untold
    this.#untold = []
    return untold
  }

  #learn(sql: string): Known {
    const { sql: text, names } = this.#formOf(sql)
    this.#untold.push(text)
    const known = { number: this.#known.size, names }
    this.#known.set(sql, known)
    return known
  }
}
