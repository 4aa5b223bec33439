import { scopeParams, type AccountScope } from '../account/account-scope.ts'
import type { Clock } from '../clock.ts'
import { isId } from '../id.ts'
import { parseAddress } from '../smtp/address.ts'
import type { Database, Row, Statement, Value } from '../store/database.ts'
import { pageClause, type Page } from '../store/page-clause.ts'
import type { ErasedAddress } from './erased-address.ts'
import { ensureSuppression } from './insert-suppression.ts'
import { listedForms } from './listed-form.ts'
import { suppressionAddress } from './suppression-address.ts'
import type { SuppressionOrigin } from './suppression-origin.ts'

export interface SuppressionRow extends Row {
  id: string
  address: string
  origin: SuppressionOrigin
  /** For origin `unsubscribe`; '' if the mail had none. */
  topic: string
  /** Message id. */
  source_id: string | null
  reason: string | null
  created_at: number
  /** Null: does not expire. */
  expires_at: number | null
}

/**
 * The suppression list as its owner sees and changes it. An address may have several entries, by origin and topic: reading or removing by
 * address applies to all of them.
 */
export class SuppressionEntries {
  readonly #db: Database
  readonly #clock: Clock
  readonly #erasedAddress: ErasedAddress

  constructor({ db, clock, erasedAddress }: { db: Database; clock: Clock; erasedAddress: ErasedAddress }) {
    this.#db = db
    this.#clock = clock
    this.#erasedAddress = erasedAddress
  }

  /** Adds manual entries; returns their ids in the same order. Existing ones stay. */
  async add(scope: AccountScope, addresses: string[], reason: string | null): Promise<string[]> {
    const createdAt = this.#clock.now()
    const formOf = await listedForms(this.#db, this.#asked(scope), addresses)
    const entries = addresses.map((address) =>
      ensureSuppression(scope, { address: formOf(address), origin: 'manual', sourceId: null, reason, createdAt }),
    )
    const written = await this.#db.write(entries)
    return written.map(({ rows }) => String(rows[0]?.id))
  }

  /** The entry with this id, or the most important one for this address. */
  async find(scope: AccountScope, idOrAddress: string): Promise<SuppressionRow | undefined> {
    const { condition, params } = named(this.#asked(scope), idOrAddress)
    const rows = await this.#db.slowRead<SuppressionRow>(
      `select id, address, origin, topic, source_id, reason, created_at, expires_at from suppression
        where account_id = :accountId and sandbox = :sandbox and (expires_at is null or expires_at > :now) and ${condition} order by id`,
      { ...scopeParams(scope), ...params, now: this.#clock.now() },
    )
    return foremost(rows)
  }

  /** Removes the entry with this id, or all of this address; returns the id of the one that `find` returns, if any. */
  async remove(scope: AccountScope, idOrAddress: string): Promise<string | undefined> {
    const [written] = await this.#db.write([removal(this.#asked(scope), idOrAddress)])
    return foremost((written?.rows ?? []) as SuppressionRow[])?.id
  }

  /** Like `remove` for each of them, in one batch. Returns the ids of removed entries. */
  async removeAll(scope: AccountScope, idsOrAddresses: string[]): Promise<string[]> {
    const written = await this.#db.write(idsOrAddresses.map((each) => removal(this.#asked(scope), each)))
    return written.flatMap(({ rows }) => rows.map(({ id }) => String(id)))
  }

  /** A page, newest first, for `listBody`. Uses the index suppression_listed. */
  page(scope: AccountScope, origin: SuppressionOrigin | null, page: Page): Promise<SuppressionRow[]> {
    const { condition, order, params } = pageClause(page)
    const ofOrigin = origin === null ? '' : 'and origin = :origin'
    return this.#db.slowRead<SuppressionRow>(
      `select id, address, origin, topic, source_id, reason, created_at, expires_at from suppression
        where account_id = :accountId and sandbox = :sandbox and (expires_at is null or expires_at > :now) ${ofOrigin} and ${condition} ${order}`,
      { ...scopeParams(scope), now: this.#clock.now(), origin, ...params },
    )
  }

  #asked({ accountId, sandbox }: AccountScope): Asked {
    return { accountId, sandbox, erasedAddress: this.#erasedAddress }
  }
}

type Asked = AccountScope & { erasedAddress: ErasedAddress }

/** Both use an index: the primary key, or the unique index that begins with account and address. */
function named({ erasedAddress }: Asked, idOrAddress: string): { condition: string; params: Record<string, Value> } {
  if (isId('sup', idOrAddress)) return { condition: 'id = :name', params: { name: idOrAddress } }
  const parsed = parseAddress(idOrAddress)
  const name = suppressionAddress(parsed.ok ? parsed.address : idOrAddress)
  return { condition: 'address in (:name, :erased)', params: { name, erased: erasedAddress(name) } }
}

function removal(scope: Asked, idOrAddress: string): Statement {
  const { condition, params } = named(scope, idOrAddress)
  return {
    sql: `delete from suppression where account_id = :accountId and sandbox = :sandbox and ${condition} returning id, origin`,
    params: { ...scopeParams(scope), ...params },
  }
}

/** The newest entry that stops all mail, else the newest. */
function foremost<R extends Pick<SuppressionRow, 'id' | 'origin'>>(rows: R[]): R | undefined {
  const sorted = rows.toSorted((a, b) => (a.id < b.id ? 1 : -1))
  return sorted.find(({ origin }) => origin !== 'unsubscribe') ?? sorted[0]
}
