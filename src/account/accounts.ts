import type { Clock } from '../clock.ts'
import { SternaError } from '../errors.ts'
import { idFloor, isId, newId } from '../id.ts'
import { ConflictError, type Database, type Row, UniqueError } from '../store/database.ts'

export type AccountStatus = 'active' | 'suspended'

/** Who sends: domains, keys, webhooks, suppressions and messages belong to one account. */
export interface Account {
  /** `acc_…` */
  id: string
  /** Unique in the installation. */
  name: string
  /** One of the names of the setting `plans`. */
  plan: string
  /** A suspended account's mail is refused at every door; what is already accepted is still delivered. */
  status: AccountStatus
  /** Epoch, ms. */
  createdAt: number
}

interface AccountRow extends Row {
  id: string
  name: string
  plan: string
  status: AccountStatus
  created_at: number
}

/**
 * The accounts, all of them in memory: one process holds the data directory, every request asks for its account, and
 * an installation has at most thousands. Call `load()` once before anything else.
 */
export class Accounts {
  readonly #db: Database
  readonly #clock: Clock
  readonly #byId = new Map<string, Account>()

  constructor(parts: { db: Database; clock: Clock }) {
    this.#db = parts.db
    this.#clock = parts.clock
  }

  async load(): Promise<void> {
    const rows = await this.#db.read<AccountRow>(`select id, name, plan, status, created_at from account where status in ('active', 'suspended')`)
    this.#byId.clear()
    for (const row of rows) this.#byId.set(row.id, accountOf(row))
  }

  /** The account with this id, from memory. */
  accountFor(id: string): Account | undefined {
    return this.#byId.get(id)
  }

  findAccount(idOrName: string): Account | undefined {
    return this.#byId.get(idOrName) ?? this.list().find((account) => account.name === idOrName)
  }

  /** @throws SternaError `not_found` */
  getAccount(idOrName: string): Account {
    const account = this.findAccount(idOrName)
    if (account) return account
    throw new SternaError('not_found', `There is no account "${idOrName}". Create it with: sterna account create NAME`)
  }

  /** The oldest first. */
  list(): Account[] {
    return [...this.#byId.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1))
  }

  /** @throws SternaError `account_exists`, `validation_error` */
  async create(name: string, plan: string): Promise<Account> {
    checkName(name)
    const now = this.#clock.now()
    const account: Account = { id: newId('acc', now), name, plan, status: 'active', createdAt: now }
    try {
      await this.#db.write([
        {
          sql: `insert into account (id, name, plan, status, created_at) values (:id, :name, :plan, :status, :now)`,
          params: { id: account.id, name, plan, status: account.status, now },
        },
      ])
    } catch (error) {
      if (!(error instanceof UniqueError)) throw error
      throw new SternaError('account_exists', `An account "${name}" exists already.`, { cause: error })
    }
    this.#byId.set(account.id, account)
    return account
  }

  /** @throws SternaError `not_found` */
  async change(idOrName: string, change: { plan?: string | undefined; status?: AccountStatus | undefined }): Promise<Account> {
    const account = this.getAccount(idOrName)
    const { plan = account.plan, status = account.status } = change
    const { id } = account
    await this.#db.write([
      { sql: 'update account set plan = :plan, status = :status where id = :id', params: { id, plan, status }, expect: 1 },
    ])
    const changed = { ...account, plan, status }
    // Accounts are replaced, never changed in place: a caller that holds one sees one moment.
    this.#byId.set(id, changed)
    return changed
  }

  /**
   * Ends an account that sends no more: its name is free again, its row stays because messages and events tell of it.
   * @throws SternaError `not_found`, `invalid_state` where mail of the account that came after `since` (epoch, ms) is
   * queued
   */
  async remove(idOrName: string, since: number): Promise<void> {
    const { id } = this.getAccount(idOrName)
    try {
      await this.#db.write([
        {
          sql: `update account set status = 'deleted', name = id
                 where id = :id and not exists (
                   select 1 from message m join recipient r on r.message_id = m.id
                    where m.account_id = :id and m.id >= :since and r.due_at is not null)`,
          params: { id, since: idFloor('em', since) },
          expect: 1,
        },
      ])
    } catch (error) {
      if (error instanceof ConflictError) throw queuedMail(error)
      throw error
    }
    this.#byId.delete(id)
  }

  /**
   * Demands that none of the account's mail waits to be sent.
   * @throws SternaError `invalid_state`
   */
  async checkQueue(id: string): Promise<void> {
    const queued = await this.#db.report(
      `select m.id from message m join recipient r on r.message_id = m.id
        where m.account_id = :id and r.due_at is not null limit 1`,
      { id },
    )
    if (queued.length > 0) throw queuedMail()
  }
}

const queuedMail = (cause?: unknown): SternaError =>
  new SternaError('invalid_state', 'This account has queued mail. Wait until it is delivered, or cancel it.', { cause })

const accountOf = (row: AccountRow): Account => ({
  id: row.id,
  name: row.name,
  plan: row.plan,
  status: row.status,
  createdAt: row.created_at,
})

function checkName(name: string): void {
  const isUsable = name.length > 0 && name.length <= 100 && name === name.trim() && !/\p{Cc}/u.test(name)
  // Wherever a name is taken an id is taken too, so the two must not be confused.
  if (isUsable && !isId('acc', name)) return
  throw new SternaError(
    'validation_error',
    'An account name has 1 to 100 characters, no space at either end and no control character, and is not an account id.',
  )
}
