import { Readable } from 'node:stream'
import type { AccountScope } from '../../senders/account/account-scope.ts'
import type { CancelTimer, Clock } from '../../platform/clock.ts'
import type { EventFollower } from '../../mail/event/event-follower.ts'
import type { StreamSource } from './stream-source.ts'

export interface EventStreamServices {
  follower: EventFollower
  clock: Clock
}

/** What one stream sends, and to whom. */
export interface StreamRequest {
  scope: AccountScope
  source: StreamSource
  /** Whose stream it is, for the limit on open streams: the account, or the user who is logged in. */
  holder: string
  /** It begins behind this place of the log. */
  after: number
  /** Whether the key is still valid. */
  isAllowed(): boolean
}

/** Shorter than the idle time-out of common proxies, ms. */
const heartbeatMs = 15_000
/** A client that takes nothing for this many heartbeats is disconnected; it can resume after its last event. */
const maxHeartbeatsWaited = 4
/** How long a browser waits before it reconnects, ms. */
const retryMs = 3_000

/**
 * What a source tells of an account's log, as server-sent events (HTML, 9.2). It reads on when the client has taken the last part and
 * there is something new, so a slow client costs one part of memory.
 */
export class EventStream extends Readable {
  readonly #services: EventStreamServices
  readonly #request: StreamRequest
  readonly #openStreams: () => number
  #place: number
  #isNew = true
  #hasNews = true
  #isWanted = false
  #isReading = false
  #isOver = false
  #restsUntil = 0
  #cancelRest: CancelTimer | null = null
  #heartbeatsWaited = 0
  #unfollow: () => void = () => {}
  #cancelHeartbeat: CancelTimer = () => {}

  /** `openStreams` says how many there are at a time, of all holders. */
  constructor(services: EventStreamServices, request: StreamRequest, openStreams: () => number) {
    super()
    this.#services = services
    this.#request = request
    this.#openStreams = openStreams
    this.#place = request.after
  }

  /** Call it once; events written after the promise has resolved are sent. */
  async start(): Promise<void> {
    const unfollow = await this.#services.follower.follow(this.#request.scope, () => {
      this.#hasNews = true
      void this.#advance()
    })
    if (this.#isOver) return unfollow()
    this.#unfollow = unfollow
    this.#beatLater()
  }

  override _read(): void {
    this.#isWanted = true
    this.#heartbeatsWaited = 0
    // This sends the response header, so the client knows that it is connected.
    if (this.#isNew) this.#isWanted = this.push(`retry: ${retryMs}\n\n`)
    this.#isNew = false
    void this.#advance()
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#isOver = true
    this.#unfollow()
    this.#cancelHeartbeat()
    this.#cancelRest?.()
    callback(error)
  }

  /** Ends the stream, at once if the client does not take what was sent. */
  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    if (this.readableLength === 0) this.push(null)
    else this.destroy()
  }

  async #advance(): Promise<void> {
    if (this.#isReading) return
    this.#isReading = true
    try {
      while (this.#isWanted && this.#hasNews && !this.#isOver) {
        if (this.#isResting()) return
        this.#hasNews = false
        const { scope, source, isAllowed } = this.#request
        const { text, place, hasMore } = await source.read(scope, this.#place)
        if (this.#isOver) return
        if (!isAllowed()) return this.end()
        this.#hasNews ||= hasMore
        this.#place = place
        if (text !== '') this.#send(text)
      }
    } catch (error) {
      this.destroy(error as Error)
    } finally {
      this.#isReading = false
    }
  }

  #send(text: string): void {
    this.#isWanted = this.push(text)
    this.#restsUntil = this.#services.clock.now() + this.#request.source.restMs(this.#openStreams())
  }

  /** True if the stream told something a moment ago; it then goes on by itself. */
  #isResting(): boolean {
    const { clock } = this.#services
    if (clock.now() >= this.#restsUntil) return false
    this.#cancelRest ??= clock.at(this.#restsUntil, () => {
      this.#cancelRest = null
      void this.#advance()
    })
    return true
  }

  #beatLater(): void {
    const { clock } = this.#services
    this.#cancelHeartbeat = clock.at(clock.now() + heartbeatMs, () => this.#beat())
  }

  #beat(): void {
    if (this.#isOver) return
    if (!this.#request.isAllowed()) return this.end()
    if (this.#isWanted) this.#isWanted = this.push(': still here\n\n')
    else if (++this.#heartbeatsWaited >= maxHeartbeatsWaited) return void this.destroy()
    this.#beatLater()
    // This finds events that were written without a notification.
    this.#hasNews = true
    void this.#advance()
  }
}
