import type { Clock } from '../../platform/clock.ts'
import type { ChangeFollower, Changes } from '../../platform/store/changes.ts'
import type { Database, Statement } from '../../platform/store/database.ts'
import { stopKeptMs, type ProviderStop } from '../delivery/provider-stops.ts'

interface ListServices {
  db: Pick<Database, 'read' | 'write'>
  changes: Changes
  clock: Pick<Clock, 'now'>
}

/** `ProviderStop`, as it is stored. */
export type StopRow = { key: string; until: number; step: number; reason: string }

const kind = 'provider_stop'

/** The groups of destinations that are sent nothing for a while, for the delivery threads of all nodes, and those of the next start. */
export class ProviderStopList implements ChangeFollower {
  readonly #services: ListServices
  readonly #told: (stop: ProviderStop) => void

  /** @param told called with each stop, wherever it was found */
  constructor(services: ListServices, told: (stop: ProviderStop) => void) {
    this.#services = services
    this.#told = told
    services.changes.on(kind, this)
  }

  async load(): Promise<void> {
    for (const stop of await readProviderStops(this.#services)) this.#told(stop)
  }

  async reload(key: string): Promise<void> {
    const stops = await readProviderStops(this.#services, key)
    if (stops.length === 0) this.#told({ key, until: null, step: 0, reason: '' })
    for (const stop of stops) this.#told(stop)
  }

  /** Keeps what a thread has found. */
  async set(stop: ProviderStop): Promise<void> {
    const { db, changes } = this.#services
    this.#told(stop)
    await db.write([stop.until === null ? forget(stop.key) : keep(stop), ...changes.note(kind, stop.key)])
  }
}

/** Those that are stored, by their keys; or this one. */
export const readProviderStops = (
  { db, clock }: Pick<ListServices, 'clock'> & { db: Pick<Database, 'read'> },
  key: string | null = null,
): Promise<StopRow[]> =>
  db.read<StopRow>(
    'select id as key, until_at as until, step, reason from provider_stop where id = coalesce(:key, id) and until_at > :since order by id',
    { key, since: clock.now() - stopKeptMs },
  )

const forget = (key: string): Statement => ({ sql: 'delete from provider_stop where id = :key', params: { key } })

const keep = ({ key, until, step, reason }: ProviderStop): Statement => ({
  sql: `insert into provider_stop (id, until_at, step, reason) values (:key, :until, :step, :reason)
        on conflict (id) do update set until_at = excluded.until_at, step = excluded.step, reason = excluded.reason`,
  params: { key, until, step, reason },
})

/** Removes the stops that nothing was sent since to end. */
export async function sweepProviderStops(db: Pick<Database, 'write'>, now: number): Promise<void> {
  await db.write([{ sql: 'delete from provider_stop where until_at <= :since', params: { since: now - stopKeptMs } }], { mayBatch: true })
}
