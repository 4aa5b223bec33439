interface BudgetLimits {
  /** bytes altogether; no limit unless given */
  limit?: number
  /** bytes of one owner; the same as altogether unless given */
  share?: number
  /** How long bytes may wait for room, ms; for ever unless given. */
  waitMs?: number
}

interface Waiting {
  owner: string
  bytes: number
  enter: (isIn: boolean) => void
  timer: NodeJS.Timeout | undefined
}

/**
 * Lets bytes into memory only up to a limit, in the order of the calls. One owner gets at most its share, so that it leaves room for others,
 * who do not wait for it. What is larger than the limit or the share gets in alone.
 */
export class ByteBudget {
  readonly #limit: number
  readonly #share: number
  readonly #waitMs: number | undefined
  readonly #waiting: Waiting[] = []
  readonly #usedBy = new Map<string, number>()
  #used = 0

  constructor({ limit = Infinity, share = limit, waitMs }: BudgetLimits) {
    this.#limit = limit
    this.#share = share
    this.#waitMs = waitMs
  }

  /** True once they are in: give them back afterwards. False if there was no room in time. */
  async take(bytes: number, owner = ''): Promise<boolean> {
    if (this.#waiting.length === 0 && this.#hasRoom(bytes) && this.#isWithinShare(bytes, owner)) {
      this.#count(bytes, owner)
      return true
    }
    return new Promise((enter) => {
      const timer = this.#waitMs === undefined ? undefined : setTimeout(() => this.#giveUp(waiting), this.#waitMs).unref()
      const waiting: Waiting = { owner, bytes, enter, timer }
      this.#waiting.push(waiting)
      this.#letIn()
    })
  }

  giveBack(bytes: number, owner = ''): void {
    this.#count(-bytes, owner)
    this.#letIn()
  }

  #letIn(): void {
    for (let at = 0; at < this.#waiting.length;) {
      const next = this.#waiting[at] as Waiting
      if (!this.#isWithinShare(next.bytes, next.owner)) {
        at++
        continue
      }
      if (!this.#hasRoom(next.bytes)) return
      this.#waiting.splice(at, 1)
      clearTimeout(next.timer)
      this.#count(next.bytes, next.owner)
      next.enter(true)
    }
  }

  #giveUp(waiting: Waiting): void {
    this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
    waiting.enter(false)
    this.#letIn()
  }

  #hasRoom(bytes: number): boolean {
    return this.#used === 0 || this.#used + bytes <= this.#limit
  }

  #isWithinShare(bytes: number, owner: string): boolean {
    const used = this.#usedBy.get(owner) ?? 0
    return used === 0 || used + bytes <= this.#share
  }

  #count(change: number, owner: string): void {
    this.#used += change
    const used = (this.#usedBy.get(owner) ?? 0) + change
    if (used === 0) this.#usedBy.delete(owner)
    else this.#usedBy.set(owner, used)
  }
}
