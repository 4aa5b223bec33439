import { SternaError } from '../errors.ts'
import { EventStream, type EventStreamServices, type StreamRequest } from './event-stream.ts'

/** Streams of one account that may be open at a time, both modes together. */
const mostPerAccount = 20

/** The event streams that are open. */
export class EventStreams {
  readonly #services: EventStreamServices
  readonly #open = new Map<string, Set<EventStream>>()
  #isStopping = false

  constructor(services: EventStreamServices) {
    this.#services = services
  }

  /** @throws SternaError `rate_limit_exceeded` where the account has too many, `service_unavailable` during a stop */
  async open(request: StreamRequest): Promise<EventStream> {
    if (this.#isStopping) throw new SternaError('service_unavailable', 'The server is being stopped. Connect again in a moment.')
    const { accountId } = request.scope
    const ofAccount = this.#open.get(accountId) ?? new Set()
    if (ofAccount.size >= mostPerAccount) {
      const message = `This account has ${mostPerAccount} event streams open, and no more are allowed. Close one of them.`
      throw new SternaError('rate_limit_exceeded', message, { retryAfter: 15 })
    }
    const stream = new EventStream(this.#services, request)
    this.#open.set(accountId, ofAccount.add(stream))
    stream.once('close', () => {
      ofAccount.delete(stream)
      if (ofAccount.size === 0 && this.#open.get(accountId) === ofAccount) this.#open.delete(accountId)
    })
    try {
      await stream.start()
      return stream
    } catch (error) {
      stream.destroy()
      throw error
    }
  }

  /** Ends all of them; no more can be opened. */
  stop(): void {
    this.#isStopping = true
    for (const streams of this.#open.values()) for (const stream of streams) stream.end()
  }
}
