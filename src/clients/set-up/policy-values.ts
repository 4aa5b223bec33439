import type { AccountPolicies } from '../../senders/account/account-policies.ts'
import { accountPolicies, mailQuota } from '../../senders/account/account-policy.ts'
import type { OwnPolicyValues, Policy } from '../../senders/account/policy.ts'
import type { Values } from './set-up-object.ts'

/** The policies that belong to an object of the file. */
const policiesOf: Readonly<Record<'account' | 'domain', readonly Policy[]>> = { account: accountPolicies, domain: [mailQuota] }
type Owner = keyof typeof policiesOf

/** Their fields. */
export const policyFieldsOf = (kind: Owner) =>
  policiesOf[kind].flatMap((policy) => Object.entries(policy.fields).map(([key, field]) => ({ policy, key, field })))

/** What an account or a domain has of its own, by the names in the file. What no setting decides has a value in any case. */
export const policyValues = (kind: Owner, ownerId: string, held: AccountPolicies): Values =>
  Object.fromEntries(
    policyFieldsOf(kind).map(({ policy, key, field }) => {
      const values: Values = field.setting === null ? held.of(policy, ownerId) : held.ownOf(policy, ownerId)
      return [field.name, values[key]]
    }),
  )

/** Changes what the file gives. */
export async function changePolicies(kind: Owner, ownerId: string, values: Values, held: AccountPolicies): Promise<void> {
  for (const policy of policiesOf[kind]) {
    const given = Object.entries(policy.fields).filter(([, { name }]) => name in values)
    const change = Object.fromEntries(given.map(([key, { name }]) => [key, values[name]]))
    await held.change(policy, ownerId, change as Partial<OwnPolicyValues<Policy>>)
  }
}
