import type { Clock } from '../clock.ts'
import { SlidingWindow } from '../sliding-window.ts'
import type { Database, Row, Statement } from './database.ts'
import { limitLock } from './limit-lock.ts'
import type { LimitWindow } from './limit-shares.ts'
import type { Nodes } from './nodes.ts'

export interface SharesServices {
  db: Pick<Database, 'write'>
  clock: Clock
}

export type Member = Pick<Nodes, 'self' | 'live'>

export interface WindowServices extends SharesServices {
  member(): Member
  /** Resolves when no telling is under way. */
  told(): Promise<void>
  name: string
  windowMs: number
}

/** What the other nodes have of a limit, as they last said. */
interface Others {
  share: number
  used: number
  /** When the oldest of these uses is over, epoch ms; null: there are none. */
  freesAt: number | null
}

const none: Others = { share: 0, used: 0, freesAt: null }

/** How often a node says what it has used, and leaves to others what it does not need, ms. */
export const tellEveryMs = 1_000
/** Whoever was left nothing does not ask again for so long, ms. */
const inVainMs = 100

/** Of rows of others, what a node is told of. */
export const othersSums = 'cast(sum(share) as bigint) as share, cast(sum(used) as bigint) as used, min(frees_at) as frees_at'

/** A node's share of one limit: what it has used of it, and what it takes of the rest. */
export class LeasedWindow implements LimitWindow {
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

  take(limit: number, count = 1): boolean | Promise<boolean> {
    this.#limit = limit
    return this.#takeOwn(count) || (count <= limit && this.#takeMore(count))
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

  #takeOwn(count: number): boolean {
    const now = this.#now
    if (this.#share === 0 || now - this.#provenAt > this.#services.windowMs) return false
    if (!this.#counted.take(now, Math.min(this.#share, this.#limit), count)) return false
    this.#recent += count
    return true
  }

  async #takeMore(count: number): Promise<boolean> {
    while (this.#now - this.#askedInVainAt >= inVainMs) {
      await (this.#asking ??= this.#ask().finally(() => (this.#asking = null)))
      if (this.#takeOwn(count)) return true
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
        sql: `select ${othersSums}
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
