import type { Database, Row, Value } from '../../platform/store/database.ts'
import type { SuppressionPolicy } from './suppression-policy.ts'

/** The account's own policy; null: the settings apply. */
export type OwnSuppressionPolicy = { [K in keyof SuppressionPolicy]: SuppressionPolicy[K] | null }

interface PolicyRow extends Row {
  id: string
  suppress_hard_bounces: number | null
  suppress_complaints: number | null
  suppress_soft_bounces: number | null
  suppression_expiry: number | null
}

const asSet: OwnSuppressionPolicy = { hardBounces: null, complaints: null, softBounces: null, expiry: null }

/** The policy of each account. Memory holds only those that differ from the settings. Call `load()` first. */
export class SuppressionPolicies {
  readonly #db: Pick<Database, 'read' | 'write'>
  readonly #standard: SuppressionPolicy
  readonly #own = new Map<string, OwnSuppressionPolicy>()

  constructor(db: Pick<Database, 'read' | 'write'>, standard: SuppressionPolicy) {
    this.#db = db
    this.#standard = standard
  }

  async load(): Promise<void> {
    const rows = await this.#db.read<PolicyRow>(
      `select id, suppress_hard_bounces, suppress_complaints, suppress_soft_bounces, suppression_expiry from account
        where coalesce(suppress_hard_bounces, suppress_complaints, suppress_soft_bounces, suppression_expiry) is not null`,
    )
    for (const row of rows) this.#own.set(row.id, ownPolicyOf(row))
  }

  /** The policy in force for an account. */
  policyFor(accountId: string): SuppressionPolicy {
    const own = this.#own.get(accountId)
    if (!own) return this.#standard
    const { hardBounces, complaints, softBounces, expiry } = this.#standard
    return {
      hardBounces: own.hardBounces ?? hardBounces,
      complaints: own.complaints ?? complaints,
      softBounces: own.softBounces ?? softBounces,
      expiry: own.expiry ?? expiry,
    }
  }

  /** What the account has in place of the settings. */
  ownPolicyOf(accountId: string): OwnSuppressionPolicy {
    return this.#own.get(accountId) ?? asSet
  }

  /** Changes an account's own policy; absent fields stay. Applies from now on. */
  async change(accountId: string, change: Partial<OwnSuppressionPolicy>): Promise<void> {
    const own = { ...(this.#own.get(accountId) ?? asSet), ...change }
    await this.#db.write([
      {
        sql: `update account
                 set suppress_hard_bounces = :hardBounces, suppress_complaints = :complaints,
                     suppress_soft_bounces = :softBounces, suppression_expiry = :expiry
               where id = :accountId`,
        params: { ...own, hardBounces: numberOf(own.hardBounces), complaints: numberOf(own.complaints), accountId },
        expect: 1,
      },
    ])
    this.#own.set(accountId, own)
  }
}

const ownPolicyOf = (row: PolicyRow): OwnSuppressionPolicy => ({
  hardBounces: flagOf(row.suppress_hard_bounces),
  complaints: flagOf(row.suppress_complaints),
  softBounces: row.suppress_soft_bounces,
  expiry: row.suppression_expiry,
})

const flagOf = (value: number | null): boolean | null => (value === null ? null : value === 1)
const numberOf = (flag: boolean | null): Value => (flag === null ? null : flag ? 1 : 0)
