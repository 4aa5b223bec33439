import type { CancelTimer, Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import { SlidingWindow } from '../sliding-window.ts'
import type { Database, Row, Statement } from './database.ts'
import { limitLock } from './limit-lock.ts'
import type { LimitShares, LimitWindow, LimitWindows } from './limit-shares.ts'
import { ForgottenWindows, maxDivided } from './local-windows.ts'
import type { Nodes } from './nodes.ts'

interface SharesServices {
  db: Pick<Database, 'write'>
  clock: Clock
}

type Member = Pick<Nodes, 'self' | 'live'>

/** What the other nodes have of a limit, as they last said. */
interface Others {
  share: number
  used: number
  /** When the oldest of these uses is over, epoch ms; null: there are none. */
  freesAt: number | null
}

const none: Others = { share: 0, used: 0, freesAt: null }

/** How often a node says what it has used, and leaves to others what it does not need, ms. */
const tellEveryMs = 1_000
/** Whoever was left nothing does not ask again for so long, ms. */
const inVainMs = 100

/**
 * How several nodes keep to one limit. Each has a share of it, in a row, and together they are never more than the limit. It lets through, in any
 * time of the window's length, no more than its share, and asks nobody for that. It asks for more before it refuses, and leaves to the others once
 * a second what it does not need. What a node had when it was buried counts for another such time.
 */
export class LeasedShares implements LimitShares {
  readonly #services: SharesServices
  #member: Member = { self: '', live: () => [''] }

  constructor(services: SharesServices) {
    this.#services = services
  }

  /** Call it before anything is counted. */
  join(nodes: Pick<Nodes, 'self' | 'live' | 'freeBuried'>): void {
    this.#member = nodes
    nodes.freeBuried({
      free: (node) => [
        {
          sql: `update limit_share set expires_at = window_ms + cast(:now as bigint) where node = :node and expires_at is null`,
          params: { node, now: Math.ceil(this.#services.clock.now()) },
        },
      ],
    })
  }

  windows(name: string, { windowMs, isKept }: { windowMs: number; isKept: boolean }): LimitWindows {
    return new LeasedWindows({ ...this.#services, member: () => this.#member, name, windowMs }, isKept)
  }
}

interface WindowServices extends SharesServices {
  member(): Member
  /** Resolves when no telling is under way. */
  told(): Promise<void>
  name: string
  windowMs: number
}

class LeasedWindows implements LimitWindows {
  readonly #services: WindowServices
  readonly #byKey = new Map<string, LeasedWindow>()
  readonly #own: LimitWindows | null
  #log: Pick<Log, 'warn'> = { warn() {} }
  #telling: Promise<void> = Promise.resolve()
  #isStopped = false
  #cancelTimer: CancelTimer = () => {}

  constructor(services: Omit<WindowServices, 'told'>, isKept: boolean) {
    this.#services = { ...services, told: () => this.#telling }
    this.#own = isKept ? null : new ForgottenWindows(services, services.windowMs)
  }

  of(key: string): LimitWindow {
    const known = this.#byKey.get(key)
    if (known) return known
    if (this.#own && this.#byKey.size >= maxDivided) return this.#own.of(key)
    const window = new LeasedWindow(`${this.#services.name} ${key}`, this.#services)
    this.#byKey.set(key, window)
    return window
  }

  async start(log: Log): Promise<void> {
    this.#log = log
    this.#arm()
  }

  /** Leaves to the others what is not used. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancelTimer()
    await this.#telling
    await this.#tell()
  }

  #arm(): void {
    const { clock } = this.#services
    if (this.#isStopped) return
    this.#cancelTimer = clock.at(clock.now() + tellEveryMs, () => {
      this.#telling = this.#tell().finally(() => this.#arm())
    })
  }

  /** Never rejects. */
  async #tell(): Promise<void> {
    const { db, clock, member } = this.#services
    const beganAt = clock.steady()
    const windows = [...this.#byKey.values()].filter((window) => !window.isAsking)
    const told = windows.flatMap((window) => window.tell(this.#isStopped) ?? [])
    if (this.#byKey.size === 0 && told.length === 0) return
    try {
      const written = await db.write([...told, othersOf(member().self, clock)])
      this.#hear(written.at(-1)?.rows ?? [])
      for (const window of windows) window.prove(beganAt)
      // Not before it is written that they have no share: a row that nobody told to go would keep it from all.
      for (const window of windows) if (window.isIdle) this.#byKey.delete(window.key.slice(this.#services.name.length + 1))
    } catch (error) {
      for (const window of windows) window.isUntold = true
      this.#log.warn({ error }, 'what this node has used of limits could not be told to others, and is told again')
    }
  }

  #hear(rows: Row[]): void {
    const byKey = new Map(rows.map((row) => [row['key'], row]))
    for (const window of this.#byKey.values()) if (!window.isAsking) window.hear(byKey.get(window.key))
  }
}

/** What others have of all that this node has a share of. */
const othersOf = (node: string, clock: Clock): Statement => ({
  sql: `select key, cast(sum(share) as bigint) as share, cast(sum(used) as bigint) as used, min(frees_at) as frees_at
          from limit_share
         where node <> :node and (expires_at is null or expires_at > :now) and key in (select key from limit_share where node = :node)
         group by key`,
  params: { node, now: clock.now() },
})

class LeasedWindow implements LimitWindow {
  readonly key: string
  /** What was told was not written. */
  isUntold = false
  readonly #services: WindowServices
  readonly #counted: SlidingWindow
  /** Never more than in its row. */
  #share = 0
  /** The limit as it was last asked for. */
  #limit = 0
  #others = none
  /** Since the last telling. */
  #recent = 0
  #told = { used: 0, share: 0 }
  #asking: Promise<void> | null = null
  #askedInVainAt = -Infinity
  /** When something was last written that a buried node cannot write: its share is its own for as long as a window from then. */
  #provenAt = -Infinity

  constructor(key: string, services: WindowServices) {
    this.key = key
    this.#services = services
    this.#counted = new SlidingWindow(services.windowMs)
  }

  get isAsking(): boolean {
    return this.#asking !== null
  }

  /** Nothing of it counts, and there is no row. */
  get isIdle(): boolean {
    return this.#share === 0 && this.#told.share === 0 && !this.isAsking && !this.isUntold
  }

  take(limit: number): boolean | Promise<boolean> {
    this.#limit = limit
    return this.#takeOwn() || (limit > 0 && this.#takeMore())
  }

  remaining(limit: number): number {
    return Math.max(0, limit - this.#counted.countAt(this.#now) - this.#others.used)
  }

  untilNext(limit: number): number {
    const { clock } = this.#services
    const own = this.#counted.countAt(this.#now)
    // Somebody else has what is left, and leaves it in a moment.
    if (limit > 0 && own + this.#others.used < limit && this.#share <= own) return tellEveryMs
    const ofOwn = own === 0 ? Infinity : this.#counted.untilNext(this.#now, Math.max(1, limit - this.#others.used))
    const ofOthers = this.#others.freesAt === null ? Infinity : Math.max(0, this.#others.freesAt - clock.now())
    const next = Math.min(ofOwn, ofOthers)
    return next === Infinity ? 0 : next
  }

  prove(at: number): void {
    this.#provenAt = Math.max(this.#provenAt, at)
  }

  hear(row: Row | undefined): void {
    this.#others = row
      ? {
          share: Number(row['share'] ?? 0),
          used: Number(row['used'] ?? 0),
          freesAt: row['frees_at'] === null ? null : Number(row['frees_at']),
        }
      : none
  }

  /** What is to be told; null: nothing new. From now on, this node does without what it leaves to others. */
  tell(isLast: boolean): Statement | null {
    const used = this.#counted.countAt(this.#now)
    const recent = this.#recent
    this.#recent = 0
    if (used === 0 && recent === 0) this.#share = 0
    else this.#share = Math.min(this.#share, used + (isLast ? 0 : this.#spare(recent)))
    const isTold = this.#told.used === used && this.#told.share === this.#share
    if (isTold && !this.isUntold) return null
    this.isUntold = false
    this.#told = { used, share: this.#share }
    const params = { key: this.key, node: this.#services.member().self }
    if (this.#share === 0) return { sql: 'delete from limit_share where key = :key and node = :node', params }
    return {
      sql: 'update limit_share set share = :share, used = :used, frees_at = :freesAt where key = :key and node = :node',
      params: { ...params, share: this.#share, used, freesAt: this.#freesAt(used) },
    }
  }

  get #now(): number {
    return this.#services.clock.steady()
  }

  /** What it asks for at a time. */
  get #piece(): number {
    return Math.max(1, Math.ceil(this.#limit / (4 * this.#services.member().live().length)))
  }

  /** What it keeps beside what is used: as much as it has just used, and a piece while nobody lacks it. */
  #spare(recent: number): number {
    const isShort = this.#others.share > 0 && this.#others.share + this.#share + this.#piece > this.#limit
    return isShort ? recent : Math.max(recent, this.#piece)
  }

  #freesAt(used: number): number | null {
    const { clock } = this.#services
    return used === 0 ? null : Math.ceil(clock.now() + this.#counted.untilNext(this.#now, used))
  }

  #takeOwn(): boolean {
    const now = this.#now
    if (this.#share === 0 || now - this.#provenAt > this.#services.windowMs) return false
    if (!this.#counted.take(now, Math.min(this.#share, this.#limit))) return false
    this.#recent++
    return true
  }

  async #takeMore(): Promise<boolean> {
    while (this.#now - this.#askedInVainAt >= inVainMs) {
      await (this.#asking ??= this.#ask().finally(() => (this.#asking = null)))
      if (this.#takeOwn()) return true
    }
    return false
  }

  async #ask(): Promise<void> {
    const { db, clock, member, windowMs, told } = this.#services
    // A share is written as it is then, not by how much it is less.
    await told()
    const beganAt = this.#now
    const { self: node } = member()
    const params = {
      key: this.key,
      node,
      now: clock.now(),
      limit: this.#limit,
      piece: this.#piece,
      nodes: member().live().length,
      windowMs,
    }
    const [granted, others] = await db.write([
      {
        // Less where little is left, or the first to ask would have it all.
        sql: `insert into limit_share (key, node, share, used, window_ms)
              select :key, :node, case when each >= :piece then :piece when each > 0 then each else 1 end, 0, :windowMs
                from (select free, free / cast(:nodes as bigint) as each from (
                        select cast(:limit as bigint) - coalesce(cast(sum(share) as bigint), 0) as free from limit_share
                       where key = :key and (expires_at is null or expires_at > :now)) as sums) as pool
               where free > 0
              on conflict (key, node) do update set share = limit_share.share + excluded.share
              returning share`,
        params,
        locks: limitLock(this.key),
      },
      {
        sql: `select cast(sum(share) as bigint) as share, cast(sum(used) as bigint) as used, min(frees_at) as frees_at
                from limit_share where key = :key and node <> :node and (expires_at is null or expires_at > :now)`,
        params,
      },
    ])
    this.prove(beganAt)
    this.hear(others?.rows[0])
    const share = granted?.rows[0]?.['share']
    if (share === undefined) this.#askedInVainAt = this.#now
    else this.#told = { ...this.#told, share: (this.#share = Number(share)) }
  }
}
