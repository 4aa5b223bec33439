import { domainOf } from '../../platform/smtp/address.ts'
import { addressesIn } from './recipient-mentions.ts'
import { reportedAddress, reportedAddresses } from './reported-address.ts'
import { valuesOf, type ReturnedMessage } from './returned-message.ts'

/**
 * How Exim, Sendmail and Postfix name the address that was forwarded, in brackets behind the one that failed: `(generated from a@b.example)`,
 * `(expanded from: <a@b.example>)`.
 */
const origin = /\((?:ultimately )?(?:generated|expanded) (?:from|by):?\s{1,80}<?([^\s<>()]{1,320})>?\)/gi
/** Characters before the brackets that name the address that failed. */
const before = 400
const maxOrigins = 100

/** A program or a file, as in an alias `|/usr/bin/procmail`. */
const isProgram = (value: string): boolean => /^[^;]{0,40};?\s{0,8}"?[|/]/.test(value)

/** Where a bounce says that mail to an address was forwarded to, by the address (lower case). */
export class Forwarding {
  readonly #targets = new Map<string, string>()
  readonly #failed: readonly string[]

  constructor(message: ReturnedMessage) {
    const { text } = message
    for (const { 1: named = '', index } of [...text.matchAll(origin)].slice(0, maxOrigins)) {
      const target = addressesIn(text.slice(Math.max(0, index - before), index)).at(-1)
      if (target) this.#targets.set(named.toLowerCase(), target)
    }
    this.#failed = reportedAddresses(valuesOf(message.headers, 'x-failed-recipients'))
  }

  /**
   * The address that mail to this one was forwarded to; null if it was not, or if that is not said. The same mailbox at a host of the domain
   * is no other address.
   * @param actual the value of `X-Actual-Recipient`, in which Sendmail names the address that failed
   */
  of(address: string | null, actual = ''): string | null {
    if (!address?.includes('@')) return null
    const own = address.toLowerCase()
    const isOther = (target: string): boolean => target.includes('@') && !isSameMailbox(target.toLowerCase(), own)
    const targets = [isProgram(actual) ? null : reportedAddress(actual), this.#targets.get(own), ...this.#failedInstead(own)]
    return targets.find((target) => target && isOther(target)) ?? null
  }

  /** Exim names in X-Failed-Recipients what failed, and in its status whom the mail was for. */
  #failedInstead(own: string): readonly string[] {
    return this.#failed.some((failed) => failed.toLowerCase() === own) ? [] : this.#failed
  }
}

function isSameMailbox(one: string, another: string): boolean {
  const [domain, other] = [domainOf(one), domainOf(another)]
  const isSameName = one.slice(0, -domain.length) === another.slice(0, -other.length)
  return isSameName && (domain === other || domain.endsWith(`.${other}`) || other.endsWith(`.${domain}`))
}
