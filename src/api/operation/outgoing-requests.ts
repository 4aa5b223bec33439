import { SternaError } from '../../platform/errors.ts'

/** What one account may have under way at a time: each may take seconds, and open several connections. */
const maxPerAccount = 4

/** Requests that we make at once because somebody asked for them: webhook tests, link checks, and refreshes of MTA-STS policies. */
export class OutgoingRequests {
  readonly #underWay = new Map<string, number>()

  /**
   * Does work that makes such requests.
   * @throws SternaError `rate_limit_exceeded` if the account has too many under way
   */
  async run<T>(accountId: string, work: () => Promise<T>): Promise<T> {
    const others = this.#underWay.get(accountId) ?? 0
    if (others >= maxPerAccount) {
      const message =
        `Your account has ${others} webhook tests, link checks and refreshes of policies under way, and no more are allowed. ` +
        'Try again when one has ended.'
      throw new SternaError('rate_limit_exceeded', message, { retryAfter: 1 })
    }
    this.#underWay.set(accountId, others + 1)
    try {
      return await work()
    } finally {
      const left = (this.#underWay.get(accountId) ?? 1) - 1
      if (left === 0) this.#underWay.delete(accountId)
      else this.#underWay.set(accountId, left)
    }
  }
}
