import type { CancelTimer, Clock } from '../clock.ts'
import { SternaError } from '../errors.ts'
import type { Log } from '../log.ts'
import { ByteBudget } from '../queue/byte-budget.ts'
import { ConflictError, StorageFullError } from '../store/database.ts'
import type { Database } from '../store/database.ts'
import type { IncomingReport, IncomingReports, ReportPurpose } from './incoming-reports.ts'
import { withoutEffect } from './report-handler.ts'
import type { ReportHandler, ReportOutcome } from './report-handler.ts'
import { settleReport } from './settle-report.ts'

interface ReportRunnerParts {
  db: Pick<Database, 'write'>
  clock: Clock
  log: Log
  reports: Pick<IncomingReports, 'next' | 'content'>
  /** Which reports it takes. */
  purpose: ReportPurpose
  handler: ReportHandler
  /** Called after events were written. */
  eventsWritten(): void
}

/** Reports in hand, and how many bytes of them may be in memory. */
const atOnce = 50
const contentLimit = 4 * 1024 * 1024
/** Reports that are looked at again later. What is provisional beyond that is taken as it is. */
const mostWaiting = 1_000
/** The first wait before another look, ms; each further one is twice as long. */
const firstWaitMs = 1_000
/** Looks at a report whose outcome is provisional: some four minutes. */
const mostLooks = 8
const longestWaitMs = 600_000
/** When a look that failed is taken again, ms. */
const unreadMs = 10_000
/** When an outcome that found the disk full is written again, ms. */
const fullDiskMs = 1_000
/** Of attempts to write an outcome that somebody else's change came before. */
const mostConflicts = 10

/**
 * Takes the reports of one purpose that have come in, the oldest first, and writes down what follows of each, once. One that
 * could not be settled, because the disk was full or the relay stopped, is taken again. Those of other purposes have runners of
 * their own and do not wait for it.
 */
export class ReportRunner {
  readonly #parts: ReportRunnerParts
  /** Looks that were in vain, and whether it is time for the next. */
  readonly #waiting = new Map<string, { looks: number; isDue: boolean; cancel: CancelTimer }>()
  readonly #content = new ByteBudget(contentLimit)
  #isNews = false
  #isStopped = false
  #run: Promise<void> | null = null

  constructor(parts: ReportRunnerParts) {
    this.#parts = parts
  }

  /** To be called at the start, and whenever a report has been kept. */
  reportArrived(): void {
    this.#isNews = true
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
    if (this.#run) await Promise.race([this.#run, late])
  }

  async #takeAll(): Promise<void> {
    while (this.#isNews && !this.#isStopped) {
      this.#isNews = false
      // From the oldest each time: of two that arrive together, the one with the lower id may be on disk later.
      let after = ''
      for (;;) {
        const reports = await this.#next(after)
        const last = reports.at(-1)
        if (!last || this.#isStopped) break
        after = last.id
        const due = reports.filter(({ id }) => this.#waiting.get(id)?.isDue !== false)
        await Promise.all(due.map((report) => this.#take(report)))
      }
    }
  }

  /** None where they cannot be read: then another look is taken in a while. */
  async #next(after: string): Promise<IncomingReport[]> {
    const { reports, purpose, clock, log } = this.#parts
    try {
      return await reports.next(purpose, atOnce, after)
    } catch (error) {
      if (this.#isStopped) return []
      log.error({ error }, 'the reports that have come in could not be read')
      clock.at(clock.now() + unreadMs, () => this.reportArrived())
      return []
    }
  }

  /** Never rejects. */
  async #take(report: IncomingReport): Promise<void> {
    await this.#content.take(report.size)
    try {
      const outcome = await this.#settle(report)
      if (outcome === 'provisional') this.#lookAgain(report.id)
      else this.#waiting.delete(report.id)
    } catch (error) {
      if (this.#isStopped) return
      this.#parts.log.error({ reportId: report.id, error }, 'a report could not be settled and is taken again')
      if (this.#waiting.has(report.id) || this.#waiting.size < mostWaiting) this.#lookAgain(report.id)
    } finally {
      this.#content.giveBack(report.size)
    }
  }

  async #settle(report: IncomingReport): Promise<'settled' | 'provisional'> {
    for (let conflicts = 0; ; ) {
      const outcome = await this.#outcomeOf(report)
      if (outcome.isProvisional && this.#mayWait(report.id)) return 'provisional'
      try {
        await this.#write(report, outcome)
        return 'settled'
      } catch (error) {
        if (!(error instanceof ConflictError) || ++conflicts === mostConflicts) throw error
        // The report itself: it is settled. What it is about: another report, or an attempt, was first.
        if (error.statement === 0) return 'settled'
      }
    }
  }

  async #write(report: IncomingReport, outcome: ReportOutcome): Promise<void> {
    const { db, clock, eventsWritten } = this.#parts
    const batch = [settleReport(report, outcome, clock.now()), ...outcome.statements]
    while (!(await this.#hasRoom(db.write(batch, { patient: true })))) await new Promise((resolve) => setTimeout(resolve, fullDiskMs).unref())
    if (outcome.hasEvents) eventsWritten()
  }

  /** A full disk is waited out. */
  async #hasRoom(writing: Promise<unknown>): Promise<boolean> {
    try {
      await writing
      return true
    } catch (error) {
      if (!(error instanceof StorageFullError) || this.#isStopped) throw error
      return false
    }
  }

  async #outcomeOf(report: IncomingReport): Promise<ReportOutcome> {
    const { reports, handler } = this.#parts
    const content = await reports.content(report.id)
    if (!content) return withoutEffect('not_understood')
    try {
      return await handler(report, content)
    } catch (error) {
      if (error instanceof SternaError && error.code === 'invalid_message') {
        return withoutEffect('not_understood', { fault: error.message })
      }
      throw error
    }
  }

  #mayWait(id: string): boolean {
    const looks = this.#waiting.get(id)?.looks
    return looks === undefined ? this.#waiting.size < mostWaiting : looks + 1 < mostLooks
  }

  #lookAgain(id: string): void {
    const { clock } = this.#parts
    if (this.#isStopped) return
    const looks = (this.#waiting.get(id)?.looks ?? 0) + 1
    const waitMs = Math.min(firstWaitMs * 2 ** (looks - 1), longestWaitMs)
    const cancel = clock.at(clock.now() + waitMs, () => {
      const entry = this.#waiting.get(id)
      if (entry) entry.isDue = true
      this.reportArrived()
    })
    this.#waiting.set(id, { looks, isDue: false, cancel })
  }
}
