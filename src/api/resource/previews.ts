import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto'
import type { BaseServices } from '../../platform/base-services.ts'
import { newId } from '../../platform/id.ts'
import type { Statement, Value } from '../../platform/store/database.ts'
import { digestOf } from '../../senders/account/api-key-token.ts'
import { randomToken } from '../../senders/account/link-token.ts'

/** HTML that somebody is about to look at. */
export interface Preview {
  /** UTF-8 */
  html: Uint8Array
  /** Whether it may load pictures from the web. */
  pictures: boolean
}

interface Room {
  count: number
  bytes: number
}

/** bytes, of one preview */
export const maxPreviewBytes = 5 * 1024 * 1024
const lifetimeMs = 60_000
/** So that nobody pushes out what others are about to see. */
const roomOfHolder: Room = { count: 20, bytes: 16 * 1024 * 1024 }
const roomOfAll: Room = { count: 1000, bytes: 64 * 1024 * 1024 }

/**
 * Previews that nobody has fetched yet: rows, because any node may be asked for them. Each can be fetched once, and the oldest make room for
 * new ones. What is stored can be read only with the token that is in the link.
 */
export class Previews {
  readonly #services: Pick<BaseServices, 'db' | 'clock'>

  constructor(services: Pick<BaseServices, 'db' | 'clock'>) {
    this.#services = services
  }

  /** Keeps it for a minute. `holderId` is the user or the key that it is for. */
  async add(holderId: string, { html, pictures }: Preview): Promise<{ token: string; expiresAt: number }> {
    const { db, clock } = this.#services
    const token = randomToken()
    const now = clock.now()
    const expiresAt = now + lifetimeMs
    const row = { id: newId('prv', now), digest: digestOf(token), holderId, size: html.length, pictures: Number(pictures), expiresAt }
    await db.write([
      overAt(now),
      {
        sql: `insert into preview (id, digest, holder_id, size, pictures, expires_at, html)
              values (:id, :digest, :holderId, :size, :pictures, :expiresAt, :html)`,
        params: { ...row, html: sealed(html, token) },
      },
      makeRoom('holder_id = :holderId', roomOfHolder, { holderId }),
      makeRoom('1 = 1', roomOfAll),
    ])
    return { token, expiresAt }
  }

  /** Gives it away; undefined if there is none, or none any more. */
  async take(token: string): Promise<Preview | undefined> {
    const { db, clock } = this.#services
    const digest = digestOf(token)
    // Strangers who guess write nothing.
    if ((await db.read('select id from preview where digest = :digest', { digest })).length === 0) return undefined
    const [taken] = await db.write([
      { sql: 'delete from preview where digest = :digest returning html, pictures, expires_at', params: { digest } },
    ])
    const [row] = taken?.rows ?? []
    if (!row || Number(row['expires_at']) <= clock.now()) return undefined
    return { html: opened(row['html'] as Uint8Array, token), pictures: row['pictures'] === 1 }
  }

  /** Removes those that are over. */
  async sweep(): Promise<void> {
    const { db, clock } = this.#services
    const now = clock.now()
    if ((await db.read('select id from preview where expires_at <= :now limit 1', { now })).length > 0) await db.write([overAt(now)])
  }
}

const overAt = (now: number): Statement => ({ sql: 'delete from preview where expires_at <= :now', params: { now } })

/** Removes the oldest that have no room. */
const makeRoom = (those: string, { count, bytes }: Room, params: Record<string, Value> = {}): Statement => ({
  sql: `delete from preview where id in (
          select id from (select id, count(*) over (order by id desc) as place, sum(size) over (order by id desc) as bytes
                            from preview where ${those}) as newest
            where place > :count or bytes > :bytes)`,
  params: { ...params, count, bytes },
})

/** One key for each token, so the nonce may always be the same. */
const nonce = Buffer.alloc(12)
const tagBytes = 16
const keyOf = (token: string): Buffer => createHmac('sha256', Buffer.from(token, 'base64url')).update('preview').digest()

function sealed(html: Uint8Array, token: string): Uint8Array {
  const cipher = createCipheriv('aes-256-gcm', keyOf(token), nonce)
  return Buffer.concat([cipher.update(html), cipher.final(), cipher.getAuthTag()])
}

function opened(bytes: Uint8Array, token: string): Uint8Array {
  const decipher = createDecipheriv('aes-256-gcm', keyOf(token), nonce, { authTagLength: tagBytes }).setAuthTag(bytes.subarray(-tagBytes))
  return Buffer.concat([decipher.update(bytes.subarray(0, -tagBytes)), decipher.final()])
}
