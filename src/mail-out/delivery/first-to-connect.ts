import type { Socket } from 'node:net'
import { call, type Call } from './host-call.ts'
import type { Lease } from './connection-pool.ts'
import { connectionFault, isOutOfSockets } from './tls-policy.ts'
import type { Try } from './tls-trouble.ts'

/** So many addresses of a host are connected to at a time. */
const maxAtATime = 4

/** A host to be asked, with the right to a connection. */
export interface Contender {
  each: Try
  lease: Lease
}

/** What came of connecting to several addresses of a host. */
export interface Race {
  /** Null if none answered. `call`: null where there was a connection already. */
  first: { one: Contender; call: Call | null } | null
  /** `code`: of the system's error; null after a time-out. */
  failed: { one: Contender; fault: string; code: string | null }[]
  /** Those that are not needed any more; `isSlow`: they had begun earlier than the first to answer. */
  overtaken: { one: Contender; isSlow: boolean }[]
  /** True if this process may open no more sockets. */
  isOutOfSockets: boolean
}

interface Contest {
  /** One more address of the host, to be connected to; null if there is none. */
  next(): Contender | null
  /** How long each may take to answer, and how long the last one is waited for before the next is tried too, ms. */
  connectMs: number
  headStartMs: number
}

/**
 * Connects to one address of a host after the other until one answers, the next one a quarter of a second after the last without giving that up
 * (RFC 8305 5), or as soon as it fails. Gives back the leases of the others. Never rejects.
 */
export const firstToConnect = (begin: Contender, contest: Contest): Promise<Race> =>
  new Promise((resolve) => new Connecting(contest, resolve).start(begin))

class Connecting {
  readonly #contest: Contest
  readonly #resolve: (race: Race) => void
  readonly #race: Race = { first: null, failed: [], overtaken: [], isOutOfSockets: false }
  /** In the order in which they were begun. */
  readonly #running = new Map<Contender, Call>()
  #timer: NodeJS.Timeout | undefined

  constructor(contest: Contest, resolve: (race: Race) => void) {
    this.#contest = contest
    this.#resolve = resolve
  }

  start(one: Contender): void {
    const { connectMs, headStartMs } = this.#contest
    if (one.lease.connection) return this.#end({ one, call: null })
    const made = call(one.each.host)
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

  #onError(one: Contender, error: NodeJS.ErrnoException): void {
    if (!isOutOfSockets(error)) return this.#onFault(one, `the connection failed: ${connectionFault(error)}`, error.code ?? '')
    this.#race.isOutOfSockets = true
    this.#race.overtaken.push({ one, isSlow: false })
    this.#giveUp(one)
    this.#goOn()
  }

  #onFault(one: Contender, fault: string, code: string | null): void {
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

  #end(first: Race['first']): void {
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

  #giveUp(one: Contender): void {
    const socket = this.#running.get(one)?.socket as Socket
    this.#running.delete(one)
    socket.removeAllListeners('error').removeAllListeners('timeout').removeAllListeners('connect')
    socket.on('error', () => {}).destroy()
    one.lease.release(null)
  }
}
