import type { BaseServices } from '../../platform/base-services.ts'
import type { Clock } from '../../platform/clock.ts'
import { SternaError } from '../../platform/errors.ts'
import { idFloor, isId, newId } from '../../platform/id.ts'
import { ConflictError, type Database, refusedAs, type Statement, unlessConflict, UniqueError } from '../../platform/store/database.ts'
import { HeldList, heldRows } from '../../platform/store/held-list.ts'
import { storedRows } from '../../platform/store/stored-rows.ts'

/** The database has others, of the server's own account and of removed ones. */
export const accountStatuses = ['active', 'suspended'] as const
export type AccountStatus = (typeof accountStatuses)[number]

/** What is true in SQL of the status of an account that is in use. */
export const inUse = `in (${accountStatuses.map((status) => `'${status}'`).join(', ')})`

/** The sender: every domain, key, webhook, suppression and message belongs to one account. */
export interface Account {
  /** `acc_…` */
  id: string
  /** Unique in the installation. */
  name: string
  /** One of the names of the setting `plans`. */
  plan: string
  /**
   * Mail of a suspended account is refused everywhere, and its scheduled mail is held until the account is active again. Mail that is
   * already queued is still delivered, unless the server suspended it by itself.
   */
  status: AccountStatus
  /** Until when it may send only a little, epoch ms, also once that is over; null: it was not slowed. */
  slowedUntil: number | null
  /** Why the server slowed or suspended it by itself, in a sentence; null if it did neither. */
  harm: string | null
  /** Epoch, ms. */
  createdAt: number
}

/** The fields of an account that can be changed. */
interface AccountChange {
  plan?: string | undefined
  status?: AccountStatus | undefined
}

/** `slowedUntil`: epoch, ms; null suspends it. */
interface Restraint {
  slowedUntil: number | null
  harm: string
}

/** The account as it stands at a time: one that was slowed until then is held to nothing any more. */
export const accountAt = (account: Account, now: number): Account =>
  account.slowedUntil !== null && account.slowedUntil <= now ? { ...account, slowedUntil: null, harm: null } : account

type AccountsServices = Pick<BaseServices, 'db' | 'clock' | 'changes'>

const accountRows = storedRows<Account>('account')(['id', 'name', 'plan', 'status', 'slowedUntil', 'harm', 'createdAt'], [])

/** The accounts, held in memory. */
export class Accounts extends HeldList<Account> {
  readonly #db: Database
  readonly #clock: Clock
  #onResumed: (id: string) => void = () => {}

  constructor({ db, clock, changes }: AccountsServices) {
    const select = `select ${accountRows.columns} from account`
    super({ kind: 'account', changes, fetch: heldRows(db, { select, where: `status ${inUse}`, read: accountRows.read }) })
    this.#db = db
    this.#clock = clock
  }

  /** The account with this id, from memory. */
  accountFor(id: string): Account | undefined {
    return this.held(id)
  }

  isSuspended(id: string): boolean {
    return this.held(id)?.status === 'suspended'
  }

  /** Whether the queued mail of an account is held: the server suspended it because its mail did harm. */
  holdsMail(id: string): boolean {
    const account = this.held(id)
    return account?.status === 'suspended' && account.harm !== null
  }

  /** Calls `listener` with the id of each account that becomes active again. */
  onResumed(listener: (id: string) => void): void {
    this.#onResumed = listener
  }

  findAccount(idOrName: string): Account | undefined {
    return this.held(idOrName) ?? this.list().find((account) => account.name === idOrName)
  }

  /** @throws SternaError `not_found` */
  getAccount(idOrName: string): Account {
    const account = this.findAccount(idOrName)
    if (account) return account
    throw new SternaError('not_found', `There is no account "${idOrName}". Create it with: sterna account create NAME`)
  }

  /** The oldest first. */
  list(): Account[] {
    return this.inOrder()
  }

  /** @throws SternaError `account_exists`, `validation_error` */
  async create(name: string, plan: string): Promise<Account> {
    checkAccountName(name)
    const now = this.#clock.now()
    const account: Account = { id: newId('acc', now), name, plan, status: 'active', slowedUntil: null, harm: null, createdAt: now }
    const exists = (cause: unknown) => new SternaError('account_exists', `An account "${name}" exists already.`, { cause })
    await refusedAs(this.#db.write([accountRows.insert(account), ...this.note(account.id)]), UniqueError, exists)
    return this.keep(account)
  }

  /**
   * Changes what is given; once the promise resolves, a suspended account sends at no node. A given status ends what the server decided by
   * itself, unless the account is suspended already.
   * @throws SternaError `not_found`
   */
  async change(idOrName: string, change: AccountChange): Promise<Account> {
    const { id } = this.getAccount(idOrName)
    const { plan = null, status = null } = change
    await this.#db.write([
      {
        sql: `update account
                 set plan = coalesce(:plan, plan), status = coalesce(:status, status),
                     slowed_until = case when ${staysRestrained} then slowed_until end,
                     harm = case when ${staysRestrained} then harm end
               where id = :id and status ${inUse}`,
        params: { id, plan, status },
        expect: 1,
      },
      // Whoever resumes an account lets it begin anew: what it did is not held against it again.
      ...(status === 'active' ? [{ sql: 'delete from account_harm where account_id = :id', params: { id } }] : []),
      ...this.note(id),
    ])
    const changed = (await this.reload(id)) ?? this.getAccount(id)
    if (status === 'suspended') await this.changes.seenByAll()
    return changed
  }

  /**
   * Slows or suspends an active account because its mail does harm. False if it is no longer as it was read: it was changed meanwhile.
   * @param alsoWrite written only with it
   */
  async restrain({ id, slowedUntil: before }: Account, { slowedUntil, harm }: Restraint, alsoWrite: Statement[]): Promise<boolean> {
    const restrained = {
      sql: `update account set status = :status, slowed_until = :slowedUntil, harm = :harm
             where id = :id and status = 'active' and coalesce(slowed_until, 0) = coalesce(cast(:before as bigint), 0)`,
      params: { id, before, status: slowedUntil === null ? 'suspended' : 'active', slowedUntil, harm },
      expect: 1,
      locks: id,
    }
    if ((await unlessConflict(this.#db.write([restrained, ...alsoWrite, ...this.note(id)]))) === false) return false
    await this.reload(id)
    await this.changes.seenByAll()
    return true
  }

  protected override follow(before: Account | undefined, after: Account | undefined): void {
    if (before?.status === 'suspended' && after?.status === 'active') this.#onResumed(after.id)
  }

  /**
   * Ends an account that no longer sends. Its name becomes free; its row stays because messages and events refer to it.
   * @throws SternaError `not_found`; `invalid_state` if mail that the account submitted after `since` (epoch, ms) is queued
   */
  async remove(idOrName: string, since: number): Promise<void> {
    const { id } = this.getAccount(idOrName)
    const remove = {
      sql: `update account set status = 'deleted', name = id
             where id = :id and not exists (
               select 1 from message m join recipient r on r.message_id = m.id
                where m.account_id = :id and m.id >= :since and r.due_at is not null)`,
      params: { id, since: idFloor('em', since) },
      expect: 1,
      locks: id,
    }
    await refusedAs(this.#db.write([remove, ...this.note(id)]), ConflictError, queuedMail)
    this.drop(id)
    await this.changes.seenByAll()
  }

  /**
   * Checks that none of the account's mail is waiting to be sent.
   * @throws SternaError `invalid_state`
   */
  async checkQueue(id: string): Promise<void> {
    // By the partial indexes recipient_state, recipient_queued and recipient_owned.
    const queued = await this.#db.slowRead(
      `select id from recipient where account_id = :id and state in ('scheduled', 'deferred') and state not in ('queued', 'delivered')
            and due_at is not null
        union all
       select id from recipient where account_id = :id and state = 'queued' and owner is null and due_at is not null
        union all
       select id from recipient where account_id = :id and owner is not null and due_at is not null
        limit 1`,
      { id },
    )
    if (queued.length > 0) throw queuedMail()
  }
}

/** Whether a change leaves what the server decided by itself. */
const staysRestrained = `(:status is null or (:status = 'suspended' and status = 'suspended'))`

const queuedMail = (cause?: unknown): SternaError =>
  new SternaError('invalid_state', 'This account has queued mail. Wait until it is delivered, or cancel it.', { cause })

export function checkAccountName(name: string): void {
  const isUsable = name.length > 0 && name.length <= 100 && name === name.trim() && !/\p{Cc}/u.test(name)
  // Commands accept a name wherever they accept an id, so the two must not be confused.
  if (isUsable && !isId('acc', name)) return
  throw new SternaError(
    'validation_error',
    'An account name must have 1 to 100 characters, no space at either end and no control characters, and must not be an account id.',
  )
}
