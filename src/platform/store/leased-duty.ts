import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import type { Database, Statement } from './database.ts'
import type { BeginDuty, EndDuty } from './nodes.ts'

interface LeasedDutyServices {
  db: Pick<Database, 'write'>
  clock: Clock
  log: Log
  /** The name of this node. */
  self: string
}

/** How long a node that could not begin leaves a duty to others, ms. */
const pauseMs = 10_000

/**
 * Work that one node does. Its row in `duty` says who has it; when that node dies or stops, its name is taken away with all that it had in hand
 * (`freeDuties`), and whoever sees that first takes the duty. There is no term to count: each start has a name of its own.
 */
export class LeasedDuty {
  readonly #name: string
  readonly #begin: BeginDuty
  readonly #services: LeasedDutyServices
  #end: EndDuty | null = null
  /** Taking it, if that is under way. */
  #taking: Promise<void> | null = null
  #isOver = false
  #pausesUntil = -Infinity

  constructor(name: string, begin: BeginDuty, services: LeasedDutyServices) {
    this.#name = name
    this.#begin = begin
    this.#services = services
  }

  /** Takes the duty if nobody has it. Waits for nothing, and never throws. @param holder what its row says; undefined: there is none */
  look(holder: string | null | undefined): void {
    const { clock, log, self } = this.#services
    const isFree = holder === null || holder === undefined || holder === self
    if (!isFree || this.#end || this.#taking || this.#isOver || clock.steady() < this.#pausesUntil) return
    this.#taking = this.#take()
      .catch((error: unknown) => log.error({ duty: this.#name, error }, 'a duty could not be taken over; trying again'))
      .finally(() => (this.#taking = null))
  }

  /** Waits until this node has begun it, or could not, if it is about to. */
  async settled(): Promise<void> {
    await this.#taking
  }

  /** Ends the work, and leaves it to another node. */
  async end(): Promise<void> {
    this.#isOver = true
    await this.#taking
    if (!this.#end) return
    await this.#end()
    await this.#services.db.write([this.#release()])
  }

  async #take(): Promise<void> {
    const { db, clock, log, self } = this.#services
    const [taken] = await db.write([
      {
        sql: `insert into duty (name, holder) values (:name, :self)
              on conflict (name) do update set holder = excluded.holder where duty.holder is null or duty.holder = excluded.holder`,
        params: { name: this.#name, self },
      },
    ])
    if (taken?.changes !== 1) return
    log.debug({ duty: this.#name }, 'this node has the duty')
    try {
      this.#end = await this.#begin()
    } catch (error) {
      this.#pausesUntil = clock.steady() + pauseMs
      await db.write([this.#release()])
      throw error
    }
  }

  #release(): Statement {
    return {
      sql: 'update duty set holder = null where name = :name and holder = :self',
      params: { name: this.#name, self: this.#services.self },
    }
  }
}

export const freeDuties = (node: string): Statement => ({ sql: 'update duty set holder = null where holder = :node', params: { node } })
