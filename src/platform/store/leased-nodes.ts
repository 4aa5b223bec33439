import type { CancelTimer, Clock } from '../clock.ts'
import { idSequence } from '../id.ts'
import { ConflictError, unlessConflict, type Database, type Row, type Statement } from './database.ts'
import { joinNodes } from './join-nodes.ts'
import { LeaseDeadline } from './lease-deadline.ts'
import { freeDuties, LeasedDuty } from './leased-duty.ts'
import { LimitParts } from './limit-parts.ts'
import { everyBeat, servingOf } from './node-rows.ts'
import { BuriedError, type BeginDuty, type EndDuty, type Joining, type LeftInHand, type Nodes } from './nodes.ts'
import { Silence, silentMs, type Beat } from './silence.ts'

interface LeasedServices {
  db: Pick<Database, 'write'>
  clock: Clock
  deadline?: LeaseDeadline
  /** Called when another node may have added rows to a table that somebody listens to. */
  heard?: (table: 'event') => void
}

interface Holder {
  name: string
  holder: string | null
}

/** Where another clock makes the other ids, these must not come between them. */
const nodeId = idSequence()

/** How often a node says that it lives, ms. */
const beatMs = 1_000

/**
 * One of several nodes over one database. Each counts up in its own row of `node` once a second, and looks at the counters of the others in
 * the same batch. Whoever sees one that is dead (see `Silence`) buries it: its row, and what it had in hand, in one batch. A node whose row is
 * gone ends. By its own clock, its lease lasts from before its last beat that is known to be written, so it ends here before it ends anywhere
 * else.
 */
export class LeasedNodes implements Nodes {
  readonly self: string
  readonly deadline: LeaseDeadline
  readonly parts = new LimitParts()
  readonly #services: LeasedServices
  readonly #joining: Joining
  readonly #left: LeftInHand[] = []
  readonly #silence = new Silence()
  readonly #duties = new Map<string, LeasedDuty>()
  /** The newest event that was told of. */
  #newest = 0
  /** Of all, those that serve. */
  #live: readonly string[]
  #present: readonly string[] = []
  #isWatching = false
  #hasLeft = false
  #isLate = false
  #beating: Promise<void> = Promise.resolve()
  #cancelBeat: CancelTimer = () => {}

  private constructor(self: string, services: LeasedServices, joining: Joining) {
    this.self = self
    this.deadline = services.deadline ?? new LeaseDeadline()
    this.#services = services
    this.#joining = joining
    this.#live = [self]
  }

  static async join(services: LeasedServices, joining: Joining): Promise<LeasedNodes> {
    const { clock } = services
    const nodes = new LeasedNodes(nodeId('node', clock.now()), services, joining)
    const { beganAt, nodes: found } = await joinNodes(services, nodes.self, joining)
    nodes.#setPresent(found)
    nodes.#extend(beganAt)
    nodes.#beatLater(beganAt)
    return nodes
  }

  live(): readonly string[] {
    return this.#live
  }

  freeBuried(left: LeftInHand): void {
    this.#left.push(left)
  }

  async watch(): Promise<void> {
    this.#isWatching = true
    this.#cancelBeat()
    await this.#beating
    // That one may have asked for the next.
    this.#cancelBeat()
    await (this.#beating = this.#beat())
    for (const duty of this.#duties.values()) await duty.settled()
  }

  async duty(name: string, begin: BeginDuty): Promise<EndDuty> {
    const duty = new LeasedDuty(name, begin, { ...this.#services, log: this.#joining.log, self: this.self })
    this.#duties.set(name, duty)
    return () => duty.end()
  }

  async leave(): Promise<void> {
    this.#hasLeft = true
    this.#cancelBeat()
    await this.#beating
    const removal = { sql: 'delete from node where name = :name', params: { name: this.self } }
    await this.#services.db.write([removal, ...this.#freeing(this.self)], { as: null })
  }

  #extend(beganAt: number): void {
    this.deadline.set(beganAt + silentMs - this.#services.clock.steady())
  }

  /** @param beganAt when the last one began */
  #beatLater(beganAt: number): void {
    if (this.#hasLeft) return
    const { clock } = this.#services
    const waitMs = Math.max(0, beganAt + beatMs - clock.steady())
    this.#cancelBeat = clock.at(clock.now() + waitMs, () => (this.#beating = this.#beat()))
  }

  /** Never rejects. */
  async #beat(): Promise<void> {
    const { db, clock } = this.#services
    const { log } = this.#joining
    const beganAt = clock.steady()
    try {
      const [, beats, holders, newest] = await db.write([
        {
          sql: 'update node set beat = beat + 1, heard_at = :now where name = :name and beat >= 0',
          params: { name: this.self, now: clock.now() },
          expect: 1,
        },
        everyBeat,
        { sql: 'select name, holder from duty order by name' },
        { sql: 'select coalesce(max(seq), 0) as seq from event' },
      ])
      this.#extend(beganAt)
      if (this.#isLate) log.info({}, 'this node can write to the database again')
      this.#isLate = false
      this.#hear(Number(newest?.rows[0]?.['seq'] ?? 0))
      await this.#look(beats?.rows ?? [], beganAt)
      this.#takeDuties((holders?.rows ?? []) as unknown as Holder[])
    } catch (error) {
      if (error instanceof ConflictError) {
        this.#hasLeft = true
        return void this.#joining.onBuried(new BuriedError(this.self, silentMs))
      }
      if (!this.#isLate) log.warn({ error }, 'this node cannot tell the others that it lives; if that lasts, they take over its work')
      this.#isLate = true
    }
    this.#beatLater(beganAt)
  }

  #hear(newest: number): void {
    if (newest > this.#newest) this.#services.heard?.('event')
    this.#newest = newest
  }

  #takeDuties(holders: Holder[]): void {
    if (!this.#isWatching || this.#hasLeft) return
    for (const [name, duty] of this.#duties) duty.look(holders.find((row) => row.name === name)?.holder)
  }

  #setPresent(nodes: readonly Row[]): void {
    this.#present = nodes.map(({ name }) => String(name))
    this.#live = servingOf(nodes, this.self)
    this.parts.set(this.#live.length)
  }

  async #look(nodes: readonly Row[], beganAt: number): Promise<void> {
    const others = (nodes as unknown as Beat[]).filter(({ name }) => name !== this.self)
    const dead = this.#silence.look(others, { beganAt, endedAt: this.#services.clock.steady() })
    const buried = new Set<string>()
    if (this.#isWatching) for (const each of dead) if (await this.#bury(each)) buried.add(each.name)
    const before = this.#present
    this.#setPresent(nodes.filter(({ name }) => !buried.has(String(name))))
    const hasGone = before.some((name) => !this.#present.includes(name)) || buried.size > 0
    if (hasGone) for (const { onFreed } of this.#left) onFreed?.()
  }

  /** False if it lives after all, or another node was first. */
  async #bury({ name, beat }: Beat): Promise<boolean> {
    const { db } = this.#services
    const removal: Statement = { sql: 'delete from node where name = :name and beat = :beat', params: { name, beat }, expect: 1 }
    const written = await unlessConflict(db.write([removal, ...this.#freeing(name)]))
    if (written) this.#joining.log.warn({ node: name }, 'a node has died; what it had in hand is taken over')
    return written !== false
  }

  /** Once for each text: several users of one table register the same. */
  #freeing(node: string): Statement[] {
    const statements = [freeDuties(node), ...this.#left.flatMap(({ free }) => free(node))]
    return [...new Map(statements.map((statement) => [statement.sql, statement])).values()]
  }
}

/** Whether any serve; some may have died. */
export const hasNodes = async (db: Pick<Database, 'read'>): Promise<boolean> =>
  (await db.read('select name from node where serves = 1 limit 1')).length > 0
