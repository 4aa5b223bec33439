import type { Socket } from 'node:net'
import { call, type Call } from './host-call.ts'
import type { RouteHost } from './route.ts'
import { connectionFault } from './tls-policy.ts'

/** So many addresses of a host are connected to at a time. */
const maxAtATime = 4

/** What came of connecting to several addresses of a host. */
export interface Race<T> {
  /** Null if none answered. `call`: null where there was a connection already. */
  first: { one: T; call: Call | null } | null
  /** `code`: of the system's error; null after a time-out. */
  failed: { one: T; fault: string; code: string | null }[]
  /** Those that are not needed any more; `isSlow`: they had begun earlier than the first to answer. */
  overtaken: { one: T; isSlow: boolean }[]
  /** True if this process may open no more sockets. */
  isOutOfSockets: boolean
}

interface Contest<T> {
  hostOf(one: T): RouteHost
  /** True of one that is connected already. */
  isOpen(one: T): boolean
  /** Called as soon as one is no longer connected to. */
  onEnded(one: T): void
  /** One more address of the host, to be connected to; null if there is none. */
  next(): T | null
  /** How long each may take to answer, and how long the last one is waited for before the next is tried too, ms. */
  connectMs: number
  headStartMs: number
}

/**
 * Connects to one address of a host after the other until one answers, the next one a quarter of a second after the last without giving that up
 * (RFC 8305 5), or as soon as it fails. Never rejects.
 */
export const firstToConnect = <T>(begin: T, contest: Contest<T>): Promise<Race<T>> =>
  new Promise((resolve) => new Connecting(contest, resolve).start(begin))

class Connecting<T> {
  readonly #contest: Contest<T>
  readonly #resolve: (race: Race<T>) => void
  readonly #race: Race<T> = { first: null, failed: [], overtaken: [], isOutOfSockets: false }
  /** In the order in which they were begun. */
  readonly #running = new Map<T, Call>()
  #timer: NodeJS.Timeout | undefined

  constructor(contest: Contest<T>, resolve: (race: Race<T>) => void) {
    this.#contest = contest
    this.#resolve = resolve
  }

  start(one: T): void {
    const { isOpen, hostOf, connectMs, headStartMs } = this.#contest
    if (isOpen(one)) return this.#end({ one, call: null })
    const made = call(hostOf(one))
    this.#running.set(one, made)
    made.socket
      .once('connect', () => {
        made.socket.removeAllListeners('error').removeAllListeners('timeout').setTimeout(0)
        this.#end({ one, call: made })
      })
      .once('error', (error: NodeJS.ErrnoException) => this.#onError(one, error))
      .once('timeout', () => this.#onFault(one, 'time-out: no answer to the connection', null))
      .setTimeout(connectMs)
    this.#timer = setTimeout(() => this.#goOn(), headStartMs)
  }

  #onError(one: T, error: NodeJS.ErrnoException): void {
    const { code = '' } = error
    if (code !== 'EMFILE' && code !== 'ENFILE') return this.#onFault(one, `the connection failed: ${connectionFault(error)}`, code)
    this.#race.isOutOfSockets = true
    this.#race.overtaken.push({ one, isSlow: false })
    this.#giveUp(one)
    this.#goOn()
  }

  #onFault(one: T, fault: string, code: string | null): void {
    this.#race.failed.push({ one, fault, code })
    this.#giveUp(one)
    this.#goOn()
  }

  #goOn(): void {
    clearTimeout(this.#timer)
    if (this.#running.size >= maxAtATime) return
    const one = this.#race.isOutOfSockets ? null : this.#contest.next()
    if (one !== null) this.start(one)
    else if (this.#running.size === 0) this.#end(null)
  }

  #end(first: Race<T>['first']): void {
    clearTimeout(this.#timer)
    const begun = [...this.#running.keys()]
    const place = first?.call ? begun.indexOf(first.one) : begun.length
    begun.forEach((one, i) => {
      if (i === place) return
      this.#race.overtaken.push({ one, isSlow: i < place })
      this.#giveUp(one)
    })
    this.#resolve({ ...this.#race, first })
  }

  #giveUp(one: T): void {
    const socket = this.#running.get(one)?.socket as Socket
    this.#running.delete(one)
    socket.removeAllListeners('error').removeAllListeners('timeout').removeAllListeners('connect')
    socket.on('error', () => {}).destroy()
    this.#contest.onEnded(one)
  }
}
