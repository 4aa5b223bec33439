import type { Database, Row, Statement } from '../store/database.ts'
import type { Sealer } from './sealer.ts'

/** Both in PEM. */
export interface CertificatePair {
  /** The chain. */
  cert: string
  key: string
}

interface KeptCertificate {
  id: string
  authority: string
  name: string
}

export interface CertificateRow extends Row {
  id: string
  name: string
  chain: string
  key: Uint8Array
}

export const selfSigned = { id: 'self-signed', authority: '' }
export const issuedId = (authority: string, name: string): string => `${authority} ${name}`

/** Those of an authority, or the one with this id. */
export const certificateRows = (db: Pick<Database, 'read'>, { authority, id = null }: { authority: string; id?: string | null }) =>
  db.read<CertificateRow>(
    'select id, name, chain, key from certificate where authority = :authority and id = coalesce(:id, id) order by id',
    { authority, id },
  )

/** @throws if the key was sealed with another key file */
export const openRow = ({ id, chain, key }: CertificateRow, sealer: Pick<Sealer, 'open'>): CertificatePair => ({
  cert: chain,
  key: Buffer.from(sealer.open(key, contextOf(id))).toString(),
})

/** The chain alone, which is no secret; null if there is none. */
export async function keptChain(db: Pick<Database, 'read'>, id: string): Promise<string | null> {
  const [row] = await db.read<{ chain: string }>('select chain from certificate where id = :id', { id })
  return row?.chain ?? null
}

/**
 * Keeps a certificate in place of the one before. Changes no row if that is not the one before any more.
 * @param before its chain; null: whichever it is
 */
export const keepCertificate = (
  kept: KeptCertificate,
  { cert, key, now, before = null }: CertificatePair & { now: number; before?: string | null },
  sealer: Pick<Sealer, 'seal'>,
): Statement => ({
  sql: `insert into certificate (id, authority, name, chain, key, made_at) values (:id, :authority, :name, :chain, :key, :now)
    on conflict (id) do update set name = excluded.name, chain = excluded.chain, key = excluded.key, made_at = excluded.made_at
     where certificate.chain = coalesce(:before, certificate.chain)`,
  params: { ...kept, chain: cert, key: sealer.seal(Buffer.from(key), contextOf(kept.id)), now, before },
})

export const forgetCertificate = (id: string): Statement => ({ sql: 'delete from certificate where id = :id', params: { id } })

const contextOf = (id: string): string => `certificate ${id}`
