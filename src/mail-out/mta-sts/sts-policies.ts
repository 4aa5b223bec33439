import type { Clock } from '../../platform/clock.ts'
import type { Log } from '../../platform/log.ts'
import type { Resolver } from '../../platform/resolver.ts'
import type { ChangeFollower, Changes } from '../../platform/store/changes.ts'
import type { Database, Row, Statement } from '../../platform/store/database.ts'
import type { FetchFault, Fetched } from './fetch-sts-policy.ts'
import { heldBytesEach, maxHeldBytes, retryMs, stsRecordName, type KnownSts } from './known-sts.ts'
import { announcedId, type StsPolicy } from './sts-policy.ts'

interface StsServices {
  db: Pick<Database, 'read' | 'write'>
  changes: Changes
  clock: Pick<Clock, 'now'>
  log: Pick<Log, 'warn'>
  resolver: Pick<Resolver, 'txt'>
  /** Gets the policy of a domain, within a minute; never rejects. */
  fetch(domain: string): Promise<Fetched>
}

interface StsRow extends Row {
  domain: string
  announced_id: string | null
  mode: string | null
  mx: string | null
  max_age_ms: number | null
  fetched_at: number | null
  tried_at: number
  fault: string | null
  fault_type: string | null
  used_at: number
  fetching_until: number | null
}

const kind = 'mta_sts_policy'
const dayMs = 24 * 3_600_000
/** Between two refreshes of a policy that still holds: after a success, at the most; after a failure. */
const refreshMs = dayMs
const failedRefreshMs = 3_600_000
/** Refreshed within a minute, at the most. */
const refreshesAtOnce = 20
/** How long a fetch may be under way before another node takes it for dead. */
const fetchingMs = 70_000
/** How long what nobody writes to any more is kept; without a policy. */
const unusedMs = 180 * dayMs
const unfetchedMs = 7 * dayMs

/**
 * The policies that recipient domains publish (RFC 8461): fetched, kept as rows for all nodes and the next start, and told to the delivery
 * threads. Of several nodes one fetches, and the others wait for what it gets.
 */
export class StsPolicies implements ChangeFollower {
  readonly #services: StsServices
  #told: (known: KnownSts) => void = () => {}
  /** Fetches of this node, by domain. */
  readonly #underWay = new Map<string, Promise<void>>()
  /** What waits for a fetch of another node, by domain. */
  readonly #waiting = new Map<string, () => void>()

  constructor(services: StsServices) {
    this.#services = services
    services.changes.on(kind, this)
  }

  /** Tells what is known, and from now on what becomes known. */
  async follow(told: (known: KnownSts) => void): Promise<void> {
    this.#told = told
    await this.load()
  }

  /** If memory cannot hold them all, loads slightly more than fits, so that whoever holds them sees that some are missing. */
  async load(): Promise<void> {
    for (const row of await this.#services.db.read<StsRow>(usedLastSql, { each: heldBytesEach, most: maxHeldBytes })) this.#tell(row)
  }

  async reload(domain: string): Promise<void> {
    const row = await this.#row(domain)
    if (row) this.#tell(row)
    if (row?.fetching_until == null) this.#waiting.get(domain)?.()
  }

  /** What is kept of a domain; null: nothing. */
  async find(domain: string): Promise<KnownSts | null> {
    const row = await this.#row(domain)
    return row && knownFrom(row)
  }

  /**
   * Fetches the policy that the DNS announces under this id, unless that was just tried. Resolves when all has been told.
   * @param isForced even then
   */
  fetch(domain: string, id: string, isForced = false): Promise<void> {
    const fetching = this.#underWay.get(domain) ?? this.#fetch(domain, id, isForced).finally(() => this.#underWay.delete(domain))
    this.#underWay.set(domain, fetching)
    return fetching
  }

  /** Asks the DNS, and fetches what it announces. Returns the id; null: it announces none, and what is kept holds until it expires. */
  async refresh(domain: string): Promise<string | null> {
    const id = announcedId((await this.#services.resolver.txt(stsRecordName(domain))).records)
    if (id !== null) await this.fetch(domain, id, true)
    return id
  }

  async noteUsed(domain: string): Promise<void> {
    const { db, clock } = this.#services
    const sql = 'update mta_sts_policy set used_at = :now where domain = :domain'
    await db.write([{ sql, params: { domain, now: clock.now() } }], { mayBatch: true })
  }

  /** Refreshes what is a day old, or half as old as it may become, and forgets what nobody writes to. */
  async keepUp(): Promise<void> {
    const { db, clock } = this.#services
    const now = clock.now()
    const due = await db.read<{ domain: string }>(
      `select domain from mta_sts_policy
        where mode <> 'none' and fetched_at + max_age_ms > :now
          and (fetched_at + :refresh <= :now or fetched_at + max_age_ms / 2 <= :now) and tried_at <= :failed
        order by tried_at, domain limit :most`,
      { now, refresh: refreshMs, failed: now - failedRefreshMs, most: refreshesAtOnce },
    )
    await Promise.all(due.map(({ domain }) => this.#refreshDue(domain)))
    const sql = `delete from mta_sts_policy where used_at < :unused or (mode is null and tried_at < :unfetched and used_at < :unfetched)`
    await db.write([{ sql, params: { unused: now - unusedMs, unfetched: now - unfetchedMs } }], { mayBatch: true })
  }

  async #refreshDue(domain: string): Promise<void> {
    if ((await this.refresh(domain)) !== null) return
    const { db, clock } = this.#services
    const sql = 'update mta_sts_policy set tried_at = :now where domain = :domain'
    await db.write([{ sql, params: { domain, now: clock.now() } }], { mayBatch: true })
  }

  async #fetch(domain: string, id: string, isForced: boolean): Promise<void> {
    if (!(await this.#claim(domain, isForced))) {
      if (!(await this.#isAbandoned(domain))) return
      // The node that had it has died.
      if (!(await this.#claim(domain, true, true))) return
    }
    const { log, db, changes, clock } = this.#services
    const fetched = await this.#services.fetch(domain)
    if ('fault' in fetched) log.warn({ domain, ...fetched.fault }, 'the MTA-STS policy of a domain could not be fetched')
    await db.write([settle(domain, id, fetched, clock.now()), ...changes.note(kind, domain)])
    await this.reload(domain)
  }

  async #claim(domain: string, isForced: boolean, isAbandoned = false): Promise<boolean> {
    const { db, clock } = this.#services
    const now = clock.now()
    const params = {
      domain,
      now,
      until: now + fetchingMs,
      since: now - retryMs + 1,
      forced: Number(isForced),
      abandoned: Number(isAbandoned),
    }
    const [written] = await db.write([{ sql: claimSql, params }])
    return written?.changes === 1
  }

  /** Waits for another node's fetch, if there is one. True if that never ended. */
  async #isAbandoned(domain: string): Promise<boolean> {
    const row = await this.#row(domain)
    if (!row) return false
    this.#tell(row)
    if (row.fetching_until === null) return false
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const timer = setTimeout(() => resolve(true), fetchingMs)
    this.#waiting.set(domain, () => resolve(false))
    const isAbandoned = await promise
    clearTimeout(timer)
    this.#waiting.delete(domain)
    return isAbandoned
  }

  #tell(row: StsRow): void {
    if (row.tried_at > 0) this.#told(knownFrom(row))
  }

  async #row(domain: string): Promise<StsRow | null> {
    const [row] = await this.#services.db.read<StsRow>('select * from mta_sts_policy where domain = :domain', { domain })
    return row ?? null
  }
}

/** The rows that those used later leave room for, the last used at the end. */
const usedLastSql = `
  select * from mta_sts_policy
   where domain in (
     select domain from (
       select domain, coalesce(sum(:each + coalesce(length(mx), 0)) over (
                order by used_at desc, domain rows between unbounded preceding and 1 preceding), 0) as later
         from mta_sts_policy where tried_at > 0) sized
      where later <= :most)
   order by used_at`

const claimSql = `
  insert into mta_sts_policy (domain, tried_at, used_at, fetching_until) values (:domain, 0, :now, :until)
  on conflict (domain) do update set fetching_until = excluded.fetching_until
   where (:forced = 1 or mta_sts_policy.tried_at not between :since and :now)
     and (:abandoned = 1 or coalesce(mta_sts_policy.fetching_until, 0) not between :now and :until)`

function settle(domain: string, id: string, fetched: Fetched, now: number): Statement {
  if ('fault' in fetched) {
    const { type, reason } = fetched.fault
    return {
      sql: `update mta_sts_policy set tried_at = :now, fault = :reason, fault_type = :type, fetching_until = null where domain = :domain`,
      params: { domain, now, reason, type },
    }
  }
  const { mode, mx, maxAgeMs } = fetched.policy
  return {
    sql: `update mta_sts_policy set announced_id = :id, mode = :mode, mx = :mx, max_age_ms = :maxAgeMs, fetched_at = :now, tried_at = :now,
            fault = null, fault_type = null, fetching_until = null
           where domain = :domain`,
    params: { domain, id, now, mode, mx: mx.join(' '), maxAgeMs },
  }
}

function knownFrom(row: StsRow): KnownSts {
  const { domain, mode, mx, max_age_ms: maxAgeMs, fault, fault_type: type } = row
  return {
    domain,
    policy: mode === null ? null : { mode: mode as StsPolicy['mode'], mx: mx ? mx.split(' ') : [], maxAgeMs: maxAgeMs ?? 0 },
    id: row.announced_id,
    fetchedAt: row.fetched_at,
    triedAt: row.tried_at,
    fault: fault === null ? null : { type: type as FetchFault['type'], reason: fault },
    usedAt: row.used_at,
  }
}
