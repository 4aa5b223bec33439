import type { BaseServices } from '../../platform/base-services.ts'
import { clientNetwork } from '../../platform/ip-address.ts'
import { minuteMs } from '../../platform/rate-limiter.ts'
import { CountedUses } from '../../platform/store/counted-uses.ts'

const allowed = { name: 'failed SMTP login', limit: 10, windowMs: 10 * minuteMs }
/** Failures that are answered at once: by a person, or a program with an old key. */
const promptFailures = 3
/** How long the answer to the first failure beyond these waits, ms; it doubles up to the longest. */
const [minDelayMs, maxDelayMs] = [500, 4_000]

/** What to do about a network. */
interface LoginDelay {
  /** It had too many failures in ten minutes and should be cut off. */
  isTooMany: boolean
  /** How long its answer should wait, ms. */
  delayMs: number
}

/**
 * Counts failed logins per client network, to slow down guessing. It never blocks anybody with the right key: many programs may share
 * an address, and one of them with a wrong key must not lock out the others.
 */
export class FailedLogins {
  readonly #failures: CountedUses

  constructor(services: Pick<BaseServices, 'db' | 'clock'>) {
    this.#failures = new CountedUses(services, allowed)
  }

  /** Counts a failed login. */
  async add(address: string): Promise<LoginDelay> {
    const network = clientNetwork(address)
    const { waitMs } = await this.#failures.take(network)
    return { isTooMany: waitMs > 0, delayMs: delayAfter(await this.#failures.countOf(network)) }
  }
}

const delayAfter = (failures: number): number =>
  failures <= promptFailures ? 0 : Math.min(maxDelayMs, minDelayMs * 2 ** (failures - promptFailures - 1))
