/** Collects messages for another thread, so it wakes once per turn of the event loop. */
export class Outbox<T> {
  readonly #post: (messages: T[]) => void
  #waiting: T[] = []
  /** How many batches have been posted. A message may still be changed while this is what it was when the message was added. */
  turn = 0

  constructor(post: (messages: T[]) => void) {
    this.#post = post
  }

  add(message: T): void {
    if (this.#waiting.push(message) === 1) setImmediate(this.flush)
  }

  readonly flush = (): void => {
    if (this.#waiting.length === 0) return
    const messages = this.#waiting
    this.#waiting = []
    this.turn++
    this.#post(messages)
  }
}
