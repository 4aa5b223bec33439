import type { Database, Statement } from '../store/database.ts'
import { hasten, readAttempts, type AttemptState } from './attempt-state.ts'
import type { Sealer } from './sealer.ts'

/** Our account at an authority. */
export interface StoredAccount {
  /** The directory of its authority. */
  directory: string
  /** Null until the authority has made it. */
  url: string | null
  /** PEM */
  key: string
  /** Epoch, ms. */
  madeAt: number
}

interface StateServices {
  db: Pick<Database, 'read' | 'write'>
  secrets: Sealer
}

/** What is kept of one authority: our account there, and what limits the attempts. One node at a time changes it. */
export class AcmeState {
  readonly #services: StateServices
  /** Its host. */
  readonly authority: string

  constructor(services: StateServices, authority: string) {
    this.#services = services
    this.authority = authority
  }

  /** Null if there is none, or it cannot be read. */
  async account(): Promise<StoredAccount | null> {
    const [row] = await this.#services.db.read<{ account: Uint8Array | null }>('select account from acme where authority = :authority', {
      authority: this.authority,
    })
    try {
      if (!row?.account) return null
      return JSON.parse(Buffer.from(this.#services.secrets.open(row.account, contextOf(this.authority))).toString()) as StoredAccount
    } catch {
      return null
    }
  }

  async keepAccount(account: StoredAccount): Promise<void> {
    await this.#services.db.write([this.accountStatement(account)])
  }

  accountStatement(account: StoredAccount): Statement {
    const sealed = this.#services.secrets.seal(Buffer.from(JSON.stringify(account)), contextOf(this.authority))
    return {
      sql: `insert into acme (authority, account) values (:authority, :account)
        on conflict (authority) do update set account = excluded.account`,
      params: { authority: this.authority, account: sealed },
    }
  }

  attempts(): Promise<AttemptState> {
    return keptAttempts(this.#services.db, this.authority)
  }

  async keepAttempts(attempts: AttemptState): Promise<void> {
    await this.#services.db.write([this.attemptsStatement(JSON.stringify(attempts))])
  }

  attemptsStatement(attempts: string): Statement {
    return {
      sql: `insert into acme (authority, attempts) values (:authority, :attempts)
        on conflict (authority) do update set attempts = excluded.attempts`,
      params: { authority: this.authority, attempts },
    }
  }

  /** Has what failed tried again soon, unless the node that orders is at it. */
  async hasten(): Promise<void> {
    const [row] = await this.#services.db.read<{ attempts: string }>(selectAttempts, { authority: this.authority })
    if (!row) return
    const attempts = JSON.stringify(hasten(readAttempts(row.attempts)))
    const params = { authority: this.authority, before: row.attempts, attempts }
    await this.#services.db.write([
      { sql: 'update acme set attempts = :attempts where authority = :authority and attempts = :before', params },
    ])
  }

  async isKept(): Promise<boolean> {
    const rows = await this.#services.db.read('select authority from acme where authority = :authority', { authority: this.authority })
    return rows.length > 0
  }
}

export async function keptAttempts(db: Pick<Database, 'read'>, authority: string): Promise<AttemptState> {
  const [row] = await db.read<{ attempts: string }>(selectAttempts, { authority })
  return readAttempts(row?.attempts ?? null)
}

const selectAttempts = 'select attempts from acme where authority = :authority'

const contextOf = (authority: string): string => `acme ${authority}`
