import type { Clock } from '../clock.ts'
import { newId } from '../id.ts'
import type { Log } from '../log.ts'
import { PendingWork } from '../pending-work.ts'
import { DamagedRows } from './damaged-rows.ts'
import { ConflictError, DamagedError, type Database, type Statement, type Written } from './database.ts'
import { RetriedWrites } from './retried-writes.ts'
import { retryMs } from './work-loop.ts'

/**
 * Takes a name for this process, the owner of its claims. Other names were those of its earlier lives, because one process at a time
 * holds the data directory: what they had claimed is free from now on.
 */
export async function takeName({ db, clock }: { db: Pick<Database, 'write'>; clock: Clock }): Promise<string> {
  const now = clock.now()
  const name = newId('node', now)
  await db.write([{ sql: 'delete from node' }, { sql: 'insert into node (name, started_at) values (:name, :now)', params: { name, now } }])
  return name
}

/** True of rows whose owner is nobody, or has ended: a condition in SQL. */
export const isAbandoned = '(owner is null or owner not in (select name from node))'

/** What is claimed together: at most `places` rows of one endpoint or destination. `order`: in which order, if there are several. */
interface Turn {
  name: string
  places: number
  order?: string
}

/** What a claiming statement is given: it passes over the first `skip` rows. */
export type ClaimRange = { owner: string; now: number; limit: number; skip: number }

interface ClaimsServices {
  db: Pick<Database, 'write'>
  clock: Clock
  log: Log
  owner: string
  /** What is claimed, for the log: `webhook deliveries`. */
  what: string
  /** The name as the log has it. */
  fields(name: string): object
  /** Called with when something is due to be claimed under this name, epoch ms. */
  onDue(name: string, at: number): void
}

/**
 * The claims of this process on rows of one kind that wait for work. Each has one life:
 *
 * 1. `claim` writes the owner's name into the rows that are due, so that nobody else takes them. A claim that fails is due again in a
 *    moment; one that meets damage goes around it.
 * 2. `track` is told of the work on them.
 * 3. `settle` writes what came of it, again and again until it is on disk. It takes the name away, on the condition that it stands there.
 * 4. `end`, at a stop, waits for the work, and has the last outcomes written.
 *
 * What a crash leaves in hand has the name of nobody who is there (`isAbandoned`), and the next start frees it.
 */
export class Claims {
  readonly owner: string
  readonly #services: ClaimsServices
  readonly #outcomes: RetriedWrites
  readonly #damaged = new DamagedRows()
  readonly #pending: PendingWork

  constructor(services: ClaimsServices) {
    const { log, what } = services
    this.owner = services.owner
    this.#services = services
    this.#outcomes = new RetriedWrites(services)
    this.#pending = new PendingWork((error) => log.error({ error }, `work on ${what} failed`))
  }

  /** @param take claims the rows and says when the next is due, if any is; epoch, ms */
  async claim<Row>(
    { name, places, order = name }: Turn,
    take: (range: ClaimRange) => Promise<{ rows: Row[]; nextDueAt: number | null }>,
  ): Promise<Row[]> {
    const { clock, log, what, fields, onDue } = this.#services
    const now = clock.now()
    const { skip, most, until } = this.#damaged.wayFor(order, now)
    const limit = Math.min(places, most)
    if (until !== null) onDue(name, until)
    try {
      const { rows, nextDueAt } = await take({ owner: this.owner, now, limit, skip })
      this.#damaged.passed(order)
      if (nextDueAt !== null) onDue(name, nextDueAt)
      return rows
    } catch (error) {
      log.error({ ...fields(name), error }, `claiming ${what} failed`)
      onDue(name, error instanceof DamagedError ? this.#damaged.met(order, limit, now) : clock.now() + retryMs)
      return []
    }
  }

  track(work: Promise<unknown>): void {
    this.#pending.track(work)
  }

  /** False if the claim was somebody else's by then: nothing is written. Null if it could not be written before the end. */
  async settle(batch: Statement[]): Promise<Written[] | false | null> {
    try {
      return await this.#outcomes.write(batch)
    } catch (error) {
      if (error instanceof ConflictError) return false
      throw error
    }
  }

  /** Waits for the work, as long as it takes or at most this long, ms; then outcomes that are not written yet are tried once more. */
  async end(graceMs?: number): Promise<void> {
    await this.#pending.ended(graceMs)
    this.#outcomes.stop()
  }
}
