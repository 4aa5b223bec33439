import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../../platform/log.ts'
import { ConflictError, DamagedError, type Database, type Row, type Statement } from '../../platform/store/database.ts'
import { nextRows } from '../../platform/store/remove-in-pieces.ts'
import { isTransientFault, WorkLoop } from '../../platform/store/work-loop.ts'

/** A piece of the log: the events after position `from`, up to `to`. */
export interface LogStep {
  from: number
  to: number
}

/** What follows from a step. */
interface StepResult {
  /** Written in the batch that moves the cursor. Null if the step was too large; it is then repeated with fewer events. */
  statements: Statement[] | null
  /** The number of events in the next step; by default, it adapts to the speed. */
  maxEvents?: number
  /** Called when the batch is on disk. */
  written?(): void
}

interface LogReading {
  /** The name of its row in the table `cursor`. */
  cursor: string
  /** Logged when reading fails. */
  fault: string
  /** SQL for the position to start from, or null if no event is needed at all; by default the beginning. */
  since?: string
  /** Events of the first step; `maxEvents` by default. */
  firstEvents?: number
  /** Events per step. Bounds the memory and the duration of a commit. */
  maxEvents: number
  /** The pause after each step, as a multiple of its duration. */
  restFactor?: number
  /** ms to gather events before reading them; 0 by default */
  gatherMs?: number
  /** Whether new events are worth reading; always by default. */
  isWanted?(): boolean
  /** Decides what follows from a step. Other effects must be idempotent. */
  take(step: LogStep): Promise<StepResult>
  /** Called at the end of the log. */
  atEnd?(): Promise<void>
}

interface Positions extends Row {
  position: number
  newest: number
  since: number | null
}

/**
 * Follows the event log from a cursor. The cursor moves in the same batch as what follows from the events, so each event counts once,
 * whatever happens in between. Call `start` to hear of events at once, or `keepUp` from time to time.
 */
export class LogReader {
  readonly #db: Database
  readonly #log: Log
  readonly #reading: LogReading
  readonly #loop: WorkLoop
  readonly #createCursor: Statement
  /** Events of the next step. */
  #events: number
  #running: Promise<void> | undefined
  #unfollow: (() => void) | null = null
  #isHurried = false
  #isStopped = false

  constructor({ db, log }: { db: Database; log: Log }, reading: LogReading) {
    const { cursor, fault, maxEvents, firstEvents = maxEvents, gatherMs = 0 } = reading
    this.#db = db
    this.#log = log
    this.#reading = reading
    this.#events = firstEvents
    this.#loop = new WorkLoop(log, { run: () => this.#run(), fault, gatherMs })
    this.#createCursor = { sql: `insert into cursor (name, position) values ('${cursor}', 0) on conflict (name) do nothing` }
  }

  /** Reads what is there, and then new events. */
  async start(): Promise<void> {
    await this.#db.write([this.#createCursor])
    this.#unfollow = this.#db.onInsert('event', () => {
      if (this.#reading.isWanted?.() ?? true) this.wake()
    })
    this.wake(0)
  }

  /** Reads the log and calls `atEnd`. Does nothing before `start`. */
  wake(waitMs?: number): void {
    if (this.#unfollow) this.#loop.wake(waitMs)
  }

  /** Stops after the current step. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#unfollow?.()
    await this.#loop.stop()
  }

  /** Reads what was written since, slowly. Never rejects: the next call continues. */
  async keepUp(): Promise<void> {
    try {
      await this.#run()
    } catch (error) {
      if (!isTransientFault(error)) this.#log.error({ error }, this.#reading.fault)
    }
  }

  /** Reads every event that was written before this call, as fast as possible. */
  async catchUp(): Promise<void> {
    this.#isHurried = true
    // A run under way may have started before the last events.
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
        if (error instanceof DamagedError) {
          if (await this.#passDamage(step, position, error)) position = from = step.to
          continue
        }
        if (!(error instanceof ConflictError && error.guard === 'cursor')) throw error
        // Another reader has handled these events.
        ;({ position, newest } = await this.#positions())
        from = Math.max(from, position)
      }
      if (this.#reading.restFactor) await pause((performance.now() - startedAt) * this.#reading.restFactor, undefined, { ref: false })
    }
    if (!this.#isStopped) await this.#reading.atEnd?.()
  }

  /** False if it is too much for one step. */
  async #take(step: LogStep, position: number): Promise<boolean> {
    const events = step.to - step.from
    const { statements, maxEvents = Infinity, written } = await this.#reading.take(step)
    const most = Math.min(this.#reading.maxEvents, maxEvents)
    if (!statements) {
      this.#events = most
      return false
    }
    const move = this.#moveCursor(position, step.to)
    let heldMs = 0
    await this.#db.write([...(position === 0 ? [this.#createCursor] : []), move, ...statements], {
      mayBatch: !this.#isHurried,
      onStoreTime: (ms) => (heldMs = ms),
    })
    const next = nextRows(events, heldMs)
    // The last step of a run is smaller than it could be.
    this.#events = Math.min(most, events < this.#events ? Math.max(this.#events, next) : next)
    written?.()
    return true
  }

  /**
   * Goes around events that cannot be read: fewer are read at a time, and one that cannot be read alone is passed over. False if the step
   * is to be repeated with fewer.
   * @throws DamagedError if what follows from readable events cannot be written
   */
  async #passDamage(step: LogStep, position: number, error: DamagedError): Promise<boolean> {
    if (step.to - step.from > 1) {
      this.#events = 1
      return false
    }
    if (error.keepsOut) throw error
    this.#log.error({ error, seq: step.to }, `${this.#reading.fault}: an event is passed over, because the disk has damaged it`)
    await this.#db.write([...(position === 0 ? [this.#createCursor] : []), this.#moveCursor(position, step.to)])
    return true
  }

  /** Called at every start, so not on the reader thread, which would stay open for nothing. */
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
