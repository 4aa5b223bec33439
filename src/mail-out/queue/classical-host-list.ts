import type { Clock } from '../../platform/clock.ts'
import type { ChangeFollower, Changes } from '../../platform/store/changes.ts'
import type { Database } from '../../platform/store/database.ts'
import { classicalForMs, type ClassicalHost } from '../delivery/classical-hosts.ts'

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

  /** Keeps what a thread has found, for a week. */
  async add(host: ClassicalHost): Promise<void> {
    const { db, changes, clock } = this.#services
    this.#told(host)
    await db.write([
      { sql: 'delete from classical_host where found_at <= :since', params: { since: clock.now() - classicalForMs } },
      {
        sql: `insert into classical_host (id, found_at) values (:key, :foundAt)
          on conflict (id) do update set found_at = excluded.found_at`,
        params: { ...host },
      },
      ...changes.note(kind, host.key),
    ])
  }

  async #read(key: string | null): Promise<void> {
    const rows = await this.#services.db.read<{ id: string; found_at: number }>(
      'select id, found_at from classical_host where id = coalesce(:key, id) order by found_at',
      { key },
    )
    for (const { id, found_at } of rows) this.#told({ key: id, foundAt: found_at })
  }
}
