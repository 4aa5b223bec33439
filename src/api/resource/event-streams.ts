import { SternaError } from '../../platform/errors.ts'
import { EventStream, type EventStreamServices, type StreamRequest } from './event-stream.ts'

/** Streams of one holder that may be open at a time, both modes together: of all keys of an account, or of one user. */
const maxPerHolder = 20

/** The open event streams. */
export class EventStreams {
  readonly #services: EventStreamServices
  readonly #open = new Map<string, Set<EventStream>>()
  #count = 0
  #isStopping = false

  constructor(services: EventStreamServices) {
    this.#services = services
  }

  /** @throws SternaError `rate_limit_exceeded` where the holder has too many, `service_unavailable` during a stop */
  async open(request: StreamRequest): Promise<EventStream> {
    if (this.#isStopping) throw new SternaError('service_unavailable', 'The server is being stopped. Connect again in a moment.')
    const { holder } = request
    const ofHolder = this.#open.get(holder) ?? new Set()
    if (ofHolder.size >= maxPerHolder) {
      const whose = holder === request.scope.accountId ? 'This account has' : 'You have'
      const message = `${whose} ${maxPerHolder} event streams open, and no more are allowed. Close one of them.`
      throw new SternaError('rate_limit_exceeded', message, { retryAfter: 15 })
    }
    const stream = new EventStream(this.#services, request, () => this.#count)
    this.#open.set(holder, ofHolder.add(stream))
    this.#count++
    stream.once('close', () => {
      this.#count--
      ofHolder.delete(stream)
      if (ofHolder.size === 0 && this.#open.get(holder) === ofHolder) this.#open.delete(holder)
    })
    try {
      await stream.start()
      return stream
    } catch (error) {
      stream.destroy()
      throw error
    }
  }

  /** Ends all of them and refuses new ones. */
  stop(): void {
    this.#isStopping = true
    for (const streams of this.#open.values()) for (const stream of streams) stream.end()
  }
}
