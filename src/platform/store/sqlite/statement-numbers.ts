import type { Statement, Value } from '../database.ts'
import { withPlaceholders } from './named-parameters.ts'
import type { NumberedStatement } from './thread-messages.ts'

interface Known {
  number: number
  /** For each value, in the order in which the statement uses them; a name that it uses twice is here twice. */
  names: string[]
}

/**
 * The statements sent to one store thread. The text of each crosses to the thread once and is a number from then on, with its values in
 * an array: the few recurring texts are longer than most of what they write.
 */
export class StatementNumbers {
  readonly #known = new Map<string, Known>()
  #untold: string[] = []

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
    const names: string[] = []
    this.#untold.push(withPlaceholders(sql, (name) => (names.push(name), '?')))
    const known = { number: this.#known.size, names }
    this.#known.set(sql, known)
    return known
  }
}
