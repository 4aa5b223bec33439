import { randomBytes } from 'node:crypto'
import type { SecureContext } from 'node:tls'
import type { Clock } from '../clock.ts'
import { newId } from '../id.ts'
import type { Database, Statement } from '../store/database.ts'
import type { Sealer } from './sealer.ts'

interface TicketKeysServices {
  db: Pick<Database, 'read' | 'write'>
  clock: Clock
}

interface TicketKey {
  /** In the tickets, in the clear. */
  name: Buffer
  hmac: Buffer
  /** AES-128. */
  aes: Buffer
}

type Row = { id: string; key: Uint8Array; made_at: number }

/** The part of Node's own context that Node's documentation leaves out: `setTicketKeys` knows only one key. */
interface NativeContext {
  enableTicketKeyCallback(): void
  /** `how`: 0 the key is unknown, 1 encrypt, 2 decrypt, and send a new ticket. */
  onticketkeycallback(
    name: Buffer,
    iv: Buffer,
    isEncrypting: boolean,
  ): [how: 0 | 1 | 2, hmac: Buffer, aes: Buffer, name?: Buffer, iv?: Buffer]
}

const dayMs = 24 * 60 * 60_000
const partBytes = 16

/** For all contexts whose sessions may be resumed in one another. */
export const sessionIdContext = 'sterna'

/**
 * The keys of the tickets with which clients resume TLS sessions (RFC 5077 4): a new one each day, which is good for two. They are in the
 * database, so tickets outlive restarts and certificates; and they are erased, so that whoever has the database later cannot decrypt what
 * was recorded before.
 */
export class TicketKeys {
  readonly #services: TicketKeysServices
  readonly #sealer: Sealer
  /** Newest first. Until they are read, a key of this process. */
  #keys: [TicketKey, ...TicketKey[]] = [keyOf(randomBytes(3 * partBytes))]
  readonly #prepared = new WeakSet<SecureContext>()

  constructor(services: TicketKeysServices, sealer: Sealer) {
    this.#services = services
    this.#sealer = sealer
  }

  /** Reads the keys that are good now; makes a new one and erases old ones when it is time. */
  async look(): Promise<void> {
    const now = this.#services.clock.now()
    let rows = await this.#rows()
    const gone = rows.filter(({ id, key, made_at: madeAt }) => Math.abs(now - madeAt) >= 2 * dayMs || !this.#open(id, key))
    const kept = rows.filter((row) => !gone.includes(row))
    if (gone.length > 0 || now - (kept[0]?.made_at ?? -Infinity) >= dayMs) {
      await this.#services.db.write([...gone.map(erased), this.#newKey(now)])
      rows = await this.#rows()
    }
    const [newest, ...earlier] = rows.map(({ id, key }) => this.#open(id, key)).filter((key) => key !== null)
    if (newest) this.#keys = [newest, ...earlier]
  }

  /** Has a context use the keys, whatever they are at the time. */
  prepare(context: SecureContext): void {
    if (this.#prepared.has(context)) return
    this.#prepared.add(context)
    const native = context.context as NativeContext
    native.enableTicketKeyCallback()
    native.onticketkeycallback = (name, _, isEncrypting) => {
      const [newest] = this.#keys
      if (isEncrypting) return [1, newest.hmac, newest.aes, newest.name, randomBytes(partBytes)]
      const key = this.#keys.find((each) => each.name.equals(name))
      return key ? [2, key.hmac, key.aes] : [0, newest.hmac, newest.aes]
    }
  }

  #rows(): Promise<Row[]> {
    return this.#services.db.read<Row>('select id, key, made_at from ticket_key order by made_at desc, id')
  }

  #open(id: string, sealed: Uint8Array): TicketKey | null {
    try {
      return keyOf(this.#sealer.open(sealed, contextOf(id)))
    } catch {
      return null
    }
  }

  /** Unless another process has made one. */
  #newKey(now: number): Statement {
    const id = newId('tik', now)
    const key = this.#sealer.seal(randomBytes(3 * partBytes), contextOf(id))
    return {
      sql: `insert into ticket_key (id, key, made_at)
        select :id, :key, :now where not exists (select 1 from ticket_key where made_at > :since)`,
      params: { id, key, now, since: now - dayMs },
    }
  }
}

const erased = ({ id }: Row): Statement => ({ sql: 'delete from ticket_key where id = :id', params: { id } })

const contextOf = (id: string): string => `ticket_key ${id}`

const keyOf = (bytes: Uint8Array): TicketKey => {
  const part = (n: number): Buffer => Buffer.from(bytes.subarray(n * partBytes, (n + 1) * partBytes))
  return { name: part(0), hmac: part(1), aes: part(2) }
}
