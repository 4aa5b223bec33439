import type { IncomingMessage } from 'node:http'
import { SternaError } from '../errors.ts'
import { ByteBudget } from '../queue/byte-budget.ts'
import { bodyLimit } from './json-body.ts'

/** bytes of large bodies that may be in memory; four times as much is in use while one of them becomes a message */
const room = 128 * 1024 * 1024
/** bytes; a body up to this needs no room */
export const smallBody = 64 * 1024
/** How long a request waits for room before it is refused, ms. */
const waitMs = 20_000

/** Reads large request bodies only while there is memory for them; the others wait on the wire. */
export class BodyRoom {
  readonly #budget = new ByteBudget(room)

  /**
   * Waits until the body may be read. What comes back must be called when nothing of it is in use any more.
   * @throws SternaError `service_unavailable` where it waited too long
   */
  async enter({ headers }: IncomingMessage): Promise<() => void> {
    const length = headers['content-length']
    // One that does not say how long it is may be as long as it likes.
    const bytes = length === undefined ? bodyLimit : Math.min(Number(length), bodyLimit)
    if (bytes <= smallBody) return () => {}
    const leave = (): void => this.#budget.giveBack(bytes)
    const entered = this.#budget.take(bytes).then(() => true)
    const { promise: late, resolve } = Promise.withResolvers<false>()
    const timer = setTimeout(resolve, waitMs, false)
    const isIn = await Promise.race([entered, late])
    clearTimeout(timer)
    if (isIn) return leave
    void entered.then(leave)
    throw new SternaError('service_unavailable', 'Too many large requests are being read at the moment. Nothing was accepted; try again.', {
      retryAfter: 5,
    })
  }
}
