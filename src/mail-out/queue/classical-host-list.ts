import type { Clock } from '../../platform/clock.ts'
import type { ChangeFollower, Changes } from '../../platform/store/changes.ts'
import type { Database, Statement } from '../../platform/store/database.ts'
import { classicalForMs, maxClassicalHosts, type ClassicalHost } from '../delivery/classical-hosts.ts'

interface ListServices {
  db: Pick<Database, 'read' | 'write'>
  changes: Changes
  clock: Pick<Clock, 'now'>
}

const kind = 'classical_host'

/** The hosts that drop large hellos, for the delivery threads of all nodes, and those of the next start. */
export class ClassicalHostList implements ChangeFollower {
  readonly #services: ListServices
  readonly #told: (host: ClassicalHost) => void

  /** @param told called with each host, wherever it was found */
  constructor(services: ListServices, told: (host: ClassicalHost) => void) {
    this.#services = services
    this.#told = told
    services.changes.on(kind, this)
  }

  async load(): Promise<void> {
    await this.#read(null)
  }

  async reload(key: string): Promise<void> {
    await this.#read(key)
  }

  /** Keeps what a thread has found, for a week; of more hosts than fit, only this node knows. */
  async set(host: ClassicalHost): Promise<void> {
    const { db, changes } = this.#services
    this.#told(host)
    const { key, foundAt } = host
    await db.write([foundAt === null ? forget(key) : keep(key, foundAt), ...changes.note(kind, key)])
  }

  async #read(key: string | null): Promise<void> {
    const rows = await this.#services.db.read<{ id: string; found_at: number }>(
      'select id, found_at from classical_host where id = coalesce(:key, id) and found_at > :since order by found_at',
      { key, since: this.#services.clock.now() - classicalForMs },
    )
    if (key !== null && rows.length === 0) this.#told({ key, foundAt: null })
    for (const { id, found_at } of rows) this.#told({ key: id, foundAt: found_at })
  }
}

const forget = (key: string): Statement => ({ sql: 'delete from classical_host where id = :key', params: { key } })

const keep = (key: string, foundAt: number): Statement => ({
  sql: `insert into classical_host (id, found_at)
        select cast(:key as text), cast(:foundAt as bigint)
         where (select count(*) from classical_host where id <> :key) < :most
        on conflict (id) do update set found_at = excluded.found_at`,
  params: { key, foundAt, most: maxClassicalHosts },
})

/** Removes the hosts whose week is over. */
export async function sweepClassicalHosts(db: Pick<Database, 'write'>, now: number): Promise<void> {
  const sql = 'delete from classical_host where found_at <= :since'
  await db.write([{ sql, params: { since: now - classicalForMs } }], { mayBatch: true })
}
