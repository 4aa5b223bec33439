import { lastUsed } from '../../platform/last-used.ts'
import type { Log } from '../../platform/log.ts'
import { unconnectedAttempt, type Attempt, type ContentSupply, type DeliveryJob, type Postponed } from './attempt.ts'
import type { ToThread } from './delivery-messages.ts'
import { deferral } from './outcome.ts'
import { textOfDemands } from './tls-trouble.ts'

/** A job that a thread has in hand. */
export interface OpenJob {
  job: DeliveryJob
  /** Ids of recipients not yet reported. */
  open: Set<string>
  onAttempt: (result: Attempt | Postponed) => void
  supply: ContentSupply
  done: () => void
}

/** Called with the jobs that a crashed thread had in hand, and why it crashed; they must be reported and ended. */
export type OnCrash = (jobs: OpenJob[], reason: string) => void

/** The thread on which suspects are tried. */
interface LoneThread {
  deliver(job: DeliveryJob, onAttempt: (result: Attempt | Postponed) => void, supply: ContentSupply): Promise<void>
  tell(message: ToThread): void
  stop(graceMs: number): Promise<void>
}

interface Waiting {
  job: DeliveryJob
  onAttempt: (result: Attempt | Postponed) => void
  supply: ContentSupply
  done: () => void
}

/** How many recipients are remembered; beyond that the oldest suspect counts as innocent. */
const maxSuspects = 10_000
/** How many jobs wait for their turn here; more come again later. */
const maxWaiting = 100
/** How long a job runs alone, ms; after that the others no longer wait for it, because its host may hang. */
const aloneMs = 10_000

/**
 * The mail that was under way when a delivery thread crashed: one message may be the cause. All are put back untried, and tried again on a
 * thread of their own, one job after the other. Whatever ends there is innocent. A message that crashes that thread alone is deferred and
 * kept apart, so it takes no other mail with it.
 */
export class Suspects {
  readonly #startThread: (onCrash: OnCrash) => LoneThread
  readonly #log: Log
  /** Ids of recipients. */
  readonly #suspects = lastUsed<true>(maxSuspects)
  readonly #waiting: Waiting[] = []
  #thread: LoneThread | null = null
  #inFlight = 0
  #isTurnTaken = false
  #isStopped = false

  constructor(startThread: (onCrash: OnCrash) => LoneThread, log: Log) {
    this.#startThread = startThread
    this.#log = log
  }

  /** A shared thread has crashed. */
  readonly onCrash: OnCrash = (jobs) => {
    for (const { open, onAttempt, done } of jobs) {
      for (const recipientId of open) {
        this.#suspects.set(recipientId, true)
        onAttempt({ recipientId, postponed: true })
      }
      done()
    }
  }

  has({ recipients }: DeliveryJob): boolean {
    return this.#suspects.size > 0 && recipients.some(({ id }) => this.#suspects.has(id))
  }

  /** Like `Delivery.deliver`. */
  deliver(job: DeliveryJob, onAttempt: (result: Attempt | Postponed) => void, supply: ContentSupply): Promise<void> {
    return new Promise((done) => {
      const waiting = { job, onAttempt, supply, done }
      if (this.#isStopped || this.#waiting.length === maxWaiting) return postpone(waiting)
      this.#waiting.push(waiting)
      if (!this.#isTurnTaken) void this.#takeTurns()
    })
  }

  tell(message: ToThread): void {
    this.#thread?.tell(message)
  }

  async stop(graceMs: number): Promise<void> {
    this.#isStopped = true
    for (const waiting of this.#waiting.splice(0)) postpone(waiting)
    await this.#thread?.stop(graceMs)
  }

  async #takeTurns(): Promise<void> {
    this.#isTurnTaken = true
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      const { promise: longEnough, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, aloneMs).unref()
      await Promise.race([this.#run(next), longEnough])
      clearTimeout(timer)
    }
    this.#isTurnTaken = false
  }

  async #run({ job, onAttempt, supply, done }: Waiting): Promise<void> {
    this.#thread ??= this.#startThread((jobs, reason) => this.#onLoneCrash(jobs, reason))
    this.#inFlight++
    const noteInnocent = (result: Attempt | Postponed): void => {
      if (!('postponed' in result)) this.#suspects.delete(result.recipientId)
      onAttempt(result)
    }
    await this.#thread.deliver(job, noteInnocent, supply)
    this.#inFlight--
    done()
    this.#retire()
  }

  /** A single one is the cause; of several, nobody can tell. */
  #onLoneCrash(jobs: OpenJob[], reason: string): void {
    const [only] = jobs
    if (!only || jobs.length > 1) return this.onCrash(jobs, reason)
    const { messageId } = only.job
    const tls = textOfDemands(only.job)
    this.#log.error({ messageId, reason }, 'a message has crashed a delivery thread twice; it is deferred and kept apart from other mail')
    const { outcome } = deferral('internal_error', `4.3.0 this message crashes the delivery thread of this server: ${reason}`)
    for (const recipientId of only.open) {
      only.onAttempt(unconnectedAttempt(recipientId, outcome, tls))
      this.#suspects.set(recipientId, true)
    }
    only.done()
  }

  #retire(): void {
    if (this.#suspects.size > 0 || this.#inFlight > 0 || this.#waiting.length > 0) return
    void this.#thread?.stop(0)
    this.#thread = null
  }
}

function postpone({ job, onAttempt, done }: Waiting): void {
  for (const { id } of job.recipients) onAttempt({ recipientId: id, postponed: true })
  done()
}
