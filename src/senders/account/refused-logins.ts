import { clientNetwork } from '../../platform/ip-address.ts'
import type { Log } from '../../platform/log.ts'

/** How many networks get a line of their own for their first failure; the rest are counted together. */
const maxNamed = 20

interface Named {
  message: string
  network: string
  /** Since the last line about this network. */
  count: number
}

/**
 * Keeps failed logins from flooding the log. The first from a client network is logged at once; further ones are summed up in one line
 * per minute, until a minute passes without any.
 */
export class RefusedLogins {
  readonly #log: Log
  readonly #named = new Map<string, Named>()
  /** By message. */
  readonly #others = new Map<string, number>()

  constructor(log: Log) {
    this.#log = log
  }

  /** @param message a constant sentence; each is counted separately */
  note(message: string, fields: { address: string } & Record<string, unknown>): void {
    const network = clientNetwork(fields.address)
    const name = `${message} ${network}`
    const known = this.#named.get(name)
    if (known) {
      known.count++
    } else if (this.#named.size >= maxNamed) {
      this.#others.set(message, (this.#others.get(message) ?? 0) + 1)
    } else {
      this.#named.set(name, { message, network, count: 0 })
      this.#log.warn(fields, message)
    }
  }

  /** Call it every minute, and on shutdown. */
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
