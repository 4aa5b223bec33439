import type { IncomingMessage } from 'node:http'
import { SternaError } from '../../platform/errors.ts'
import { ByteBudget } from '../../platform/byte-budget.ts'
import { smallBody } from '../large-work/small-source.ts'
import { bodyLimit } from '../operation/body-limits.ts'

/** bytes of large bodies in memory; while one of them becomes a message, four times as much is in use */
const room = 128 * 1024 * 1024
/** bytes of them that one account's bodies may take: however slowly they come, another's largest still fits */
const roomOfAccount = room - bodyLimit
/** How long a request waits for room before it is refused, ms. */
const waitMs = 20_000

/** Reads large request bodies only while there is memory for them; the others wait on the network. */
export class BodyBudget {
  readonly #budget = new ByteBudget({ limit: room, share: roomOfAccount, waitMs })

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
    if (await this.#budget.take(bytes, accountId)) return () => this.#budget.giveBack(bytes, accountId)
    throw new SternaError(
      'service_unavailable',
      'Too many large requests are being read at the moment. Nothing was accepted; try again later.',
      { retryAfter: 5 },
    )
  }
}
