import { clientNetwork } from '../ip-address.ts'
import type { Log } from '../log.ts'

/** Networks whose first failure has a line of its own; those beyond are counted together. */
const mostNamed = 20

interface Named {
  message: string
  network: string
  /** Since the last line about it. */
  count: number
}

/**
 * Keeps failed logins from filling the log: the first from a client network is logged at once, and later ones are summed up
 * by a line a minute with its count, until a minute has gone by without one.
 */
export class RefusedLogins {
  readonly #log: Log
  readonly #named = new Map<string, Named>()
  /** By message. */
  readonly #others = new Map<string, number>()

  constructor(log: Log) {
    this.#log = log
  }

  /** @param message a constant sentence; each is counted by itself */
  note(message: string, fields: { address: string } & Record<string, unknown>): void {
    const network = clientNetwork(fields.address)
    const name = `${message} ${network}`
    const known = this.#named.get(name)
    if (known) {
      known.count++
    } else if (this.#named.size >= mostNamed) {
      this.#others.set(message, (this.#others.get(message) ?? 0) + 1)
    } else {
      this.#named.set(name, { message, network, count: 0 })
      this.#log.warn(fields, message)
    }
  }

  /** To be called every minute, and at the end. */
  tell(): void {
    for (const [name, named] of this.#named) {
      const { message, network, count } = named
      if (count === 0) this.#named.delete(name)
      else this.#log.warn({ network, count }, `${message}, repeatedly`)
      named.count = 0
    }
    for (const [message, count] of this.#others) this.#log.warn({ count }, `${message}, from many other networks`)
    this.#others.clear()
  }
}
