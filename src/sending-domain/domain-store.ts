import type { Database, Row, Statement } from '../store/database.ts'
import type { Domain, DomainKey, DomainStatus, DomainTls, RecordKind, RecordStatus } from './domain.ts'
import { recordKinds } from './domain.ts'
import type { DkimAlgorithm } from './domain-keys.ts'

/** A domain with its sealed private keys, by the key's id. */
interface StoredDomain {
  domain: Domain
  sealedKeys: Map<string, Uint8Array>
}

/** A new domain with its keys; `sealedKeys` has the private one of each, by id. */
export function insertDomain(domain: Domain, sealedKeys: Map<string, Uint8Array>): Statement[] {
  const { id, accountId, name, status, returnPathLabel, tls, createdAt } = domain
  return [
    {
      sql: `insert into domain (id, account_id, name, status, return_path_label, return_path_seen, tls, created_at)
            values (:id, :accountId, :name, :status, :returnPathLabel, 0, :tls, :createdAt)`,
      params: { id, accountId, name, status, returnPathLabel, tls, createdAt },
    },
    ...domain.keys.map((key) => insertKey(domain, key, sealedKeys.get(key.id) ?? null)),
  ]
}

const insertKey = (domain: Domain, key: DomainKey, sealed: Uint8Array | null): Statement => ({
  sql: `insert into dkim_key (id, domain_id, selector, algorithm, public_key, private_key, created_at)
        values (:id, :domainId, :selector, :algorithm, :publicKey, :sealed, :createdAt)`,
  params: {
    id: key.id,
    domainId: domain.id,
    selector: key.selector,
    algorithm: key.algorithm,
    publicKey: key.publicKey,
    sealed, // a missing one is refused by the column
    createdAt: domain.createdAt,
  },
})

/** Writes what checks change: states, times, findings. */
export function updateDomain(domain: Domain): Statement[] {
  const { id, status, checkedAt, verifiedAt, missingSince } = domain
  return [
    {
      sql: `update domain set status = :status, return_path_seen = :returnPathSeen, checked_at = :checkedAt,
              verified_at = :verifiedAt, missing_since = :missingSince
            where id = :id`,
      params: { id, status, returnPathSeen: domain.returnPathSeen ? 1 : 0, checkedAt, verifiedAt, missingSince },
      expect: 1,
    },
    ...domain.keys.map((key) => ({
      sql: 'update dkim_key set seen_at = :seenAt where id = :id',
      params: { id: key.id, seenAt: key.seenAt },
    })),
    ...recordKinds.flatMap((kind) => {
      const record = domain.records[kind]
      if (!record) return []
      return {
        sql: `insert into domain_record (domain_id, kind, status, found, checked_at)
              values (:id, :kind, :status, :found, :checkedAt)
              on conflict (domain_id, kind) do update
              set status = excluded.status, found = excluded.found, checked_at = excluded.checked_at`,
        params: { id, kind, status: record.status, found: record.found, checkedAt: record.checkedAt },
      }
    }),
  ]
}

interface DomainRow extends Row {
  id: string
  account_id: string
  name: string
  status: DomainStatus
  return_path_label: string
  return_path_seen: number
  tls: DomainTls
  checked_at: number | null
  verified_at: number | null
  missing_since: number | null
  created_at: number
}

interface KeyRow extends Row {
  id: string
  domain_id: string
  selector: string
  algorithm: DkimAlgorithm
  public_key: string
  private_key: Uint8Array
  seen_at: number | null
}

interface RecordRow extends Row {
  domain_id: string
  kind: RecordKind
  status: RecordStatus
  found: string | null
  checked_at: number
}

/** All domains, the oldest first; of each the RSA key first, which is what `desc` does. */
export async function readDomains(db: Database): Promise<StoredDomain[]> {
  const [domains, keys, records] = await Promise.all([
    db.read<DomainRow>(`select id, account_id, name, status, return_path_label, return_path_seen, tls, checked_at,
                          verified_at, missing_since, created_at
                        from domain order by id`),
    db.read<KeyRow>(`select id, domain_id, selector, algorithm, public_key, private_key, seen_at
                     from dkim_key order by algorithm desc, id`),
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
    name: row.name,
    status: row.status,
    returnPathLabel: row.return_path_label,
    returnPathSeen: row.return_path_seen === 1,
    tls: row.tls,
    checkedAt: row.checked_at,
    verifiedAt: row.verified_at,
    missingSince: row.missing_since,
    createdAt: row.created_at,
    keys: keys.map(({ id, selector, algorithm, public_key, seen_at }) => ({
      id,
      selector,
      algorithm,
      publicKey: public_key,
      seenAt: seen_at,
    })),
    records: Object.fromEntries(
      records.map(({ kind, status, found, checked_at }) => [kind, { status, found, checkedAt: checked_at }]),
    ),
  }
  return { domain, sealedKeys: new Map(keys.map((key) => [key.id, key.private_key])) }
}
