import { Readable } from 'node:stream'
import type { AccountScope } from '../account/account-scope.ts'
import type { CancelTimer, Clock } from '../clock.ts'
import type { EventFeed, FeedRow } from '../event/event-feed.ts'
import type { EventFollower } from '../event/event-follower.ts'
import { webhookBody } from '../webhook/webhook-body.ts'

export interface EventStreamServices {
  feed: EventFeed
  follower: EventFollower
  clock: Clock
}

/** What one stream sends, and to whom. */
export interface StreamRequest {
  scope: AccountScope
  /** Whose stream it is, for the limit on open streams: the account, or the user who is logged in. */
  holder: string
  /** It begins behind this place of the log. */
  after: number
  /** Whether the key is still valid. */
  isAllowed(): boolean
}

/** How many events are read at once. */
const pageSize = 100
/** Shorter than the idle time-out of common proxies, ms. */
const heartbeatMs = 15_000
/** A client that takes nothing for this many heartbeats is disconnected; it can resume after its last event. */
const mostHeartbeatsWaited = 4
/** How long a browser waits before it reconnects, ms. */
const retryMs = 3_000

/**
 * The log of an account as server-sent events (HTML, 9.2). It reads a page when the client has taken the previous one and there is
 * something new, so a slow client costs one page of memory.
 */
export class EventStream extends Readable {
  readonly #services: EventStreamServices
  readonly #request: StreamRequest
  #place: number
  #isNew = true
  #hasNews = true
  #isWanted = false
  #isReading = false
  #isOver = false
  #heartbeatsWaited = 0
  #unfollow: () => void = () => {}
  #cancelHeartbeat: CancelTimer = () => {}

  constructor(services: EventStreamServices, request: StreamRequest) {
    super()
    this.#services = services
    this.#request = request
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
        this.#hasNews = false
        const { scope, isAllowed } = this.#request
        const rows = await this.#services.feed.page(scope, { order: 'asc', limit: pageSize, after: this.#place, before: null })
        if (this.#isOver) return
        if (!isAllowed()) return this.end()
        this.#hasNews ||= rows.length > pageSize
        this.#pushEvents(rows.slice(0, pageSize))
      }
    } catch (error) {
      this.destroy(error as Error)
    } finally {
      this.#isReading = false
    }
  }

  #pushEvents(rows: FeedRow[]): void {
    const last = rows.at(-1)
    if (!last) return
    this.#place = last.seq
    this.#isWanted = this.push(rows.map(eventText).join(''))
  }

  #beatLater(): void {
    const { clock } = this.#services
    this.#cancelHeartbeat = clock.at(clock.now() + heartbeatMs, () => this.#beat())
  }

  #beat(): void {
    if (this.#isOver) return
    if (!this.#request.isAllowed()) return this.end()
    if (this.#isWanted) this.#isWanted = this.push(': still here\n\n')
    else if (++this.#heartbeatsWaited >= mostHeartbeatsWaited) return void this.destroy()
    this.#beatLater()
    // This finds events that were written without a notification.
    this.#hasNews = true
    void this.#advance()
  }
}

/** JSON has no line breaks, so the data is one line. */
const eventText = ({ id, type, sandbox, created_at: createdAt, data }: FeedRow): string =>
  `id: ${id}\nevent: ${type}\ndata: ${webhookBody({ id, type, sandbox: sandbox === 1, createdAt, data })}\n\n`
