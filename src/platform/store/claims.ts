import type { CancelTimer, Clock } from '../clock.ts'
import { DueHeap } from '../due-heap.ts'
import type { Log } from '../log.ts'
import { PendingWork } from '../pending-work.ts'
import { DamagedRows } from './damaged-rows.ts'
import { DamagedError, orDamage, unlessConflict, type Database, type Statement, type Written } from './database.ts'
import type { Nodes } from './nodes.ts'
import { removeInPieces } from './remove-in-pieces.ts'
import { RetriedWrites } from './retried-writes.ts'
import { retryMs, WorkLoop } from './work-loop.ts'

/** What is claimed together: at most `places` rows of one endpoint, destination or source. */
interface Turn {
  name: string
  places: number
  /** In which order, if there are several. */
  order?: string
  /** Called with when more is due to be claimed, epoch ms; default: `wake` for the name. */
  noteDue?: (at: number) => void
}

/** What a claiming statement is given: it passes over the first `skip` rows. */
export type ClaimRange = { owner: string; now: number; limit: number; skip: number }

interface ClaimsServices {
  db: Pick<Database, 'write'>
  clock: Clock
  log: Log
  nodes: Pick<Nodes, 'self' | 'freeBuried'>
  /** Whose rows are claimed; each has an `owner`, null if nobody does. */
  table: string
  /** What is claimed, for the log: `webhook deliveries`. */
  what: string
  /** The name as the log has it. */
  fields(name: string): object
  /** Something may be due under this name: called at the times given to `wake`. */
  onDue(name: string): void
  /** Another node has gone: look what is due, and when more will be. Called again a moment later if it fails. */
  onFreed(): Promise<void> | void
  /** What else changes in a row that is put back untried, as SQL; `:now` is the time. */
  putBack?: string
  /** True if a claim may wait a moment to share a commit; default: false. */
  mayBatch?: boolean
}

/**
 * The claims of this process on rows of one kind that wait for work. Each has one life:
 *
 * 1. `claim` writes the owner's name into the rows that are due, so that nobody else takes them. A claim that fails is due again in a
 *    moment; one that meets damage goes around it.
 * 2. `track` is told of the work on them.
 * 3. `settle` writes what came of it, again and again until it is on disk. It takes the name away, on the condition that it stands there.
 * 4. `end`, at a stop, waits for the work, has the last outcomes written, and puts back what is left.
 *
 * What a crash leaves in hand has the name of nobody who is there: `start` puts it back. Between claims, `wake` keeps the times.
 */
export class Claims {
  readonly owner: string
  readonly #services: ClaimsServices
  readonly #outcomes: RetriedWrites
  readonly #damaged = new DamagedRows()
  readonly #pending: PendingWork
  /** Looks what is due after another node has gone. */
  readonly #freed: WorkLoop
  /** When each name is due. */
  readonly #due = new Map<string, number>()
  readonly #heap = new DueHeap()
  /** When the timer fires, epoch ms; 0: at once. */
  #armedFor = Infinity
  #cancelTimer: CancelTimer = () => {}

  constructor(services: ClaimsServices) {
    const { log, what, nodes, table } = services
    this.owner = nodes.self
    this.#services = services
    this.#outcomes = new RetriedWrites(services)
    this.#pending = new PendingWork((error) => log.error({ error }, `work on ${what} failed`))
    const run = async (): Promise<void> => services.onFreed()
    this.#freed = new WorkLoop(log, { fault: `the ${what} that a node has left could not be looked for`, run })
    nodes.freeBuried({
      free: (node) => [{ sql: `update ${table} set ${this.#putBack} where owner = :node`, params: { node, now: services.clock.now() } }],
      onFreed: () => this.#freed.wake(),
    })
  }

  /** Puts back what a crash has left in hand. */
  async start(): Promise<void> {
    const { log, what } = this.#services
    const released = await orDamage(this.#release('owner not in (select name from node)'))
    if (released instanceof DamagedError) log.error({ error: released }, `${what} that were in hand wait for the next start`)
  }

  /** Has `onDue` called with this name at this time, epoch ms, unless it is due earlier. */
  wake(name: string, at: number): void {
    if (at < (this.#due.get(name) ?? Infinity)) {
      this.#due.set(name, at)
      this.#heap.push({ key: name, dueAt: at })
    }
    this.#arm()
  }

  /** @param batch claims and returns rows; a second statement returns when the next is due (`due_at`), if one is */
  async claim<R extends object>(
    { name, places, order = name, noteDue = (at) => this.wake(name, at) }: Turn,
    batch: (range: ClaimRange) => Statement[],
  ): Promise<R[]> {
    const { db, clock, log, what, fields, mayBatch = false } = this.#services
    const now = clock.now()
    const { skip, most, until } = this.#damaged.wayFor(order, now)
    const limit = Math.min(places, most)
    if (until !== null) noteDue(until)
    try {
      const [claimed, next] = await db.write(batch({ owner: this.owner, now, limit, skip }), { mayBatch })
      this.#damaged.passed(order)
      const dueAt = next?.rows[0]?.['due_at']
      if (typeof dueAt === 'number') noteDue(dueAt)
      return (claimed?.rows ?? []) as R[]
    } catch (error) {
      log.error({ ...fields(name), error }, `claiming ${what} failed`)
      noteDue(error instanceof DamagedError ? this.#damaged.met(order, limit, now) : clock.now() + retryMs)
      return []
    }
  }

  track(work: Promise<unknown>): void {
    this.#pending.track(work)
  }

  /** False if the claim was somebody else's by then: nothing is written. Null if it could not be written before the end. */
  settle(batch: Statement[]): Promise<Written[] | false | null> {
    return unlessConflict(this.#outcomes.write(batch))
  }

  /**
   * Waits at most this long for the work, ms; then breaks it off, if it can be. Outcomes that are not written yet are tried once more, and
   * what has none is put back.
   */
  async end(graceMs: number, breakOff?: () => void): Promise<void> {
    this.#cancelTimer()
    // Nothing is due from now on.
    this.#armedFor = -Infinity
    await this.#freed.stop()
    await this.#pending.ended(graceMs)
    breakOff?.()
    this.#outcomes.stop()
    if (breakOff) await this.#pending.ended()
    // The outcomes go first.
    await new Promise(setImmediate)
    await this.#release('owner = :self')
  }

  #arm(): void {
    const { clock } = this.#services
    const at = this.#heap.firstDueAt
    // If the clock was set ahead, what was armed before is overdue, and need not wait for its timer.
    const isOverdue = this.#armedFor > 0 && this.#armedFor <= clock.now()
    if (at === Infinity || (at >= this.#armedFor && !isOverdue)) return
    this.#cancelTimer()
    this.#armedFor = isOverdue ? 0 : at
    this.#cancelTimer = clock.at(at, () => this.#fire(Math.max(at, clock.now())))
  }

  /** @param upTo not the time of the day, which may have been set back: then what is told is due again at its time */
  #fire(upTo: number): void {
    const names: string[] = []
    while (this.#heap.firstDueAt <= upTo) {
      const { key, dueAt } = this.#heap.pop() as { key: string; dueAt: number }
      if (this.#due.get(key) !== dueAt) continue
      this.#due.delete(key)
      names.push(key)
    }
    this.#armedFor = Infinity
    for (const name of names) this.#services.onDue(name)
    this.#arm()
  }

  get #putBack(): string {
    const { putBack } = this.#services
    return putBack === undefined ? 'owner = null' : `owner = null, ${putBack}`
  }

  /** Puts back what meets the condition, as SQL; `:self` is this process. */
  #release(condition: string): Promise<number> {
    const { db, clock, table } = this.#services
    const sql = `update ${table} set ${this.#putBack}
                  where id in (select id from ${table} where owner is not null and ${condition} limit :rows offset :skip)`
    return removeInPieces(db, [{ sql, params: { self: this.owner, now: clock.now() } }])
  }
}
