import { scopeParams, type AccountScope } from '../../senders/account/account-scope.ts'
import type { Clock } from '../../platform/clock.ts'
import { isId } from '../../platform/id.ts'
import type { Database, Statement, Value } from '../../platform/store/database.ts'
import { pageClause, type Page } from '../../platform/store/page-clause.ts'
import { erasedNames, type ErasedAddress } from './erased-address.ts'
import { ensureSuppression } from './insert-suppression.ts'
import { parseSuppressed, suppressionAddress } from './suppression-address.ts'
import { entriesThatStop, listedForms, suppressionColumns, type AddressedMail, type SuppressionRow } from './suppression-list.ts'
import { suppressionOrigins, type SuppressionOrigin } from './suppression-origin.ts'

/** Which entries; what is left out says nothing. */
export interface SuppressionFilter {
  origins?: readonly SuppressionOrigin[] | undefined
  /** Of unsubscriptions. */
  topic?: string | undefined
  address?: string | undefined
  /** What the address begins with. Erased addresses are only found as a whole. */
  begins?: string | undefined
  /** Created at or after; epoch, ms. */
  since?: number | null
  /** Created before; epoch, ms. */
  until?: number | null
}

/** What an entry says beside its address. */
interface AddedEntry {
  reason: string | null
  origin?: SuppressionOrigin
  /** For origin `unsubscribe`. */
  topic?: string
}

/** Entries of one page, where all are read. */
const readAtOnce = 1000
/** Entries that are removed in one batch. */
const removedAtOnce = 500

/**
 * The suppression list as its owner sees and changes it. An address may have several entries, by origin and topic: reading or removing by
 * address applies to all of them.
 */
export class SuppressionEntries {
  readonly #db: Database
  readonly #clock: Clock
  readonly #erasedAddress: ErasedAddress
  readonly #listed: string

  /** @param addressesOnly whether lists leave out whole domains */
  constructor({ db, clock, erasedAddress }: { db: Database; clock: Clock; erasedAddress: ErasedAddress }, { addressesOnly = false } = {}) {
    this.#listed = addressesOnly ? "and address not like '@%'" : ''
    this.#db = db
    this.#clock = clock
    this.#erasedAddress = erasedAddress
  }

  /** Adds entries, manual ones if not said otherwise; returns their ids in the same order. Existing ones stay. */
  async add(scope: AccountScope, addresses: string[], { reason, origin = 'manual', topic = '' }: AddedEntry): Promise<string[]> {
    const createdAt = this.#clock.now()
    const formOf = await listedForms(this.#db, this.#query(scope), addresses)
    const entries = addresses.map((address) =>
      ensureSuppression(scope, { address: formOf(address), origin, topic, sourceId: null, reason, createdAt }),
    )
    const written = await this.#db.write(entries)
    return written.map(({ rows }) => String(rows[0]?.id))
  }

  /** The entry with this id, or the most important one for this address. */
  async find(scope: AccountScope, idOrAddress: string): Promise<SuppressionRow | undefined> {
    const { condition, params } = named(this.#query(scope), idOrAddress)
    const rows = await this.#db.slowRead<SuppressionRow>(
      `select ${suppressionColumns} from suppression
        where account_id = :accountId and sandbox = :sandbox and (expires_at is null or expires_at > :now) and ${condition} order by id`,
      { ...scopeParams(scope), ...params, now: this.#clock.now() },
    )
    return foremost(rows)
  }

  /** The entry that stops each of these mails, by address. */
  stopping(scope: AccountScope, mail: AddressedMail): Promise<Map<string, SuppressionRow>> {
    return entriesThatStop(this.#db, { ...this.#query(scope), now: this.#clock.now() }, mail)
  }

  /** Removes the entry with this id, or all of this address; returns the id of the one that `find` returns, if any. */
  async remove(scope: AccountScope, idOrAddress: string): Promise<string | undefined> {
    const [written] = await this.#db.write([removal(this.#query(scope), idOrAddress)])
    return foremost((written?.rows ?? []) as SuppressionRow[])?.id
  }

  /** Like `remove` for each of them, in one batch. Returns the ids of removed entries. */
  async removeAll(scope: AccountScope, idsOrAddresses: string[]): Promise<string[]> {
    const written = await this.#db.write(idsOrAddresses.map((each) => removal(this.#query(scope), each)))
    return written.flatMap(({ rows }) => rows.map(({ id }) => String(id)))
  }

  /** A page, newest first, for `listBody`. Uses the index suppression_listed, or by address the unique one. */
  page(scope: AccountScope, filter: SuppressionFilter, page: Page): Promise<SuppressionRow[]> {
    const { condition, order, params } = pageClause(page)
    const wanted = conditionOf(this.#query(scope), filter)
    return this.#db.slowRead<SuppressionRow>(
      `select ${suppressionColumns} from suppression
        where account_id = :accountId and sandbox = :sandbox and (expires_at is null or expires_at > :now) ${this.#listed}
          ${wanted.sql} and ${condition} ${order}`,
      { ...scopeParams(scope), now: this.#clock.now(), ...wanted.params, ...params },
    )
  }

  /** All that the filter finds, newest first, read in pages. */
  async *all(scope: AccountScope, filter: SuppressionFilter): AsyncGenerator<SuppressionRow> {
    for (let after: string | null = null; ;) {
      const rows: SuppressionRow[] = await this.page(scope, filter, { limit: readAtOnce, after, before: null })
      yield* rows.slice(0, readAtOnce)
      if (rows.length <= readAtOnce) return
      after = rows[readAtOnce - 1]?.id ?? null
    }
  }

  /** Removes all that the filter finds; returns how many. */
  async removeFound(scope: AccountScope, filter: SuppressionFilter): Promise<number> {
    for (let count = 0; ;) {
      const rows = await this.page(scope, filter, { limit: removedAtOnce, after: null, before: null })
      if (rows.length === 0) return count
      const ids = await this.removeAll(
        scope,
        rows.map(({ id }) => id),
      )
      count += ids.length
    }
  }

  #query({ accountId, sandbox }: AccountScope): ScopedQuery {
    return { accountId, sandbox, erasedAddress: this.#erasedAddress }
  }
}

type ScopedQuery = AccountScope & { erasedAddress: ErasedAddress }

/** Both use an index: the primary key, or the unique index that begins with account and address. */
function named({ erasedAddress }: ScopedQuery, idOrAddress: string): { condition: string; params: Record<string, Value> } {
  if (isId('sup', idOrAddress)) return { condition: 'id = :name', params: { name: idOrAddress } }
  const parsed = parseSuppressed(idOrAddress)
  const name = suppressionAddress(parsed.ok ? parsed.address : idOrAddress)
  const { names, params } = erasedNames(erasedAddress, name)
  return { condition: `address in (:name, ${names})`, params: { name, ...params } }
}

function conditionOf(query: ScopedQuery, { origins, topic, address, begins, since = null, until = null }: SuppressionFilter) {
  const { condition, params: names } = address === undefined ? { condition: null, params: {} } : named(query, address)
  const kinds = suppressionOrigins.filter((origin) => origins?.includes(origin))
  const conditions = [
    // PostgreSQL takes no empty list.
    ...(origins === undefined ? [] : [`origin in (${kinds.map((origin) => `'${origin}'`).join(', ') || 'null'})`]),
    ...(topic === undefined ? [] : [`(origin <> 'unsubscribe' or topic = :topic)`]),
    ...(condition === null ? [] : [condition]),
    // Nothing but the two bounds, so that the index by address is used; no address has a character beyond.
    ...(begins === undefined ? [] : ['address >= :begins and address < :beyond']),
    ...(since === null ? [] : ['created_at >= :since']),
    ...(until === null ? [] : ['created_at < :until']),
  ]
  const bounds = begins === undefined ? {} : { begins: suppressionAddress(begins), beyond: `${suppressionAddress(begins)}\u{10ffff}` }
  return { sql: conditions.map((one) => ` and ${one}`).join(''), params: { ...names, ...bounds, topic: topic ?? null, since, until } }
}

function removal(scope: ScopedQuery, idOrAddress: string): Statement {
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
