import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../log.ts'
import { ConflictError, type Database, type Row, type Statement } from '../store/database.ts'
import { nextRows } from '../store/remove-in-pieces.ts'
import { isPassing, WorkLoop } from '../store/work-loop.ts'

/** A piece of the log: the events behind `from` up to `to`, places in it. */
export interface LogStep {
  from: number
  to: number
}

/** What follows from a step. */
interface StepResult {
  /** Written in the batch that moves the cursor; null where it is too much: the step is taken again, with fewer events. */
  statements: Statement[] | null
  /** How many events the next step may have; as many as are quick enough unless given. */
  mostEvents?: number
  /** Called when it is on disk. */
  written?(): void
}

interface LogReading {
  /** Its row in the table cursor. */
  cursor: string
  /** Logged when reading fails. */
  fault: string
  /** SQL of the place that all events up to concern nobody, null where none does; the beginning unless given. */
  since?: string
  /** Events of the first step; as many as of the largest one unless given. */
  firstEvents?: number
  /** Events of one step: bounds what is in memory and how long one commit takes. */
  mostEvents: number
  /** After each step it rests so many times as long as the step took. */
  restFactor?: number
  /** How long events gather before they are read, ms; 0 unless given. */
  gatherMs?: number
  /** Whether new events are worth a look; always unless given. */
  isWanted?(): boolean
  /** Says what follows from a step. What it does besides must bear repetition. */
  take(step: LogStep): Promise<StepResult>
  /** Called where the log has been read to its end. */
  atEnd?(): Promise<void>
}

interface Positions extends Row {
  position: number
  newest: number
  since: number | null
}

/**
 * Follows the event log from a cursor. The cursor moves in the same batch as what follows from the events, so that each
 * counts once whatever happens in between. Who must hear of events at once calls `start`; who may wait, `keepUp` from time to time.
 */
export class LogReader {
  readonly #db: Database
  readonly #log: Log
  readonly #reading: LogReading
  readonly #loop: WorkLoop
  readonly #createCursor: Statement
  /** Of the next step. */
  #events: number
  #running: Promise<void> | undefined
  #unfollow: (() => void) | null = null
  #isHurried = false
  #isStopped = false

  constructor({ db, log }: { db: Database; log: Log }, reading: LogReading) {
    const { cursor, fault, mostEvents, firstEvents = mostEvents, gatherMs = 0 } = reading
    this.#db = db
    this.#log = log
    this.#reading = reading
    this.#events = firstEvents
    this.#loop = new WorkLoop(log, { run: () => this.#run(), fault, gatherMs })
    this.#createCursor = { sql: `insert into cursor (name, position) values ('${cursor}', 0) on conflict (name) do nothing` }
  }

  /** Reads what is there, and from then on what comes. */
  async start(): Promise<void> {
    await this.#db.write([this.#createCursor])
    this.#unfollow = this.#db.onInsert('event', () => {
      if (this.#reading.isWanted?.() ?? true) this.wake()
    })
    this.wake(0)
  }

  /** Has it look at the log, and call `atEnd`; does nothing before `start`. */
  wake(waitMs?: number): void {
    if (this.#unfollow) this.#loop.wake(waitMs)
  }

  /** Ends after the step under way. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#unfollow?.()
    await this.#loop.stop()
  }

  /** Reads what was written since, without haste. Never rejects: the next call goes on where this one ended. */
  async keepUp(): Promise<void> {
    try {
      await this.#run()
    } catch (error) {
      if (!isPassing(error)) this.#log.error({ error }, this.#reading.fault)
    }
  }

  /** Reads every event that was written before this call, as quickly as it can. */
  async catchUp(): Promise<void> {
    this.#isHurried = true
    // A run that is under way may have begun before the last events.
    await this.#running?.catch(() => {})
    this.#isHurried = true
    await this.#run()
  }

  #run(): Promise<void> {
    this.#running ??= this.#readAll().finally(() => {
      this.#running = undefined
      this.#isHurried = false
    })
    return this.#running
  }

  async #readAll(): Promise<void> {
    let { position, newest, since } = await this.#positions()
    for (let from = Math.max(position, since ?? newest); from < newest && !this.#isStopped;) {
      const startedAt = performance.now()
      const step = { from, to: Math.min(newest, from + this.#events) }
      try {
        if (await this.#take(step, position)) position = from = step.to
      } catch (error) {
        if (!(error instanceof ConflictError && error.guard === 'cursor')) throw error
        // Another reader has taken these events.
        ;({ position, newest } = await this.#positions())
        from = Math.max(from, position)
      }
      if (this.#reading.restFactor) await pause((performance.now() - startedAt) * this.#reading.restFactor, undefined, { ref: false })
    }
    if (!this.#isStopped) await this.#reading.atEnd?.()
  }

  /** False where it is too much for one step. */
  async #take(step: LogStep, position: number): Promise<boolean> {
    const events = step.to - step.from
    const { statements, mostEvents = Infinity, written } = await this.#reading.take(step)
    const most = Math.min(this.#reading.mostEvents, mostEvents)
    if (!statements) {
      this.#events = most
      return false
    }
    const move = this.#moveCursor(position, step.to)
    let heldMs = 0
    await this.#db.write([...(position === 0 ? [this.#createCursor] : []), move, ...statements], {
      patient: !this.#isHurried,
      onHeld: (ms) => (heldMs = ms),
    })
    const next = nextRows(events, heldMs)
    // The last step has fewer events than would do.
    this.#events = Math.min(most, events < this.#events ? Math.max(this.#events, next) : next)
    written?.()
    return true
  }

  /** Asked at every start, so not over the connection for reports: it would stay open for nothing. */
  async #positions(): Promise<Positions> {
    const { cursor, since = 'cast(0 as bigint)' } = this.#reading
    const [found] = await this.#db.read<Positions>(
      `select (select coalesce(max(position), 0) from cursor where name = '${cursor}') as position,
              (select coalesce(max(seq), 0) from event) as newest, (${since}) as since`,
    )
    return found ?? { position: 0, newest: 0, since: null }
  }

  #moveCursor(from: number, to: number): Statement {
    return {
      sql: `update cursor set position = :to where name = '${this.#reading.cursor}' and position = :from`,
      params: { from, to },
      expect: 1,
      guard: 'cursor',
    }
  }
}
