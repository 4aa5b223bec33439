import type { CancelTimer, Clock } from '../clock.ts'
import { SternaError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { ByteBudget } from '../queue/byte-budget.ts'
import { ConflictError, type Database } from '../store/database.ts'
import { isPassing, retryMs } from '../store/work-loop.ts'
import { ReaderKilledError } from '../untrusted-reader.ts'
import type { ReturnedMail, ReturnedMailStore, ReturnPathPurpose } from './returned-mail-store.ts'
import { withoutEffect, type ReturnedMailHandler, type ReturnedMailOutcome } from './returned-mail-handler.ts'
import { ReturnedMailTurns } from './returned-mail-turns.ts'
import { settleReturnedMail } from './settle-returned-mail.ts'

interface ReturnedMailRunnerServices {
  db: Pick<Database, 'write'>
  clock: Clock
  log: Log
  metrics: Pick<Metrics, 'reportsSettled'>
  returnedMail: Pick<ReturnedMailStore, 'nextSource' | 'waitingFrom' | 'content'>
  /** Which reports it takes. */
  purpose: ReturnPathPurpose
  handler: ReturnedMailHandler
}

/** Reports that one source gets taken in a turn, and how long a turn goes on, ms: its last reports may take it beyond that. */
const mostInTurn = 50
const turnMs = 100
/** Reports in hand, and how many bytes of them may be in memory. */
const atOnce = 50
const contentLimit = 4 * 1024 * 1024
/** Reports that wait for another look. What is provisional beyond that is taken as it is. */
const mostWaiting = 1_000
/** The first wait before another look, ms; each further one is twice as long. */
const firstWaitMs = 1_000
/** Further looks at a report whose outcome is provisional, or whose reader is killed: some four minutes. */
const mostLooks = 8
/** The longest wait before another look, ms: at one that fails again and again. */
const longestWaitMs = 600_000
/** When a look that failed is taken again, ms. */
const unreadMs = 10_000
/** Of attempts to write an outcome that somebody else's change came before. */
const mostConflicts = 10

/**
 * Takes the reports of one purpose that have come in, those of each source the oldest first, and writes down what follows of
 * each, once. One that could not be settled, because the disk was full or the relay stopped, is taken again. Those of other
 * purposes have runners of their own and do not wait for it.
 */
export class ReturnedMailRunner {
  readonly #services: ReturnedMailRunnerServices
  readonly #turns: ReturnedMailTurns
  /** In hand, or not to be looked at for a while. */
  readonly #held = new Set<string>()
  /** What the outcomes of reports in hand are written by. */
  readonly #settling = new Set<Promise<void>>()
  /** Looks that were in vain. */
  readonly #waiting = new Map<string, { looks: number; cancel: CancelTimer }>()
  readonly #content = new ByteBudget(contentLimit)
  #isNews = false
  #isStopped = false
  #run: Promise<void> | null = null

  constructor(services: ReturnedMailRunnerServices) {
    this.#services = services
    this.#turns = new ReturnedMailTurns(services.returnedMail, services.purpose)
  }

  /** To be called at the start, and whenever a report has been kept. */
  mailArrived(): void {
    this.#isNews = true
    this.#turns.wake()
    if (this.#run || this.#isStopped) return
    this.#run = this.#takeAll().finally(() => {
      this.#run = null
      if (this.#isNews) this.mailArrived()
    })
  }

  /** Takes no more, and waits at most so long for what is in hand. */
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

  /** Each source has its turn; false where there was nothing to take. */
  async #takeRound(): Promise<boolean> {
    for (let isWork = false; ;) {
      const found = await this.#next()
      if (!found || this.#isStopped) return isWork
      const due = found.filter(({ id }) => !this.#held.has(id)).slice(0, mostInTurn)
      isWork ||= due.length > 0
      this.#turns.took(due.length)
      await this.#takeTurn(due)
    }
  }

  /** Null where a round is over, and where they cannot be read: then another look is taken in a while. */
  async #next(): Promise<ReturnedMail[] | null> {
    const { clock, log } = this.#services
    try {
      return await this.#turns.next(mostInTurn + Math.min(this.#held.size, atOnce + mostWaiting))
    } catch (error) {
      if (this.#isStopped) return null
      log.error({ error }, 'returned mail could not be read from the database; trying again soon')
      clock.at(clock.now() + unreadMs, () => this.mailArrived())
      return null
    }
  }

  /** More at once the quicker it goes: of a source whose mail takes long, one is taken, and then others have their turn. */
  async #takeTurn(due: ReturnedMail[]): Promise<void> {
    const { clock } = this.#services
    const end = clock.steady() + turnMs
    for (let place = 0, count = 1; place < due.length && clock.steady() < end && !this.#isStopped; place += count, count *= 2) {
      await Promise.all(due.slice(place, place + count).map((mail) => this.#take(mail)))
      while (this.#settling.size >= atOnce) await Promise.race(this.#settling)
    }
  }

  /** Resolves once it is known what follows; that is written while others are taken. Never rejects. */
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
        if (!(error instanceof ConflictError) || ++conflicts === mostConflicts) throw error
        // The report itself: it is settled. What it is about: another report, or an attempt, was first.
        if (error.guard === 'returned-mail') return 'settled'
      }
    }
  }

  async #write(mail: ReturnedMail, outcome: ReturnedMailOutcome): Promise<void> {
    const { db, clock, metrics } = this.#services
    const batch = [settleReturnedMail(mail, outcome, clock.now()), ...outcome.statements]
    while (!(await this.#isWritten(db.write(batch, { patient: true }))))
      await new Promise((resolve) => setTimeout(resolve, retryMs).unref())
    metrics.reportsSettled[outcome.result].add()
  }

  /** A full disk is waited out, and so is a lock: of anything else the report itself may be the cause, and others must not wait for it. */
  async #isWritten(writing: Promise<unknown>): Promise<boolean> {
    try {
      await writing
      return true
    } catch (error) {
      if (!isPassing(error) || this.#isStopped) throw error
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
      // Again and again by the same report: it may be what takes the memory that others are short of.
      if (error instanceof ReaderKilledError && (this.#waiting.get(mail.id)?.looks ?? 0) >= mostLooks) {
        return withoutEffect('not_understood', { fault: error.message })
      }
      throw error
    }
  }

  #mayWait(id: string): boolean {
    const looks = this.#waiting.get(id)?.looks
    return looks === undefined ? this.#waiting.size < mostWaiting : looks < mostLooks
  }

  #lookAgain(id: string): void {
    const { clock } = this.#services
    if (this.#isStopped) return
    const looks = (this.#waiting.get(id)?.looks ?? 0) + 1
    const waitMs = Math.min(firstWaitMs * 2 ** (looks - 1), longestWaitMs)
    const cancel = clock.at(clock.now() + waitMs, () => {
      this.#held.delete(id)
      this.mailArrived()
    })
    this.#waiting.set(id, { looks, cancel })
  }
}
