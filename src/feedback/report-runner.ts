import type { CancelTimer, Clock } from '../clock.ts'
import { SternaError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { ByteBudget } from '../queue/byte-budget.ts'
import { ConflictError, type Database } from '../store/database.ts'
import { isPassing, retryMs } from '../store/work-loop.ts'
import { ReaderKilledError } from '../untrusted-reader.ts'
import type { IncomingReport, IncomingReports, ReportPurpose } from './incoming-reports.ts'
import { withoutEffect, type ReportHandler, type ReportOutcome } from './report-handler.ts'
import { ReportTurns } from './report-turns.ts'
import { settleReport } from './settle-report.ts'

interface ReportRunnerServices {
  db: Pick<Database, 'write'>
  clock: Clock
  log: Log
  metrics: Pick<Metrics, 'reportsSettled'>
  reports: Pick<IncomingReports, 'nextSource' | 'waitingFrom' | 'content'>
  /** Which reports it takes. */
  purpose: ReportPurpose
  handler: ReportHandler
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
export class ReportRunner {
  readonly #services: ReportRunnerServices
  readonly #turns: ReportTurns
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

  constructor(services: ReportRunnerServices) {
    this.#services = services
    this.#turns = new ReportTurns(services.reports, services.purpose)
  }

  /** To be called at the start, and whenever a report has been kept. */
  reportArrived(): void {
    this.#isNews = true
    this.#turns.wake()
    if (this.#run || this.#isStopped) return
    this.#run = this.#takeAll().finally(() => {
      this.#run = null
      if (this.#isNews) this.reportArrived()
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
      const reports = await this.#next()
      if (!reports || this.#isStopped) return isWork
      const due = reports.filter(({ id }) => !this.#held.has(id)).slice(0, mostInTurn)
      isWork ||= due.length > 0
      this.#turns.took(due.length)
      await this.#takeTurn(due)
    }
  }

  /** Null where a round is over, and where they cannot be read: then another look is taken in a while. */
  async #next(): Promise<IncomingReport[] | null> {
    const { clock, log } = this.#services
    try {
      return await this.#turns.next(mostInTurn + Math.min(this.#held.size, atOnce + mostWaiting))
    } catch (error) {
      if (this.#isStopped) return null
      log.error({ error }, 'the reports that have come in could not be read')
      clock.at(clock.now() + unreadMs, () => this.reportArrived())
      return null
    }
  }

  /** More at once the quicker it goes: of a source whose mail takes long, one is taken, and then others have their turn. */
  async #takeTurn(reports: IncomingReport[]): Promise<void> {
    const { clock } = this.#services
    const end = clock.steady() + turnMs
    for (let place = 0, count = 1; place < reports.length && clock.steady() < end && !this.#isStopped; place += count, count *= 2) {
      await Promise.all(reports.slice(place, place + count).map((report) => this.#take(report)))
      while (this.#settling.size >= atOnce) await Promise.race(this.#settling)
    }
  }

  /** Resolves once it is known what follows; that is written while others are taken. Never rejects. */
  async #take(report: IncomingReport): Promise<void> {
    this.#held.add(report.id)
    await this.#content.take(report.size)
    const decided = this.#outcomeOf(report)
    const settling = this.#finish(report, decided).finally(() => {
      this.#content.giveBack(report.size)
      this.#settling.delete(settling)
    })
    this.#settling.add(settling)
    await Promise.allSettled([decided])
  }

  /** Never rejects. */
  async #finish(report: IncomingReport, decided: Promise<ReportOutcome>): Promise<void> {
    try {
      if ((await this.#settle(report, decided)) === 'provisional') return this.#lookAgain(report.id)
      this.#waiting.delete(report.id)
      this.#held.delete(report.id)
    } catch (error) {
      if (this.#isStopped) return
      this.#services.log.error({ reportId: report.id, error }, 'a report could not be settled and is taken again')
      this.#lookAgain(report.id)
    }
  }

  async #settle(report: IncomingReport, decided: Promise<ReportOutcome>): Promise<'settled' | 'provisional'> {
    for (let conflicts = 0, outcome = await decided; ; outcome = await this.#outcomeOf(report)) {
      if (outcome.isProvisional && this.#mayWait(report.id)) return 'provisional'
      try {
        await this.#write(report, outcome)
        return 'settled'
      } catch (error) {
        if (!(error instanceof ConflictError) || ++conflicts === mostConflicts) throw error
        // The report itself: it is settled. What it is about: another report, or an attempt, was first.
        if (error.guard === 'report') return 'settled'
      }
    }
  }

  async #write(report: IncomingReport, outcome: ReportOutcome): Promise<void> {
    const { db, clock, metrics } = this.#services
    const batch = [settleReport(report, outcome, clock.now()), ...outcome.statements]
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

  async #outcomeOf(report: IncomingReport): Promise<ReportOutcome> {
    const { reports, handler } = this.#services
    const content = await reports.content(report.id)
    if (!content) return withoutEffect('not_understood')
    try {
      return await handler(report, content)
    } catch (error) {
      if (error instanceof SternaError && error.code === 'invalid_message') {
        return withoutEffect('not_understood', { fault: error.message })
      }
      // Again and again by the same report: it may be what takes the memory that others are short of.
      if (error instanceof ReaderKilledError && (this.#waiting.get(report.id)?.looks ?? 0) >= mostLooks) {
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
      this.reportArrived()
    })
    this.#waiting.set(id, { looks, cancel })
  }
}
