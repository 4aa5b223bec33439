import type { CancelTimer, Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import type { Row, Statement } from './database.ts'
import { LeasedWindow, othersSums, tellEveryMs, type Member, type SharesServices, type WindowServices } from './leased-window.ts'
import type { LimitShares, LimitWindow, LimitWindows } from './limit-shares.ts'
import { ForgottenWindows, maxDivided } from './local-windows.ts'
import type { Nodes } from './nodes.ts'

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
  sql: `select key, ${othersSums}
          from limit_share
         where node <> :node and (expires_at is null or expires_at > :now) and key in (select key from limit_share where node = :node)
         group by key`,
  params: { node, now: clock.now() },
})
