import { createHash } from 'node:crypto'
import type { Clock } from '../clock.ts'
import { newId } from '../id.ts'
import type { Database, Statement } from './database.ts'
import { limitLock } from './limit-lock.ts'
import { removeInPieces } from './remove-in-pieces.ts'

interface CountedUsesServices {
  db: Pick<Database, 'read' | 'write'>
  clock: Pick<Clock, 'now'>
}

interface CountedLimit {
  /** Of what is limited. */
  name: string
  limit: number
  windowMs: number
}

/** What came of one more use. */
export interface Use {
  /** 0 if it was counted; otherwise how long to wait, ms. */
  waitMs: number
  /** Counts it no more. */
  giveBack(): Promise<void>
}

/** Times that are further ahead than this are from before the clock was set back, and count no more, ms. */
const aheadMs = 60_000

/**
 * A limit on what each key (a client network, a user) may do within a time, in the sum of all nodes: each use is a row. It is for what is rare,
 * and guards a secret or a mailbox. No flood of other keys makes it forget one.
 */
export class CountedUses {
  readonly #services: CountedUsesServices
  readonly #limit: CountedLimit

  constructor(services: CountedUsesServices, limit: CountedLimit) {
    this.#services = services
    this.#limit = limit
  }

  /** Counts one more for the key, and for a second one if it is given; if one of them has reached the limit, for none. */
  async take(key: string, otherKey: string | null = null): Promise<Use> {
    const { limit, windowMs } = this.#limit
    const now = this.#services.clock.now()
    const [first, other] = [this.#digestOf(key), otherKey === null ? null : this.#digestOf(otherKey)]
    const ids = { id: newId('use', now), otherId: newId('use', now) }
    const [written] = await this.#services.db.write([
      {
        sql: `insert into counted_use (id, key, expires_at)
              select id, key, :expiresAt
                from (select cast(:id as text) as id, cast(:first as text) as key union all select :otherId, :other) as given
               where key is not null
                 and not exists (select key from counted_use where key in (:first, :other) and expires_at > :now and expires_at <= :latest
                                  group by key having count(*) >= :limit)`,
        params: { ...ids, first, other, limit, now, expiresAt: now + windowMs, latest: this.#latestAt(now) },
        locks: [first, other].flatMap((digest) => (digest === null ? [] : limitLock(digest))),
      },
    ])
    if (written?.changes === 0) return { waitMs: await this.#waitOf([first, other], now), giveBack: async () => {} }
    return { waitMs: 0, giveBack: async () => void (await this.#services.db.write([forget(ids)])) }
  }

  /** How many of this key count now. */
  async countOf(key: string): Promise<number> {
    const now = this.#services.clock.now()
    const [row] = await this.#services.db.read<{ count: number }>(
      'select count(*) as count from counted_use where key = :key and expires_at > :now and expires_at <= :latest',
      { key: this.#digestOf(key), now, latest: this.#latestAt(now) },
    )
    return row?.count ?? 0
  }

  /** Until the last of the keys is below its limit, at least 1 ms. */
  async #waitOf(keys: (string | null)[], now: number): Promise<number> {
    const waits = keys.map(async (key) => {
      const [row] = await this.#services.db.read<{ expires_at: number }>(
        `select expires_at from counted_use where key = :key and expires_at > :now and expires_at <= :latest
          order by expires_at desc, id limit 1 offset :skip`,
        { key, now, latest: this.#latestAt(now), skip: this.#limit.limit - 1 },
      )
      return row ? row.expires_at - now : 1
    })
    return Math.max(...(await Promise.all(waits)))
  }

  #latestAt(now: number): number {
    return now + this.#limit.windowMs + aheadMs
  }

  /** It may be an address, which nobody needs to read there. */
  #digestOf(key: string): string {
    return createHash('sha256').update(`${this.#limit.name}\n${key}`).digest('base64url')
  }
}

const forget = (ids: { id: string; otherId: string }): Statement => ({
  sql: 'delete from counted_use where id in (:id, :otherId)',
  params: ids,
})

/** Removes what counts no more, also of the shares that buried nodes had. */
export async function sweepLimits(db: Pick<Database, 'write'>, now: number): Promise<void> {
  const params = { now }
  const uses = 'delete from counted_use where id in (select id from counted_use where expires_at <= :now limit :rows)'
  await removeInPieces(db, [{ sql: uses, params }])
  await db.write([{ sql: 'delete from limit_share where expires_at <= :now', params }], { mayBatch: true })
}
