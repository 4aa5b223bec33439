import type { IncomingMessage } from 'node:http'
import { SternaError } from '../../platform/errors.ts'
import { ByteBudget } from '../../mail-out/queue/byte-budget.ts'
import { bodyLimit } from './json-body.ts'

/** bytes of large bodies in memory; while one of them becomes a message, four times as much is in use */
const room = 128 * 1024 * 1024
/** bytes of them that one account's bodies may take: however slowly they come, another's largest still fits */
const roomOfAccount = room - bodyLimit
/** bytes; smaller bodies need no room */
export const smallBody = 64 * 1024
/** How long a request waits for room before it is refused, ms. */
const waitMs = 20_000

/** Reads large request bodies only while there is memory for them; the others wait on the network. */
export class BodyBudget {
  readonly #budget = new ByteBudget(room)
  readonly #byAccount = new Map<string, ByteBudget>()

  /**
   * Waits until the body may be read. Call the returned function once nothing of it is in use any more.
   * @param most bytes that the endpoint takes
   * @throws SternaError `service_unavailable` if it waited too long
   */
  async enter({ headers }: IncomingMessage, accountId: string, most = bodyLimit): Promise<() => void> {
    const length = headers['content-length']
    // A body that does not declare its length may be as long as it likes.
    const bytes = length === undefined ? most : Math.min(Number(length), most)
    if (bytes <= smallBody) return () => {}
    const own = this.#byAccount.get(accountId) ?? new ByteBudget(roomOfAccount)
    this.#byAccount.set(accountId, own)
    const leave = (): void => {
      this.#budget.giveBack(bytes)
      own.giveBack(bytes)
      if (own.isIdle && this.#byAccount.get(accountId) === own) this.#byAccount.delete(accountId)
    }
    const entered = own
      .take(bytes)
      .then(() => this.#budget.take(bytes))
      .then(() => true)
    const { promise: late, resolve } = Promise.withResolvers<false>()
    const timer = setTimeout(resolve, waitMs, false)
    const isIn = await Promise.race([entered, late])
    clearTimeout(timer)
    if (isIn) return leave
    void entered.then(leave)
    throw new SternaError(
      'service_unavailable',
      'Too many large requests are being read at the moment. Nothing was accepted; try again later.',
      {
        retryAfter: 5,
      },
    )
  }
}
