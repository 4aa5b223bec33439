import { unlessConflict, type Database, type Statement } from '../../platform/store/database.ts'
import type { Secrets } from './key-file.ts'

/** A row with its sealed secret. */
type Sealed = {
  kind: 'webhook' | 'dkim_key' | 'totp' | 'ticket_key' | 'certificate' | 'acme' | 'smarthost' | 'smarthost_token'
  id: string
  first: Uint8Array | null
  second: Uint8Array | null
  third: Uint8Array | null
  fourth: Uint8Array | null
}

/** Found in one look, and sealed anew in one batch. */
const pageSize = 500

/** Everything that is sealed with the key file. The context of each is its kind and its id. The first part gives the columns their types. */
const sealedAfter = `
  select 'webhook' as kind, id, secret as first, previous_secret as second, signing_key as third, basic_auth as fourth from webhook
    where id > :after
  union all select 'dkim_key', id, private_key, null, null, null from dkim_key where id > :after
  union all select 'ticket_key', id, key, null, null, null from ticket_key where id > :after
  union all select 'certificate', id, key, null, null, null from certificate where id > :after
  union all select 'acme', authority, account, null, null, null from acme where authority > :after and account is not null
  union all select 'smarthost', id, login, null, null, null from smarthost where id > :after and login is not null
  union all select 'smarthost_token', id, tokens, null, null, null from smarthost_token where id > :after and tokens is not null
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

/**
 * Seals with the key in use whatever an earlier one sealed, in pieces, with room for the commits of others in between. A piece in which somebody
 * else changes a secret meanwhile is read again. What none of the keys opens stays as it is.
 * @param isOver asked before each piece
 * @returns how many rows it has sealed
 */
export async function sealAnew(db: Pick<Database, 'read' | 'write'>, secrets: Secrets, isOver = (): boolean => false): Promise<number> {
  let count = 0
  for (let after: string | null = ''; after !== null && !isOver();) {
    const rows: Sealed[] = await pageAfter(db, after)
    const batch = rows.flatMap((row) => sealingAnew(row, secrets))
    if (batch.length > 0 && (await unlessConflict(db.write(batch))) === false) continue
    count += batch.length
    after = nextAfter(rows)
  }
  return count
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

/** Nothing if the key in use opens all of the row. */
function sealingAnew({ kind, id, first, second, third, fourth }: Sealed, secrets: Secrets): Statement[] {
  const context = `${kind} ${id}`
  const again = (each: Uint8Array | null): Uint8Array | null =>
    each && !secrets.isCurrent(each, context) && opens(secrets, each, context) ? secrets.seal(secrets.open(each, context), context) : each
  const before = { first, second, third, fourth }
  const after = { newFirst: again(first), newSecond: again(second), newThird: again(third), newFourth: again(fourth) }
  const isSame = after.newFirst === first && after.newSecond === second && after.newThird === third && after.newFourth === fourth
  return isSame ? [] : [{ sql: updates[kind], params: { id, ...before, ...after }, expect: 1 }]
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
  smarthost: 'update smarthost set login = :newFirst where id = :id and login = :first',
  smarthost_token: 'update smarthost_token set tokens = :newFirst where id = :id and tokens = :first',
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
  for (let after: string | null = ''; after !== null;) {
    const rows: Sealed[] = await pageAfter(db, after)
    yield* rows
    after = nextAfter(rows)
  }
}

const pageAfter = (db: Pick<Database, 'read'>, after: string): Promise<Sealed[]> => db.read<Sealed>(sealedAfter, { after, limit: pageSize })

/** Null after the last page. */
const nextAfter = (rows: Sealed[]): string | null => (rows.length < pageSize ? null : (rows.at(-1)?.id ?? null))

function opens(secrets: Pick<Secrets, 'open'>, sealed: Uint8Array, context: string): boolean {
  try {
    secrets.open(sealed, context)
    return true
  } catch {
    return false
  }
}
