import type { Database, Statement } from '../store/database.ts'
import type { Secrets } from './key-file.ts'

/** A row with its sealed secret. */
type Sealed = {
  kind: string
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
  union all select 'totp', id, totp_secret, totp_pending, null, null from account_user
    where id > :after and (totp_secret is not null or totp_pending is not null)
  order by id limit :limit`

/** Identifies the key that this database belongs to; null in a new database, and in one from before this was recorded. */
export async function knownFingerprint(db: Pick<Database, 'read'>): Promise<string | null> {
  const [row] = await db.read<{ fingerprint: string }>('select fingerprint from secret_key')
  return row?.fingerprint ?? null
}

export const noteFingerprint = (fingerprint: string): Statement => ({
  sql: 'insert into secret_key (fingerprint) values (:fingerprint)',
  params: { fingerprint },
})

/** How many of the stored secrets can be decrypted, and how many cannot. */
export async function tryToOpen(
  db: Pick<Database, 'read'>,
  secrets: Pick<Secrets, 'open'> | null,
): Promise<{ opened: number; shut: number }> {
  const count = { opened: 0, shut: 0 }
  for (let after = ''; ;) {
    const rows = await db.read<Sealed>(sealedAfter, { after, limit: pageSize })
    for (const { kind, id, first, second, third, fourth } of rows) {
      for (const each of [first, second, third, fourth])
        if (each) count[secrets && opens(secrets, each, `${kind} ${id}`) ? 'opened' : 'shut']++
    }
    if (rows.length < pageSize) return count
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
