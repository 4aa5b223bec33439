import type { Database, Row, Statement } from '../../platform/store/database.ts'
import type { Changes } from '../../platform/store/changes.ts'
import { HeldList } from '../../platform/store/held-list.ts'
import { accountPolicies } from './account-policy.ts'
import type { Accounts } from './accounts.ts'
import type { OwnPolicyValues, Policy, PolicyConfig, PolicyValues } from './policy.ts'

interface PolicyRow extends Row {
  owner_id: string
  field: string
  value: string
}

interface AccountPoliciesServices {
  db: Pick<Database, 'read' | 'write'>
  changes: Changes
  accounts: Pick<Accounts, 'accountFor'>
  config: PolicyConfig
}

type SomeValues<P extends Policy> = Partial<PolicyValues<P>>

/** What one account or domain has of its own, by the names of the policies. */
interface OwnPolicies {
  id: string
  byPolicy: ReadonlyMap<string, SomeValues<Policy>>
}

/** Where a value belongs, by the name of its field. */
const places = new Map(
  accountPolicies.flatMap((policy) =>
    Object.entries(policy.fields).map(([key, { name }]) => [name, { policy: policy.name, key }] as const),
  ),
)

/**
 * What differs from account to account: the values that an account, or for its quota a domain, has in place of the settings. Memory holds
 * only those.
 */
export class AccountPolicies extends HeldList<OwnPolicies> {
  readonly #db: Pick<Database, 'read' | 'write'>
  readonly #accounts: Pick<Accounts, 'accountFor'>
  readonly #config: PolicyConfig
  /** What is held, by policy and owner. */
  readonly #own = new Map<string, Map<string, SomeValues<Policy>>>(accountPolicies.map(({ name }) => [name, new Map()]))

  constructor({ db, changes, accounts, config }: AccountPoliciesServices) {
    super({ kind: 'account_policy', changes, fetch: async (ownerId) => ownPolicies(await readPolicies(db, ownerId)) })
    this.#db = db
    this.#accounts = accounts
    this.#config = config
  }

  /** What is in force for an account or a domain. */
  of<P extends Policy>(policy: P, ownerId: string): PolicyValues<P> {
    const standard = policy.standard(this.#config, this.#accounts.accountFor(ownerId)?.plan) as PolicyValues<P>
    const own = this.#ownBy(policy).get(ownerId)
    return own ? { ...standard, ...own } : standard
  }

  /** What an account or a domain has in place of the settings. */
  ownOf<P extends Policy>(policy: P, ownerId: string): OwnPolicyValues<P> {
    const own: Readonly<Record<string, unknown>> = this.#ownBy(policy).get(ownerId) ?? {}
    return Object.fromEntries(Object.keys(policy.fields).map((key) => [key, own[key] ?? null])) as OwnPolicyValues<P>
  }

  /** What is in force anywhere: what the settings say, and what any account or domain has in place of it. */
  anywhere<P extends Policy>(policy: P): SomeValues<P>[] {
    return [policy.standard(this.#config, undefined) as SomeValues<P>, ...this.#ownBy(policy).values()]
  }

  #ownBy<P extends Policy>({ name }: P): ReadonlyMap<string, SomeValues<P>> {
    return this.#own.get(name) as unknown as ReadonlyMap<string, SomeValues<P>>
  }

  /** Changes what is given, from now on; null: the settings apply again. */
  async change<P extends Policy>(policy: P, ownerId: string, change: Partial<OwnPolicyValues<P>>): Promise<void> {
    const statements = Object.entries(change).flatMap(([key, value]) => {
      const { name } = policy.fields[key] ?? {}
      return name === undefined || value === undefined ? [] : [setValue(ownerId, name, value)]
    })
    if (statements.length === 0) return
    await this.#db.write([...statements, ...this.note(ownerId)])
    await this.reload(ownerId)
  }

  protected override follow(before: OwnPolicies | undefined, after: OwnPolicies | undefined): void {
    if (before) for (const ofPolicy of this.#own.values()) ofPolicy.delete(before.id)
    if (after) for (const [name, values] of after.byPolicy) this.#own.get(name)?.set(after.id, values)
  }

  /** Forgets what an account or a domain that is gone had. */
  async forget(ownerId: string): Promise<void> {
    await this.#db.write([{ sql: 'delete from account_policy where owner_id = :ownerId', params: { ownerId } }, ...this.note(ownerId)])
    this.drop(ownerId)
  }
}

const readPolicies = (db: Pick<Database, 'read'>, ownerId: string | null): Promise<PolicyRow[]> =>
  ownerId === null
    ? db.read<PolicyRow>('select owner_id, field, value from account_policy')
    : db.read<PolicyRow>('select owner_id, field, value from account_policy where owner_id = :ownerId', { ownerId })

const ownPolicies = (rows: PolicyRow[]): OwnPolicies[] =>
  [...Map.groupBy(rows, (row) => row.owner_id)].map(([id, ofOwner]) => {
    const byPolicy = new Map<string, Record<string, unknown>>()
    for (const { field, value } of ofOwner) {
      const place = places.get(field)
      if (place) byPolicy.set(place.policy, { ...byPolicy.get(place.policy), [place.key]: JSON.parse(value) })
    }
    return { id, byPolicy: byPolicy as OwnPolicies['byPolicy'] }
  })

/** `since` tells notices from which event on they are wanted. */
const setValue = (ownerId: string, field: string, value: unknown): Statement =>
  value === null
    ? { sql: 'delete from account_policy where owner_id = :ownerId and field = :field', params: { ownerId, field } }
    : {
        sql: `insert into account_policy (owner_id, field, value, since)
              values (:ownerId, :field, :value, (select coalesce(max(seq), 0) from event))
              on conflict (owner_id, field) do update
                set since = case when account_policy.value = excluded.value then account_policy.since else excluded.since end,
                    value = excluded.value`,
        params: { ownerId, field, value: JSON.stringify(value) },
      }
