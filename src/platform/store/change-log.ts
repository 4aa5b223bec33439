import type { CancelTimer, Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import type { ChangeFollower, Changes } from './changes.ts'
import type { Database, Row, Statement } from './database.ts'
import { Silence, type Beat } from './silence.ts'

interface ChangeLogServices {
  db: Pick<Database, 'read' | 'write'>
  clock: Clock
}

/** The part of a process in the table `node`. */
interface Membership {
  name: string
  log: Pick<Log, 'error' | 'warn'>
}

/** `last` is in each row; the others are null if there is no entry. */
interface EntryRow extends Row {
  last: number
  seq: number | null
  kind: string | null
  id: string | null
}

const intervalMs = 1_000
/** How often whoever waits for the other nodes looks at how far they are. */
const waitMs = 100
/** Read in one go. */
const entriesAtOnce = 500

/** The changes of several nodes over one database. */
export class ChangeLog implements Changes {
  readonly #services: ChangeLogServices
  readonly #followers = new Map<string, Set<ChangeFollower>>()
  /** Up to which entry everything is known here. */
  #seen: number
  /** The same as the other nodes read it. */
  #told = -1
  /** Null before it has joined the others, and for a command: nobody waits for it. */
  #member: Membership | null = null
  #reading: Promise<void> = Promise.resolve()
  /** A reading that has yet to begin. */
  #next: Promise<void> | null = null
  #cancelTimer: CancelTimer = () => {}
  #isStopped = false

  private constructor(services: ChangeLogServices, seen: number) {
    this.#services = services
    this.#seen = seen
  }

  /** Call it before anything is loaded: what is changed from now on will be told. */
  static async open(services: ChangeLogServices): Promise<ChangeLog> {
    const [row] = await services.db.read<{ last: number }>('select last from change_order')
    return new ChangeLog(services, row?.last ?? 0)
  }

  /** Reads once a second from now on, until `stop`, and says so in the row of this name in the table `node`: others wait for it. */
  join(name: string, log: Membership['log']): void {
    this.#member = { name, log }
    this.#arm(this.#member)
  }

  note(kind: string, id: string): Statement[] {
    return [
      { sql: 'update change_order set last = last + 1', expect: 1 },
      { sql: 'insert into change_log (seq, kind, id) select last, :kind, :id from change_order', params: { kind, id } },
    ]
  }

  on(kind: string, follower: ChangeFollower): void {
    const followers = this.#followers.get(kind) ?? new Set()
    this.#followers.set(kind, followers.add(follower))
  }

  async caughtUp(): Promise<boolean> {
    const before = this.#seen
    await this.#nextReading()
    return this.#seen !== before
  }

  /** All who wait share a reading. One that is under way may have begun before the change that somebody waits for. */
  #nextReading(): Promise<void> {
    this.#next ??= this.#reading
      .catch(() => {})
      .then(() => {
        this.#next = null
        return (this.#reading = this.#readToEnd())
      })
    return this.#next
  }

  async seenByAll(): Promise<void> {
    await this.caughtUp()
    const { db, clock } = this.#services
    const params = { node: this.#member?.name ?? '', seq: this.#seen }
    // A command may be the only one that is there to see that a node has died.
    const silence = new Silence()
    for (;;) {
      const beganAt = clock.steady()
      const behind = await db.read<Row & Beat>(
        'select name, beat from node where name <> :node and changes_seen < :seq order by name',
        params,
      )
      const dead = silence.look(behind, { beganAt, endedAt: clock.steady() })
      if (dead.length === behind.length) return
      await new Promise<void>((resolve) => clock.at(clock.now() + waitMs, resolve))
    }
  }

  stop(): void {
    this.#isStopped = true
    this.#cancelTimer()
  }

  #arm(member: Membership): void {
    const { clock } = this.#services
    if (this.#isStopped) return
    this.#cancelTimer = clock.at(clock.now() + intervalMs, () => {
      void this.#step(member)
        .catch((error: unknown) => member.log.error({ error }, 'the changes of other nodes could not be read, and are tried again'))
        .finally(() => this.#arm(member))
    })
  }

  async #step({ name }: Membership): Promise<void> {
    await this.caughtUp()
    if (this.#told !== this.#seen) await this.#tell(name, this.#seen)
  }

  /** Tells the other nodes how far this one has read. What all have read goes. */
  async #tell(node: string, seen: number): Promise<void> {
    const [told] = await this.#services.db.write([
      { sql: 'update node set changes_seen = :seen where name = :node', params: { seen, node } },
      { sql: 'delete from change_log where seq <= (select min(changes_seen) from node)' },
    ])
    if (told?.changes === 1) this.#told = seen
  }

  async #readToEnd(): Promise<void> {
    for (let last = Infinity; this.#seen !== last;) {
      const rows = await this.#services.db.read<EntryRow>(
        `select o.last, c.seq, c.kind, c.id from change_order o left join change_log c on c.seq > :seen order by c.seq limit :limit`,
        { seen: this.#seen, limit: entriesAtOnce },
      )
      last = rows[0]?.last ?? 0
      if (last === this.#seen) return
      if (rows[0]?.seq === this.#seen + 1) await this.#follow(rows)
      else await this.#loadAll(last)
    }
  }

  async #follow(entries: EntryRow[]): Promise<void> {
    const byKind = Map.groupBy(entries, ({ kind }) => kind as string)
    const reloads = Array.from(byKind, ([kind, ofKind]) => {
      const ids = new Set(ofKind.map(({ id }) => id as string))
      return Array.from(this.#followers.get(kind) ?? [], (follower) => Array.from(ids, (id) => follower.reload(id)))
    })
    await Promise.all(reloads.flat(2))
    this.#seen = entries.at(-1)?.seq as number
  }

  /** Entries were trimmed before they were read, or the log went back. */
  async #loadAll(last: number): Promise<void> {
    this.#member?.log.warn({ seen: this.#seen, last }, 'changes of other nodes were missed: all that is held in memory is read anew')
    for (const followers of this.#followers.values()) for (const follower of followers) await follower.load()
    this.#seen = last
  }
}
