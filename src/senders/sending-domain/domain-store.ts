import { forgetUse } from '../account/quota-statements.ts'
import type { Database, Row, Statement } from '../../platform/store/database.ts'
import { storedRows } from '../../platform/store/stored-rows.ts'
import {
  recordKinds,
  type Domain,
  type DomainKey,
  type RecordKind,
  type RecordReason,
  type RecordState,
  type RecordStatus,
} from './domain.ts'
import { domainObject } from './domain-object.ts'
import { inKeyOrder } from './key-rotation.ts'

/** A domain with its sealed private keys, by the key's id. */
interface StoredDomain {
  domain: Domain
  sealedKeys: Map<string, Uint8Array>
}

type DomainColumns = Omit<Domain, 'appLinks' | 'keys' | 'records'> & {
  /** JSON. */
  appLinks: string | null
  /** A removed domain's name; its `name` is its id then. */
  removedName: string | null
}

const domainRows = storedRows<DomainColumns>('domain')(
  [
    ...domainObject.plain,
    'id',
    'accountId',
    'status',
    'appLinks',
    'checkedAt',
    'verifiedAt',
    'missingSince',
    'createdAt',
    'removedAt',
    'removedName',
    'revision',
  ],
  [...domainObject.flags, 'returnPathSeen'],
)

const changeableMembers = [
  ...domainObject.changeable,
  'status',
  'returnPathSeen',
  'appLinks',
  'checkedAt',
  'verifiedAt',
  'missingSince',
] as const

const columnsOf = ({ appLinks, ...domain }: Domain): DomainColumns => ({
  ...domain,
  appLinks: JSON.stringify(appLinks),
  removedName: null,
})

const keyRows = storedRows<DomainKey & { domainId: string; privateKey: Uint8Array | null }>('dkim_key')(
  ['id', 'domainId', 'selector', 'algorithm', 'publicKey', 'privateKey', 'state', 'seenAt', 'keepUntil', 'createdAt'],
  [],
)

/**
 * A new domain with its keys; `sealedKeys` has each private one, by id. Fails (`expect`) if the account already has `limit` domains.
 */
export const insertDomain = (domain: Domain, sealedKeys: ReadonlyMap<string, Uint8Array>, limit: number): Statement[] => [
  {
    sql: `insert into domain (${domainRows.columns}) select ${domainRows.parameters}
           where (select count(*) from domain where account_id = :accountId and removed_at is null) < :limit`,
    params: { ...domainRows.params(columnsOf(domain)), limit },
    expect: 1,
    locks: domain.accountId,
  },
  ...domain.keys.map((key) => insertKey(domain, key, sealedKeys)),
]

/** A private key that is missing is refused by the column. */
const insertKey = ({ id: domainId }: Domain, key: DomainKey, sealedKeys: ReadonlyMap<string, Uint8Array>): Statement =>
  keyRows.insert({ ...key, domainId, privateKey: sealedKeys.get(key.id) ?? null })

/**
 * Changes the stored domain to its next version: settings, states, findings, and keys, some new and some removed. `sealedKeys` has the
 * private part of each new key. Fails (`expect`) if somebody else has changed it meanwhile.
 */
export function changeDomain(before: Domain, after: Domain, sealedKeys: ReadonlyMap<string, Uint8Array>): Statement[] {
  const { id } = after
  const known = new Set(before.keys.map((key) => key.id))
  const kept = new Set(after.keys.map((key) => key.id))
  return [
    {
      sql: `update domain set ${domainRows.assignments(changeableMembers)}, revision = revision + 1
            where id = :id and removed_at is null and revision = :revision`,
      params: domainRows.params(columnsOf({ ...after, revision: before.revision })),
      expect: 1,
    },
    ...before.keys
      .filter((key) => !kept.has(key.id))
      .map((key) => ({ sql: 'delete from dkim_key where id = :id', params: { id: key.id } })),
    ...after.keys.map((key) => (known.has(key.id) ? updateKey(key) : insertKey(after, key, sealedKeys))),
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

const keepRecord = (id: string, kind: RecordKind, { status, reason, found, checkedAt }: RecordState): Statement => ({
  sql: `insert into domain_record (domain_id, kind, status, reason, found, checked_at)
        values (:id, :kind, :status, :reason, :found, :checkedAt)
        on conflict (domain_id, kind) do update
        set status = excluded.status, reason = excluded.reason, found = excluded.found, checked_at = excluded.checked_at`,
  params: { id, kind, status, reason, found, checkedAt },
})

/** Stops using a domain; its row and keys stay for the mail that was accepted from it. */
export const removeDomain = (id: string, now: number): Statement => ({
  sql: `update domain set removed_at = :now, removed_name = name, name = id, revision = revision + 1
         where id = :id and removed_at is null`,
  params: { id, now },
  expect: 1,
})

/** The removed domains that mail still waits for. Reads the whole queue. */
export const neededDomains = `
  select distinct m.domain_id as id
    from recipient r join message m on m.id = r.message_id join domain d on d.id = m.domain_id
   where r.due_at is not null and d.removed_at is not null`

/** Forgets a removed domain and its keys for ever. */
export const forgetDomain = (id: string): Statement[] => [
  ...forgetUse(id),
  ...[
    'delete from dkim_key where domain_id = :id',
    'delete from domain_record where domain_id = :id',
    'delete from domain where id = :id and removed_at is not null',
  ].map((sql) => ({ sql, params: { id } })),
]

interface RecordRow extends Row {
  domain_id: string
  kind: RecordKind
  status: RecordStatus
  reason: RecordReason | null
  found: string | null
  checked_at: number
}

/** One domain, or all of them, oldest first; including removed ones. */
export async function readDomains(db: Database, id: string | null): Promise<StoredDomain[]> {
  const [where, ofDomain] = id === null ? ['', ''] : ['where id = :id', 'where domain_id = :id']
  const [domains, keys, records] = await Promise.all([
    db.read(`select ${domainRows.columns} from domain ${where} order by id`, { id }),
    db.read(`select ${keyRows.columns} from dkim_key ${ofDomain}`, { id }),
    db.read<RecordRow>(`select domain_id, kind, status, reason, found, checked_at from domain_record ${ofDomain}`, { id }),
  ])
  const keysOf = Map.groupBy(keys.map(keyRows.read), (key) => key.domainId)
  const recordsOf = Map.groupBy(records, (record) => record.domain_id)
  return domains.map(domainRows.read).map((row) => storedDomainOf(row, keysOf.get(row.id) ?? [], recordsOf.get(row.id) ?? []))
}

type StoredKey = ReturnType<typeof keyRows.read>

function storedDomainOf(row: DomainColumns, storedKeys: StoredKey[], records: RecordRow[]): StoredDomain {
  const { appLinks, removedName, ...kept } = row
  const sealedKeys = new Map<string, Uint8Array>()
  const keys = storedKeys.map((stored): DomainKey => {
    const { domainId: _, privateKey, ...key } = stored
    sealedKeys.set(key.id, privateKey as Uint8Array)
    return key
  })
  const domain: Domain = {
    ...kept,
    name: removedName ?? kept.name,
    appLinks: JSON.parse(appLinks ?? '{}') as Record<string, string>,
    keys: inKeyOrder(keys),
    records: Object.fromEntries(
      records.map(({ kind, checked_at: checkedAt, status, reason, found }) => [kind, { status, reason, found, checkedAt }]),
    ),
  }
  return { domain, sealedKeys }
}
