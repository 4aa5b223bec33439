import { sessionKey, type TlsSession } from './tls-session.ts'

/** Sessions of which a report says the same. */
export interface SessionSum extends TlsSession {
  sessions: number
}

/** What is lost if the thread crashes. */
const handOverMs = 2_000

/**
 * Counts the TLS sessions of one thread, and hands over their sums every two seconds: otherwise each connection would cost a message between
 * threads.
 */
export class SessionTally {
  readonly #take: (sums: SessionSum[]) => void
  readonly #sums = new Map<string, SessionSum>()
  #timer: NodeJS.Timeout | undefined

  constructor(take: (sums: SessionSum[]) => void) {
    this.#take = take
  }

  note(session: TlsSession): void {
    const key = sessionKey(session)
    const sum = this.#sums.get(key)
    if (sum) sum.sessions++
    else this.#sums.set(key, { ...session, sessions: 1 })
    this.#timer ??= setTimeout(this.handOver, handOverMs)
  }

  /** Hands over what was counted since the last time. */
  readonly handOver = (): void => {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#sums.size === 0) return
    this.#take([...this.#sums.values()])
    this.#sums.clear()
  }
}
