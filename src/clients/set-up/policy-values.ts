import { valueInApi } from '../../api/resource/account-policy-operations.ts'
import { accountPolicies, mailQuota } from '../../senders/account/account-policy.ts'
import { apiNameOf, type Policy } from '../../senders/account/policy.ts'
import type { Values } from './set-up-object.ts'

/** The policies that belong to an object of the file. */
const policiesOf: Readonly<Record<'account' | 'domain', readonly Policy[]>> = { account: accountPolicies, domain: [mailQuota] }
type Owner = keyof typeof policiesOf

/** Their fields. */
export const policyFieldsOf = (kind: Owner) =>
  policiesOf[kind].flatMap((policy) => Object.entries(policy.fields).map(([key, field]) => ({ policy, key, field })))

/** The operations that change policies, if not one of the policy's own. */
const changedBy: Readonly<Record<Owner, Readonly<Record<string, string>>>> = {
  account: { mail_quota: 'accounts.update_quota', delivery_notices: 'accounts.update' },
  domain: { mail_quota: 'domains.update_quota' },
}

/** The calls of operations that write what the file gives: the operation, and the body of the request. */
export const policyChanges = (kind: Owner, values: Values): [operation: string, body: Values][] =>
  policiesOf[kind].flatMap(({ name, fields }) => {
    const given = Object.values(fields).filter((field) => field.name in values)
    const body = Object.fromEntries(given.map((field) => [apiNameOf(field), valueInApi(field, values[field.name])]))
    return given.length === 0 ? [] : [[changedBy[kind][name] ?? `${name}.update`, body]]
  })
