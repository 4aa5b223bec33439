import type { Statement, Value } from './database.ts'
import { withPlaceholders } from './named-parameters.ts'
import type { NumberedStatement } from './thread-messages.ts'

interface Known {
  number: number
  /** Of the values, in the order in which the statement takes them; a name that it uses twice stands here twice. */
  names: string[]
}

/**
 * The statements that one store thread is asked for. The text of each crosses to the thread once and is its number from
 * then on, with its values in a row: the same few texts are longer than most of what they write.
 */
export class StatementNumbers {
  readonly #known = new Map<string, Known>()
  #untold: string[] = []

  /** @throws RangeError where a parameter has no value */
  numbered({ sql, params = {}, expect }: Statement): NumberedStatement {
    const { number, names } = this.#known.get(sql) ?? this.#learn(sql)
    const values: Value[] = []
    for (const name of names) {
      const value = params[name]
      if (value === undefined) throw new RangeError(`:${name} has no value in ${sql}`)
      values.push(value)
    }
    return expect === undefined ? [number, values] : [number, values, expect]
  }

  /** The texts that the thread has not been told yet, in the order of their numbers. */
  takeUntold(): string[] {
    const untold = this.#untold
    this.#untold = []
    return untold
  }

  #learn(sql: string): Known {
    const names: string[] = []
    this.#untold.push(withPlaceholders(sql, (name) => (names.push(name), '?')))
    const known = { number: this.#known.size, names }
    this.#known.set(sql, known)
    return known
  }
}
