import { Worker } from 'node:worker_threads'
import { messageOf, SternaError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { ListenAddress } from './address-guard.ts'
import { unconnectedAttempt } from './attempt.ts'
import type { Attempt, DeliveryJob, Postponed } from './attempt.ts'
import type { DeliverySettings, FromThread, ToThread } from './delivery-messages.ts'
import type { LookUp } from './find-route.ts'
import { deferral } from './outcome.ts'
import { Outbox } from './outbox.ts'

export interface DeliveryOptions extends DeliverySettings {
  threads: number
}

/** The delivery threads, as the main thread sees them. */
export interface Delivery {
  /**
   * Attempts one job; every recipient is reported once, and then the promise resolves. It does not reject: after
   * `stop` the recipients are postponed.
   */
  deliver(job: DeliveryJob, onAttempt: (result: Attempt | Postponed) => void): Promise<void>
  /** Hands a private key over (PKCS #8, DER) that later jobs name by this id. */
  addKey(id: string, der: Uint8Array): void
  /** Forgets a key that no later job names. */
  dropKey(id: string): void
  /** What this server listens on from now on: it is never connected to. */
  setOwnListeners(listeners: ListenAddress[]): void
  /** Lets transactions under way end for so long, then breaks them off; what has not begun is postponed. */
  stop(graceMs: number): Promise<void>
}

interface OpenJob {
  job: DeliveryJob
  /** Ids of recipients not yet reported. */
  open: Set<string>
  onAttempt: (result: Attempt | Postponed) => void
  done: () => void
}

/** What a thread that takes a crashed one's place is told first. */
interface Known {
  keys: Map<string, Uint8Array>
  listeners: ListenAddress[] | null
}

type NoteLookUp = (lookUp: LookUp) => void

const ehloNameForm = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/i
/** Beyond the grace for transactions: for the thread to answer at all. */
const stopMarginMs = 1000
/** After so many crashes in so long a time a new thread waits, ms. */
const crashWindowMs = 10 * 60_000
const longestRestartWaitMs = 60_000

/**
 * Starts the threads that sign and deliver. `noteLookUp` is told what name servers say of destinations, before the attempts are.
 * @throws SternaError `configuration` where the host name cannot be said in EHLO
 */
export function startDelivery({ threads, ...settings }: DeliveryOptions, log: Log, noteLookUp: NoteLookUp = () => {}): Delivery {
  if (!ehloNameForm.test(settings.hostname)) {
    throw new SternaError('configuration', `hostname: "${settings.hostname}" is not a host name; use the name that this server's address resolves to.`)
  }
  const known: Known = { keys: new Map(), listeners: null }
  const all = Array.from({ length: threads }, () => new DeliveryThread(settings, { known, log, noteLookUp }))
  return {
    deliver: (job, onAttempt) => (all[placeOf(job.destination) % threads] as DeliveryThread).deliver(job, onAttempt),
    addKey(id, der) {
      known.keys.set(id, der)
      for (const thread of all) thread.tell({ type: 'key', id, der })
    },
    dropKey(id) {
      known.keys.delete(id)
      for (const thread of all) thread.tell({ type: 'drop key', id })
    },
    setOwnListeners(listeners) {
      known.listeners = listeners
      for (const thread of all) thread.tell({ type: 'listeners', listeners })
    },
    stop: async (graceMs) => void (await Promise.all(all.map((thread) => thread.stop(graceMs)))),
  }
}

/** One destination's mail stays on one thread, where its connections are. */
function placeOf(destination: string): number {
  let place = 0
  for (let i = 0; i < destination.length; i++) place = (place * 31 + destination.charCodeAt(i)) >>> 0
  return place
}

class DeliveryThread {
  readonly #settings: DeliverySettings
  readonly #known: Known
  readonly #log: Log
  readonly #noteLookUp: NoteLookUp
  readonly #jobs = new Map<string, OpenJob>()
  readonly #outbox: Outbox<ToThread>
  #worker: Worker | null = null
  #restart: NodeJS.Timeout | null = null
  #crashes: number[] = []
  #stopping = false
  #stopped = (): void => {}

  constructor(settings: DeliverySettings, { known, log, noteLookUp }: { known: Known; log: Log; noteLookUp: NoteLookUp }) {
    this.#settings = settings
    this.#known = known
    this.#log = log
    this.#noteLookUp = noteLookUp
    this.#outbox = new Outbox((messages) => this.#worker?.postMessage(messages))
    this.#start()
  }

  deliver(job: DeliveryJob, onAttempt: (result: Attempt | Postponed) => void): Promise<void> {
    if (this.#stopping || !this.#worker) {
      for (const { id } of job.recipients) onAttempt({ recipientId: id, postponed: true })
      return Promise.resolve()
    }
    return new Promise((done) => {
      this.#jobs.set(job.id, { job, open: new Set(job.recipients.map(({ id }) => id)), onAttempt, done })
      this.tell({ type: 'job', job })
    })
  }

  tell(message: ToThread): void {
    if (this.#worker) this.#outbox.add(message)
  }

  async stop(graceMs: number): Promise<void> {
    this.#stopping = true
    if (this.#restart) clearTimeout(this.#restart)
    const worker = this.#worker
    if (!worker) return
    await new Promise<void>((stopped) => {
      this.#stopped = stopped
      const timer = setTimeout(stopped, graceMs + stopMarginMs)
      this.tell({ type: 'stop', graceMs })
      worker.once('exit', () => {
        clearTimeout(timer)
        stopped()
      })
    })
    await worker.terminate()
    this.#settleAll((recipientId) => ({ recipientId, postponed: true }))
  }

  #start(): void {
    const worker = new Worker(new URL('./delivery-thread.ts', import.meta.url), { workerData: this.#settings, name: 'delivery' })
    this.#worker = worker
    let cause: unknown = null
    worker.on('message', (messages: FromThread[]) => {
      for (const message of messages) this.#receive(message)
    })
    worker.on('error', (error) => (cause = error))
    worker.once('exit', () => this.#onExit(cause))
    for (const [id, der] of this.#known.keys) this.tell({ type: 'key', id, der })
    if (this.#known.listeners) this.tell({ type: 'listeners', listeners: this.#known.listeners })
  }

  #receive(message: FromThread): void {
    if (message.type === 'stopped') {
      this.#stopped()
      void this.#worker?.terminate()
      return
    }
    if (message.type === 'looked up') return this.#noteLookUp(message.lookUp)
    if (message.type === 'fault') return this.#log.error({ reason: message.reason }, 'a DKIM key cannot be used')
    const job = this.#jobs.get(message.jobId)
    if (!job) return
    if (message.type === 'attempt') {
      if (job.open.delete(message.result.recipientId)) job.onAttempt(message.result)
    } else {
      this.#jobs.delete(message.jobId)
      job.done()
    }
  }

  /** The attempts under way are lost with the thread: perhaps delivered, so tried again later rather than at once. */
  #onExit(cause: unknown): void {
    this.#worker = null
    if (this.#stopping) return
    const reason = cause === null ? 'it ended' : messageOf(cause)
    this.#log.error({ error: cause }, 'a delivery thread has crashed; another takes its place')
    const startedAt = Date.now()
    const { outcome } = deferral('internal_error', `4.3.0 the delivery thread crashed: ${reason}`)
    this.#settleAll((recipientId) => unconnectedAttempt(recipientId, outcome, startedAt))
    this.#crashes = [...this.#crashes.filter((at) => at > startedAt - crashWindowMs), startedAt]
    const waitMs = this.#crashes.length === 1 ? 0 : Math.min(1000 * 2 ** (this.#crashes.length - 2), longestRestartWaitMs)
    this.#restart = setTimeout(() => this.#start(), waitMs)
  }

  #settleAll(resultFor: (recipientId: string) => Attempt | Postponed): void {
    for (const { open, onAttempt, done } of this.#jobs.values()) {
      for (const recipientId of open) onAttempt(resultFor(recipientId))
      done()
    }
    this.#jobs.clear()
  }
}
