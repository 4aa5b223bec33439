/** Where a delivery thread asks the main thread for content. */
interface PendingContent {
  resolve: (content: Uint8Array | null) => void
  reject: (error: Error) => void
}

/** The answer to a request: null if there is no room, a text if it cannot be read. */
export type ContentAnswer = Uint8Array | string | null

/** Content that was not sent along with its job: requested once a host is ready for it, released once it has been sent. */
export class ContentRequests {
  readonly #tell: (type: 'content wanted' | 'content left', jobId: string) => void
  readonly #pending = new Map<string, PendingContent>()
  readonly #taken = new Set<string>()

  constructor(tell: (type: 'content wanted' | 'content left', jobId: string) => void) {
    this.#tell = tell
  }

  /**
   * To be released; null if there is no room for it.
   * @throws Error if it cannot be read
   */
  take(jobId: string): Promise<Uint8Array | null> {
    return new Promise((resolve, reject) => {
      this.#pending.set(jobId, { resolve, reject })
      this.#tell('content wanted', jobId)
    })
  }

  /** Does nothing if it was not taken. */
  giveBack(jobId: string): void {
    if (this.#taken.delete(jobId)) this.#tell('content left', jobId)
  }

  answer(jobId: string, content: ContentAnswer): void {
    const pending = this.#pending.get(jobId)
    this.#pending.delete(jobId)
    if (typeof content === 'string') return pending?.reject(new Error(content))
    if (content !== null) this.#taken.add(jobId)
    pending?.resolve(content)
  }
}
