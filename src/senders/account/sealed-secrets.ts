import { unlessConflict, type Database, type Statement } from '../../platform/store/database.ts'
import type { Secrets } from './key-file.ts'

/** A row with its sealed secret. */
type Sealed = {
  kind: 'webhook' | 'dkim_key' | 'totp' | 'ticket_key' | 'certificate' | 'acme'
  id: string
  first: Uint8Array | null
  second: Uint8Array | null
  third: Uint8Array | null
  fourth: Uint8Array | null
}

/** Found in one look. */
const pageSize = 500

/** Everything that is sealed with the key file. The context of each is its kind and its id. The first part gives the columns their types. */
const sealedAfter = `
  select 'webhook' as kind, id, secret as first, previous_secret as second, signing_key as third, basic_auth as fourth from webhook
    where id > :after
  union all select 'dkim_key', id, private_key, null, null, null from dkim_key where id > :after
  union all select 'ticket_key', id, key, null, null, null from ticket_key where id > :after
  union all select 'certificate', id, key, null, null, null from certificate where id > :after
  union all select 'acme', authority, account, null, null, null from acme where authority > :after and account is not null
  union all select 'totp', id, totp_secret, totp_pending, null, null from account_user
    where id > :after and (totp_secret is not null or totp_pending is not null)
  order by id limit :limit`

/** Identifies the key that this database belongs to; null in a new database, and in one from before this was recorded. */
export async function knownFingerprint(db: Pick<Database, 'read'>): Promise<string | null> {
  const [row] = await db.read<{ fingerprint: string }>('select fingerprint from secret_key')
  return row?.fingerprint ?? null
}

/** Changes nothing if somebody else has noted one. */
export const noteFingerprint = (fingerprint: string): Statement => ({
  sql: 'insert into secret_key (fingerprint) values (:fingerprint) on conflict do nothing',
  params: { fingerprint },
})

/** Seals all stored secrets with the key in use. If somebody else changes one meanwhile, all are read again. */
export async function sealAnew(db: Pick<Database, 'read' | 'write'>, secrets: Secrets): Promise<void> {
  while ((await unlessConflict(db.write(await sealingAnew(db, secrets)))) === false);
}

/** What nodes tell each other when another key is in use. */
export const keyChange = 'secret_key'

/** Refused if another key is in use than was, or if a node lacks this one. */
export const useKey = (fingerprint: string, { before }: { before: string }): Statement => ({
  sql: `update secret_key set fingerprint = :fingerprint
         where fingerprint = :before and not exists (select 1 from node where beat >= 0 and newest_key is distinct from :fingerprint)`,
  params: { fingerprint, before },
  expect: 1,
})

/** Seals all stored secrets with the key of `secrets` that seals. What none of its keys opens stays as it is. */
export async function sealingAnew(db: Pick<Database, 'read'>, secrets: Secrets): Promise<Statement[]> {
  const batch: Statement[] = []
  for await (const { kind, id, ...sealed } of sealedRows(db)) {
    const again = (each: Uint8Array | null): Uint8Array | null =>
      each && opens(secrets, each, `${kind} ${id}`) ? secrets.seal(secrets.open(each, `${kind} ${id}`), `${kind} ${id}`) : each
    const { first, second, third, fourth } = sealed
    batch.push({
      sql: updates[kind],
      params: {
        id,
        first,
        second,
        third,
        fourth,
        newFirst: again(first),
        newSecond: again(second),
        newThird: again(third),
        newFourth: again(fourth),
      },
      expect: 1,
    })
  }
  return batch
}

/** On the condition that they are still what was read. */
const updates = {
  webhook: `update webhook set secret = :newFirst, previous_secret = :newSecond, signing_key = :newThird, basic_auth = :newFourth
             where id = :id and secret = :first and previous_secret is not distinct from :second
               and signing_key is not distinct from :third and basic_auth is not distinct from :fourth`,
  dkim_key: 'update dkim_key set private_key = :newFirst where id = :id and private_key = :first',
  ticket_key: 'update ticket_key set key = :newFirst where id = :id and key = :first',
  certificate: 'update certificate set key = :newFirst where id = :id and key = :first',
  acme: 'update acme set account = :newFirst where authority = :id and account = :first',
  totp: `update account_user set totp_secret = :newFirst, totp_pending = :newSecond
          where id = :id and totp_secret is not distinct from :first and totp_pending is not distinct from :second`,
}

/** How many of the stored secrets can be decrypted, and how many cannot. */
export async function tryToOpen(
  db: Pick<Database, 'read'>,
  secrets: Pick<Secrets, 'open'> | null,
): Promise<{ opened: number; shut: number }> {
  const count = { opened: 0, shut: 0 }
  for await (const { kind, id, first, second, third, fourth } of sealedRows(db)) {
    for (const each of [first, second, third, fourth])
      if (each) count[secrets && opens(secrets, each, `${kind} ${id}`) ? 'opened' : 'shut']++
  }
  return count
}

async function* sealedRows(db: Pick<Database, 'read'>): AsyncGenerator<Sealed> {
  for (let after = ''; ;) {
    const rows = await db.read<Sealed>(sealedAfter, { after, limit: pageSize })
    yield* rows
    if (rows.length < pageSize) return
    after = rows.at(-1)?.id ?? ''
  }
}

function opens(secrets: Pick<Secrets, 'open'>, sealed: Uint8Array, context: string): boolean {
  try {
    secrets.open(sealed, context)
    return true
  } catch {
    return false
  }
}
