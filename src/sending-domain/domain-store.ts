import type { Database, Row, Statement } from '../store/database.ts'
import {
  recordKinds,
  type Domain,
  type DomainKey,
  type DomainStatus,
  type DomainTls,
  type KeyState,
  type RecordKind,
  type RecordState,
  type RecordStatus,
} from './domain.ts'
import type { DkimAlgorithm } from './domain-keys.ts'
import { inKeyOrder } from './key-rotation.ts'

/** A domain with its sealed private keys, by the key's id. */
interface StoredDomain {
  domain: Domain
  sealedKeys: Map<string, Uint8Array>
}

/** A new domain with its keys; `sealedKeys` has each private one, by id. */
export function insertDomain(domain: Domain, sealedKeys: ReadonlyMap<string, Uint8Array>): Statement[] {
  const { id, accountId, name, status, returnPathLabel, createdAt } = domain
  return [
    {
      sql: `insert into domain (id, account_id, name, status, return_path_label, return_path_seen, tls, subdomains,
              open_tracking, click_tracking, tracking_subdomain, app_links, created_at)
            values (:id, :accountId, :name, :status, :returnPathLabel, 0, :tls, :subdomains, :openTracking, :clickTracking,
              :trackingSubdomain, :appLinks, :createdAt)`,
      params: { id, accountId, name, status, returnPathLabel, createdAt, ...changeable(domain) },
    },
    ...domain.keys.map((key) => insertKey(domain, key, sealedKeys.get(key.id) ?? null)),
  ]
}

const changeable = ({ tls, subdomains, tracking, trackingSubdomain, appLinks }: Domain) => ({
  tls,
  subdomains: subdomains ? 1 : 0,
  openTracking: tracking.opens ? 1 : 0,
  clickTracking: tracking.clicks ? 1 : 0,
  trackingSubdomain,
  appLinks: JSON.stringify(appLinks),
})

const insertKey = (domain: Domain, key: DomainKey, sealed: Uint8Array | null): Statement => ({
  sql: `insert into dkim_key (id, domain_id, selector, algorithm, public_key, private_key, state, created_at)
        values (:id, :domainId, :selector, :algorithm, :publicKey, :sealed, :state, :createdAt)`,
  params: {
    id: key.id,
    domainId: domain.id,
    selector: key.selector,
    algorithm: key.algorithm,
    publicKey: key.publicKey,
    sealed, // a missing one is refused by the column
    state: key.state,
    createdAt: key.createdAt,
  },
})

/**
 * Changes the stored domain to its next version: settings, states, findings, and keys, some new and some removed. `sealedKeys` has the
 * private part of each new key.
 */
export function changeDomain(before: Domain, after: Domain, sealedKeys: ReadonlyMap<string, Uint8Array> = new Map()): Statement[] {
  const { id, status, checkedAt, verifiedAt, missingSince } = after
  const known = new Set(before.keys.map((key) => key.id))
  const kept = new Set(after.keys.map((key) => key.id))
  return [
    {
      sql: `update domain set status = :status, return_path_seen = :returnPathSeen, tls = :tls, subdomains = :subdomains,
              open_tracking = :openTracking, click_tracking = :clickTracking, tracking_subdomain = :trackingSubdomain,
              app_links = :appLinks, checked_at = :checkedAt, verified_at = :verifiedAt,
              missing_since = :missingSince
            where id = :id and removed_at is null`,
      params: { id, status, returnPathSeen: after.returnPathSeen ? 1 : 0, checkedAt, verifiedAt, missingSince, ...changeable(after) },
      expect: 1,
    },
    ...before.keys
      .filter((key) => !kept.has(key.id))
      .map((key) => ({ sql: 'delete from dkim_key where id = :id', params: { id: key.id } })),
    ...after.keys.map((key) => (known.has(key.id) ? updateKey(key) : insertKey(after, key, sealedKeys.get(key.id) ?? null))),
    ...recordKinds.flatMap((kind) => {
      const record = after.records[kind]
      if (record) return [keepRecord(id, kind, record)]
      return before.records[kind] ? [{ sql: 'delete from domain_record where domain_id = :id and kind = :kind', params: { id, kind } }] : []
    }),
  ]
}

const updateKey = ({ id, state, seenAt, keepUntil }: DomainKey): Statement => ({
  sql: 'update dkim_key set state = :state, seen_at = :seenAt, keep_until = :keepUntil where id = :id',
  params: { id, state, seenAt, keepUntil },
})

const keepRecord = (id: string, kind: RecordKind, { status, found, checkedAt }: RecordState): Statement => ({
  sql: `insert into domain_record (domain_id, kind, status, found, checked_at)
        values (:id, :kind, :status, :found, :checkedAt)
        on conflict (domain_id, kind) do update
        set status = excluded.status, found = excluded.found, checked_at = excluded.checked_at`,
  params: { id, kind, status, found, checkedAt },
})

/** Stops using a domain; its row and keys stay for the mail that was accepted from it. */
export const removeDomain = (id: string, now: number): Statement => ({
  sql: 'update domain set removed_at = :now, removed_name = name, name = id where id = :id and removed_at is null',
  params: { id, now },
  expect: 1,
})

/** The removed domains that mail still waits for. Reads the whole queue. */
export const neededDomains = `
  select distinct m.domain_id as id
    from recipient r join message m on m.id = r.message_id join domain d on d.id = m.domain_id
   where r.due_at is not null and d.removed_at is not null`

/** Forgets a removed domain and its keys for ever. */
export const forgetDomain = (id: string): Statement[] =>
  [
    'delete from dkim_key where domain_id = :id',
    'delete from domain_record where domain_id = :id',
    'delete from domain where id = :id and removed_at is not null',
  ].map((sql) => ({ sql, params: { id } }))

interface DomainRow extends Row {
  id: string
  account_id: string
  name: string
  status: DomainStatus
  return_path_label: string
  return_path_seen: number
  tls: DomainTls
  subdomains: number
  open_tracking: number
  click_tracking: number
  tracking_subdomain: string | null
  app_links: string | null
  checked_at: number | null
  verified_at: number | null
  missing_since: number | null
  created_at: number
  removed_at: number | null
  removed_name: string | null
}

interface KeyRow extends Row {
  id: string
  domain_id: string
  selector: string
  algorithm: DkimAlgorithm
  public_key: string
  private_key: Uint8Array
  state: KeyState
  seen_at: number | null
  keep_until: number | null
  created_at: number
}

interface RecordRow extends Row {
  domain_id: string
  kind: RecordKind
  status: RecordStatus
  found: string | null
  checked_at: number
}

/** All domains, including removed ones, oldest first. */
export async function readDomains(db: Database): Promise<StoredDomain[]> {
  const [domains, keys, records] = await Promise.all([
    db.read<DomainRow>(`select id, account_id, name, status, return_path_label, return_path_seen, tls, subdomains,
                          open_tracking, click_tracking, tracking_subdomain, app_links, checked_at, verified_at, missing_since, created_at,
                          removed_at, removed_name
                        from domain order by id`),
    db.read<KeyRow>(`select id, domain_id, selector, algorithm, public_key, private_key, state, seen_at, keep_until,
                       created_at
                     from dkim_key`),
    db.read<RecordRow>('select domain_id, kind, status, found, checked_at from domain_record'),
  ])
  const keysOf = Map.groupBy(keys, (key) => key.domain_id)
  const recordsOf = Map.groupBy(records, (record) => record.domain_id)
  return domains.map((row) => storedDomainOf(row, keysOf.get(row.id) ?? [], recordsOf.get(row.id) ?? []))
}

function storedDomainOf(row: DomainRow, keys: KeyRow[], records: RecordRow[]): StoredDomain {
  const domain: Domain = {
    id: row.id,
    accountId: row.account_id,
    name: row.removed_name ?? row.name,
    status: row.status,
    returnPathLabel: row.return_path_label,
    returnPathSeen: row.return_path_seen === 1,
    tls: row.tls,
    subdomains: row.subdomains === 1,
    tracking: { opens: row.open_tracking === 1, clicks: row.click_tracking === 1 },
    trackingSubdomain: row.tracking_subdomain,
    appLinks: JSON.parse(row.app_links ?? '{}') as Record<string, string>,
    checkedAt: row.checked_at,
    verifiedAt: row.verified_at,
    missingSince: row.missing_since,
    createdAt: row.created_at,
    removedAt: row.removed_at,
    keys: inKeyOrder(keys.map(keyOf)),
    records: Object.fromEntries(records.map(({ kind, status, found, checked_at }) => [kind, { status, found, checkedAt: checked_at }])),
  }
  return { domain, sealedKeys: new Map(keys.map((key) => [key.id, key.private_key])) }
}

const keyOf = (row: KeyRow): DomainKey => ({
  id: row.id,
  selector: row.selector,
  algorithm: row.algorithm,
  publicKey: row.public_key,
  state: row.state,
  seenAt: row.seen_at,
  keepUntil: row.keep_until,
  createdAt: row.created_at,
})
