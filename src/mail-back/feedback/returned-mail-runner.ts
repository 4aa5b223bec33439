import type { BaseServices } from '../../platform/base-services.ts'
import type { CancelTimer } from '../../platform/clock.ts'
import { SternaError } from '../../platform/errors.ts'
import type { Metrics } from '../../platform/metrics/metrics.ts'
import { ByteBudget } from '../../platform/byte-budget.ts'
import { ConflictError, type Database } from '../../platform/store/database.ts'
import { isTransientFault, retryMs } from '../../platform/store/work-loop.ts'
import { ReaderKilledError } from '../../platform/untrusted-reader.ts'
import type { ReturnedMail, ReturnedMailStore, ReturnPathPurpose } from './returned-mail-store.ts'
import { withoutEffect, type ReturnedMailHandler, type ReturnedMailOutcome } from './returned-mail-handler.ts'
import { ReturnedMailScheduler } from './returned-mail-scheduler.ts'
import { settleReturnedMail } from './settle-returned-mail.ts'

interface ReturnedMailRunnerServices extends Pick<BaseServices, 'clock' | 'log'> {
  db: Pick<Database, 'write'>
  metrics: Pick<Metrics, 'reportsSettled'>
  returnedMail: Pick<ReturnedMailStore, 'nextSource' | 'waitingFrom' | 'content'>
  /** The purpose whose mail it settles. */
  purpose: ReturnPathPurpose
  handler: ReturnedMailHandler
}

/** Messages of one source per turn, and the length of a turn, ms. The last messages may exceed it. */
const maxInTurn = 50
const turnMs = 100
/** Messages in hand, and bytes of their content in memory. */
const atOnce = 50
const contentLimit = 4 * 1024 * 1024
/** Messages waiting for another try. Beyond that, provisional outcomes are final. */
const maxWaiting = 1_000
/** ms before the second try; doubles with each further one */
const firstWaitMs = 1_000
/** Further tries while an outcome is provisional or the parser is killed: about four minutes. */
const maxLooks = 8
/** ms; the longest wait between tries of a message that keeps failing */
const maxWaitMs = 600_000
/** ms before reading again after the database failed */
const unreadMs = 10_000
/** Attempts to write an outcome when other changes keep conflicting. */
const maxConflicts = 10

/**
 * Settles the returned mail of one purpose, the oldest of each source first, each message exactly once. Retries what could not be settled
 * because the disk was full or the relay stopped. Each purpose has its own runner, so none waits for another.
 */
export class ReturnedMailRunner {
  readonly #services: ReturnedMailRunnerServices
  readonly #turns: ReturnedMailScheduler
  /** Ids in hand, or waiting for another try. */
  readonly #held = new Set<string>()
  /** Outcomes being written. */
  readonly #settling = new Set<Promise<void>>()
  /** Failed or provisional tries. */
  readonly #waiting = new Map<string, { looks: number; cancel: CancelTimer }>()
  readonly #content = new ByteBudget({ limit: contentLimit })
  #isNews = false
  #isStopped = false
  #run: Promise<void> | null = null

  constructor(services: ReturnedMailRunnerServices) {
    this.#services = services
    this.#turns = new ReturnedMailScheduler(services.returnedMail, services.purpose)
  }

  /** Call it at the start, and whenever mail has been stored. */
  mailArrived(): void {
    this.#isNews = true
    this.#turns.wake()
    if (this.#run || this.#isStopped) return
    this.#run = this.#takeAll().finally(() => {
      this.#run = null
      if (this.#isNews) this.mailArrived()
    })
  }

  /** Takes no more mail, and waits up to `graceMs` for what is in hand. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopped = true
    for (const { cancel } of this.#waiting.values()) cancel()
    this.#waiting.clear()
    const late = new Promise<void>((resolve) => setTimeout(resolve, graceMs).unref())
    await Promise.race([this.#ended(), late])
  }

  async #ended(): Promise<void> {
    await this.#run
    await Promise.all(this.#settling)
  }

  async #takeAll(): Promise<void> {
    for (let isWork = true; (isWork || this.#isNews) && !this.#isStopped;) {
      this.#isNews = false
      isWork = await this.#takeRound()
    }
  }

  /** Gives each source a turn; false if there was nothing to do. */
  async #takeRound(): Promise<boolean> {
    for (let isWork = false; ;) {
      const found = await this.#next()
      if (!found || this.#isStopped) return isWork
      const due = found.filter(({ id }) => !this.#held.has(id)).slice(0, maxInTurn)
      isWork ||= due.length > 0
      this.#turns.took(due.length)
      await this.#takeTurn(due)
    }
  }

  /** Null at the end of a round, or if the database cannot be read; it then tries again soon. */
  async #next(): Promise<ReturnedMail[] | null> {
    const { clock, log } = this.#services
    try {
      return await this.#turns.next(maxInTurn + Math.min(this.#held.size, atOnce + maxWaiting))
    } catch (error) {
      if (this.#isStopped) return null
      log.error({ error }, 'returned mail could not be read from the database; trying again')
      clock.at(clock.now() + unreadMs, () => this.mailArrived())
      return null
    }
  }

  /** Starts with one message and doubles. A source whose mail takes long gets one through before the next source's turn. */
  async #takeTurn(due: ReturnedMail[]): Promise<void> {
    const { clock } = this.#services
    const end = clock.steady() + turnMs
    for (let place = 0, count = 1; place < due.length && clock.steady() < end && !this.#isStopped; place += count, count *= 2) {
      await Promise.all(due.slice(place, place + count).map((mail) => this.#take(mail)))
      while (this.#settling.size >= atOnce) await Promise.race(this.#settling)
    }
  }

  /** Resolves once the outcome is known, and writes it while others are handled. Never rejects. */
  async #take(mail: ReturnedMail): Promise<void> {
    this.#held.add(mail.id)
    await this.#content.take(mail.size)
    const decided = this.#outcomeOf(mail)
    const settling = this.#finish(mail, decided).finally(() => {
      this.#content.giveBack(mail.size)
      this.#settling.delete(settling)
    })
    this.#settling.add(settling)
    await Promise.allSettled([decided])
  }

  /** Never rejects. */
  async #finish(mail: ReturnedMail, decided: Promise<ReturnedMailOutcome>): Promise<void> {
    try {
      if ((await this.#settle(mail, decided)) === 'provisional') return this.#lookAgain(mail.id)
      this.#waiting.delete(mail.id)
      this.#held.delete(mail.id)
    } catch (error) {
      if (this.#isStopped) return
      this.#services.log.error({ returnedMailId: mail.id, error }, 'returned mail could not be settled; trying again')
      this.#lookAgain(mail.id)
    }
  }

  async #settle(mail: ReturnedMail, decided: Promise<ReturnedMailOutcome>): Promise<'settled' | 'provisional'> {
    for (let conflicts = 0, outcome = await decided; ; outcome = await this.#outcomeOf(mail)) {
      if (outcome.isProvisional && this.#mayWait(mail.id)) return 'provisional'
      try {
        await this.#write(mail, outcome)
        return 'settled'
      } catch (error) {
        if (!(error instanceof ConflictError) || ++conflicts === maxConflicts) throw error
        // If the message itself conflicts, it is settled. If what it is about does, another message or an attempt was first.
        if (error.guard === 'returned-mail') return 'settled'
      }
    }
  }

  async #write(mail: ReturnedMail, outcome: ReturnedMailOutcome): Promise<void> {
    const { db, clock, log, metrics } = this.#services
    const batch = [settleReturnedMail(mail, outcome, clock.now()), ...outcome.statements]
    while (!(await this.#isWritten(db.write(batch, { patient: true }))))
      await new Promise((resolve) => setTimeout(resolve, retryMs).unref())
    const { about, result } = outcome
    metrics.reportsSettled[result].add()
    // Strangers can send any amount of mail that concerns nobody.
    if (about) log.info({ returnedMailId: mail.id, ...about, result }, 'returned mail was settled')
  }

  /**
   * Waits while the disk is full or the database is locked. Any other error may be the message's own fault, so others must not wait for it.
   */
  async #isWritten(writing: Promise<unknown>): Promise<boolean> {
    try {
      await writing
      return true
    } catch (error) {
      if (!isTransientFault(error) || this.#isStopped) throw error
      return false
    }
  }

  async #outcomeOf(mail: ReturnedMail): Promise<ReturnedMailOutcome> {
    const { returnedMail, handler } = this.#services
    const content = await returnedMail.content(mail.id)
    if (!content) return withoutEffect('not_understood')
    try {
      return await handler(mail, content)
    } catch (error) {
      if (error instanceof SternaError && error.code === 'invalid_message') {
        return withoutEffect('not_understood', { fault: error.message })
      }
      // If the parser is killed again and again for this message, the message is probably what exhausts the memory.
      if (error instanceof ReaderKilledError && (this.#waiting.get(mail.id)?.looks ?? 0) >= maxLooks) {
        return withoutEffect('not_understood', { fault: error.message })
      }
      throw error
    }
  }

  #mayWait(id: string): boolean {
    const looks = this.#waiting.get(id)?.looks
    return looks === undefined ? this.#waiting.size < maxWaiting : looks < maxLooks
  }

  #lookAgain(id: string): void {
    const { clock } = this.#services
    if (this.#isStopped) return
    const looks = (this.#waiting.get(id)?.looks ?? 0) + 1
    const waitMs = Math.min(firstWaitMs * 2 ** (looks - 1), maxWaitMs)
    const cancel = clock.at(clock.now() + waitMs, () => {
      this.#held.delete(id)
      this.mailArrived()
    })
    this.#waiting.set(id, { looks, cancel })
  }
}
