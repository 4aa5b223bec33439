import type { BaseServices } from '../../platform/base-services.ts'
import { ByteBudget } from '../../platform/byte-budget.ts'
import { SternaError } from '../../platform/errors.ts'
import type { Metrics } from '../../platform/metrics/metrics.ts'
import { Claims } from '../../platform/store/claims.ts'
import { ConflictError, type Database } from '../../platform/store/database.ts'
import type { Nodes } from '../../platform/store/nodes.ts'
import { isTransientFault, WorkLoop } from '../../platform/store/work-loop.ts'
import { ReaderKilledError } from '../../platform/untrusted-reader.ts'
import { withoutEffect, type ReturnedMailHandler, type ReturnedMailOutcome } from './returned-mail-handler.ts'
import { ReturnedMailScheduler } from './returned-mail-scheduler.ts'
import {
  claimReturnedMail,
  returnedMailOf,
  type ReturnedMail,
  type ReturnedMailRow,
  type ReturnedMailSource,
  type ReturnedMailStore,
  type ReturnPathPurpose,
} from './returned-mail-store.ts'
import { retryReturnedMail, settleReturnedMail } from './settle-returned-mail.ts'

interface ReturnedMailRunnerServices extends Pick<BaseServices, 'clock' | 'log'> {
  db: Pick<Database, 'write'>
  nodes: Pick<Nodes, 'self' | 'freeBuried'>
  metrics: Pick<Metrics, 'reportsSettled'>
  returnedMail: Pick<ReturnedMailStore, 'nextSource' | 'firstDue' | 'content'>
  /** The purpose whose mail it settles. */
  purpose: ReturnPathPurpose
  handler: ReturnedMailHandler
}

/** Messages that one claim of a turn takes at most, and the length of a turn, ms. The last messages may exceed it. */
const maxAtOnce = 32
const turnMs = 100
/** bytes of content in memory; with the least that a message counts for, a limit of messages in hand, too */
const contentLimit = 4 * 1024 * 1024
const leastCost = contentLimit / 50
/** Provisional messages waiting for another try. Beyond that, provisional outcomes are final. */
const maxWaiting = 1_000
/** ms before the second try; doubles with each further one */
const firstWaitMs = 1_000
/** Further tries while an outcome is provisional or the parser is killed: about four minutes. */
const maxRetries = 8
/** ms; the longest wait between tries of a message that keeps failing */
const maxWaitMs = 600_000
/** Attempts to write an outcome when other changes keep conflicting. */
const maxConflicts = 10

/**
 * Settles the returned mail of one purpose, the oldest of each source first, each message exactly once (see `Claims`). Retries what could
 * not be settled because the disk was full or the relay stopped. Each purpose has its own runner, so none waits for another.
 */
export class ReturnedMailRunner {
  readonly #services: ReturnedMailRunnerServices
  readonly #turns: ReturnedMailScheduler
  readonly #claims: Claims
  readonly #loop: WorkLoop
  /** Ids of provisional messages that wait for another try. */
  readonly #provisional = new Set<string>()
  readonly #content = new ByteBudget({ limit: contentLimit })
  #isStopped = false

  constructor(services: ReturnedMailRunnerServices) {
    const { log, returnedMail, purpose } = services
    this.#services = services
    this.#turns = new ReturnedMailScheduler(returnedMail, purpose)
    this.#loop = new WorkLoop(log, { run: () => this.#takeAll(), fault: 'returned mail could not be read from the database' })
    this.#claims = new Claims({
      ...services,
      table: 'returned_mail',
      what: 'returned mail',
      fields: () => ({ purpose }),
      onDue: () => this.mailArrived(),
      onFreed: () => this.mailArrived(),
    })
  }

  /** Takes over what an earlier process left, and begins to settle. */
  async start(): Promise<void> {
    await this.#claims.start()
    this.mailArrived()
  }

  /** Call it whenever mail has been stored. */
  mailArrived(): void {
    this.#loop.wake()
  }

  /** Takes no more mail, and waits up to `graceMs` for what is in hand. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopped = true
    this.#claims.track(this.#loop.stop())
    await this.#claims.end(graceMs)
  }

  /** Gives each source its turn, until none has mail that is due, or all that have some had a turn in vain. */
  async #takeAll(): Promise<void> {
    const { returnedMail, purpose, clock } = this.#services
    const inVain = new Set<string>()
    for (let source; (source = await this.#turns.next()) && !this.#isStopped;) {
      const order = `${source.by} ${source.name}`
      if (inVain.has(order)) return
      if ((await this.#takeTurn(source, order)) > 0) inVain.clear()
      else inVain.add(order)
    }
    const dueAt = await returnedMail.firstDue(purpose)
    if (dueAt !== null) this.#claims.wake(purpose, Math.min(dueAt, clock.now() + maxWaitMs))
  }

  /**
   * Starts with one message and doubles. A source whose mail takes long gets one through before the next source's turn.
   * @returns how many messages it took
   */
  async #takeTurn(source: ReturnedMailSource, order: string): Promise<number> {
    const { clock, purpose } = this.#services
    const end = clock.steady() + turnMs
    let taken = 0
    for (let places = 1; places <= maxAtOnce && clock.steady() < end && !this.#isStopped; places *= 2) {
      const rows = await this.#claims.claim<ReturnedMailRow>({ name: purpose, places, order }, (range) => [
        claimReturnedMail(purpose, source, { ...range, latest: range.now + maxWaitMs }),
      ])
      await Promise.all(rows.map((row) => this.#take(returnedMailOf(row))))
      taken += rows.length
      if (rows.length < places) break
    }
    return taken
  }

  /** Resolves once the outcome is known, and writes it while others are handled. Never rejects. */
  async #take(mail: ReturnedMail): Promise<void> {
    const cost = Math.max(mail.size, leastCost)
    await this.#content.take(cost)
    const decided = this.#outcomeOf(mail)
    this.#claims.track(this.#finish(mail, decided).finally(() => this.#content.giveBack(cost)))
    await Promise.allSettled([decided])
  }

  async #finish(mail: ReturnedMail, decided: Promise<ReturnedMailOutcome>): Promise<void> {
    try {
      if (await this.#settle(mail, decided)) return void this.#provisional.delete(mail.id)
      this.#provisional.add(mail.id)
    } catch (error) {
      if (this.#isStopped) return
      if (!isTransientFault(error))
        this.#services.log.error({ returnedMailId: mail.id, error }, 'returned mail could not be settled; trying again')
    }
    const { clock, purpose } = this.#services
    const dueAt = clock.now() + Math.min(firstWaitMs * 2 ** mail.retries, maxWaitMs)
    await this.#claims.settle([retryReturnedMail({ id: mail.id, owner: this.#claims.owner }, dueAt)])
    this.#claims.wake(purpose, dueAt)
  }

  /** False if the outcome is provisional, and may wait. */
  async #settle(mail: ReturnedMail, decided: Promise<ReturnedMailOutcome>): Promise<boolean> {
    for (let conflicts = 0, outcome = await decided; ; outcome = await this.#outcomeOf(mail)) {
      if (outcome.isProvisional && this.#mayWait(mail)) return false
      try {
        await this.#write(mail, outcome)
        return true
      } catch (error) {
        if (!(error instanceof ConflictError) || ++conflicts === maxConflicts) throw error
        // If the message itself conflicts, it is settled. If what it is about does, another message or an attempt was first.
        if (error.guard === 'returned-mail') return true
      }
    }
  }

  async #write(mail: ReturnedMail, outcome: ReturnedMailOutcome): Promise<void> {
    const { db, clock, log, metrics } = this.#services
    const claim = { id: mail.id, owner: this.#claims.owner }
    await db.write([settleReturnedMail(claim, outcome, clock.now()), ...outcome.statements], { mayBatch: true })
    const { about, result } = outcome
    metrics.reportsSettled[result].add()
    // Strangers can send any amount of mail that concerns nobody.
    if (about) log.info({ returnedMailId: mail.id, ...about, result }, 'returned mail was settled')
  }

  async #outcomeOf(mail: ReturnedMail): Promise<ReturnedMailOutcome> {
    const { returnedMail, handler } = this.#services
    const content = await returnedMail.content(mail.id)
    if (!content) return withoutEffect('not_understood')
    try {
      return await handler(mail, content)
    } catch (error) {
      const isUnreadable = error instanceof SternaError && error.code === 'invalid_message'
      // If the parser is killed again and again for this message, the message is probably what exhausts the memory.
      if (isUnreadable || (error instanceof ReaderKilledError && mail.retries >= maxRetries))
        return withoutEffect('not_understood', { fault: error.message })
      throw error
    }
  }

  #mayWait({ id, retries }: ReturnedMail): boolean {
    return retries < maxRetries && (this.#provisional.has(id) || this.#provisional.size < maxWaiting)
  }
}
