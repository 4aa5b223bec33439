import { z } from 'zod'
import type { AccountPolicies } from '../../senders/account/account-policies.ts'
import { accountPolicies } from '../../senders/account/account-policy.ts'
import {
  apiNameOf,
  type OwnPolicyValues,
  type Policy,
  type PolicyField,
  type PolicyKind,
  type PolicyResource,
} from '../../senders/account/policy.ts'
import { messageOf } from '../../platform/errors.ts'
import { parseRecipientDomain, tlsPolicies, type RecipientTls } from '../../platform/config/recipient-tls.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { accountOf } from './account-operations.ts'
import type { Needs } from './operation-services.ts'

type Services = Needs<'accounts' | 'policies'>

/** How the API has values of a kind. */
interface ApiForm {
  schema: z.ZodType
  shown(value: never): unknown
  read(given: never): unknown
}

const asIs = (schema: z.ZodType): ApiForm => ({ schema, shown: (value) => value, read: (given) => given })
const inSeconds = (ms: number): number => Math.ceil(ms / 1000)
const inMs = (seconds: number): number => seconds * 1000
const maxDelays = 100

const recipientDomain = z
  .string()
  .max(255)
  .transform((text, ctx) => {
    try {
      return parseRecipientDomain(text)
    } catch (error) {
      ctx.addIssue(messageOf(error))
      return z.NEVER
    }
  })
  .describe('In A-labels, lower case; `.example.com` for all names below it.')
const recipientTlsEntry = z.object({ domain: recipientDomain, policy: z.enum(tlsPolicies) })

const apiForms: Record<PolicyKind, (max: number) => ApiForm> = {
  flag: () => asIs(z.boolean()),
  count: (max) => asIs(z.int().min(0).max(max)),
  limit: (max) => asIs(z.union([z.int().min(0).max(max), z.literal('unlimited')])),
  duration: (max) => ({ schema: z.int().min(0).max(inSeconds(max)), shown: inSeconds, read: inMs }),
  durations: (max) => ({
    schema: z
      .array(z.int().min(1).max(inSeconds(max)))
      .min(1)
      .max(maxDelays),
    shown: (delays: readonly number[]) => delays.map(inSeconds),
    read: (given: number[]) => given.map(inMs),
  }),
  recipientTls: (max) => ({
    schema: z.array(recipientTlsEntry).max(max),
    shown: (policies: RecipientTls) => Object.entries(policies).map(([domain, policy]) => ({ domain, policy })),
    read: (given: z.output<typeof recipientTlsEntry>[]) => Object.fromEntries(given.map(({ domain, policy }) => [domain, policy])),
  }),
}

const formOf = ({ kind, max }: PolicyField): ApiForm => apiForms[kind](max)

/** What the API takes for a field, and a file if it is no duration. */
export const apiTypeOf = (field: PolicyField): z.ZodType => formOf(field).schema

/** A value as the API shows and takes it; null: none of its own. */
export const valueInApi = (field: PolicyField, value: unknown): unknown => (value === null ? null : formOf(field).shown(value as never))

/** The value that the API shows or takes so. */
export const valueFromApi = (field: PolicyField, given: unknown): unknown =>
  given === null || given === undefined ? given : formOf(field).read(given as never)

type Values = Readonly<Record<string, unknown>>

/** Values of a policy under the names that the API has for them: `expiry_seconds`; null: none of its own. */
const shownValues = ({ fields }: Policy, values: Values): Values =>
  Object.fromEntries(
    Object.entries(values)
      .filter(([key]) => key in fields)
      .map(([key, value]) => {
        const field = fields[key] as PolicyField
        return [apiNameOf(field), valueInApi(field, value)]
      }),
  )

/** The policy of an account: what is in force, and in `own` what it has in place of the settings. */
export const policyObject = (policy: Policy, accountId: string, policies: AccountPolicies): Values => ({
  object: policy.name,
  account_id: accountId,
  ...shownValues(policy, policies.of(policy, accountId)),
  own: shownValues(policy, policies.ownOf(policy, accountId)),
})

const changesIn = ({ fields }: Policy, body: Values): Values =>
  Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, valueFromApi(field, body[apiNameOf(field)])]))

/** The policies that the API shows each at a path of its own. */
export const shownPolicies = accountPolicies.filter((policy: Policy) => policy.resource !== null)

const at = operationsAt({ path: '/api/accounts/{id}', tag: 'Accounts', permission: 'operator' })

/** `/api/accounts/{id}/suppression-policy` and its like: what an account has in place of the settings. */
export const accountPolicyOperations = (services: Services): Operation[] =>
  accountPolicies.flatMap((policy: Policy) => (policy.resource ? operationsOf(policy, policy.resource, services) : []))

function operationsOf(policy: Policy, { schema: schemaName, about, applies, example }: PolicyResource, services: Services): Operation[] {
  const { name } = policy
  const members = (made: (schema: z.ZodType, doc: string) => z.ZodType) =>
    Object.fromEntries(Object.values(policy.fields).map((field) => [apiNameOf(field), made(apiTypeOf(field), field.doc)]))
  const orSettings = " null: the server's settings apply."
  const schema = z
    .object({
      object: z.literal(name),
      account_id: z.string(),
      ...members((each, doc) => each.describe(doc)),
      own: z.object(members((each) => each.nullable())).describe(`What the account has of its own.${orSettings}`),
    })
    .meta({ id: schemaName, description: `${about[0]?.toUpperCase()}${about.slice(1)}.` })
  const answer = ['What applies to the account.', schema] as const
  return [
    at.get(`${name}.get`, policy.path, `Read ${about}`, {
      answer,
      handle: (call) => policyObject(policy, accountOf(call, services).id, services.policies) as never,
    }),
    at.patch(`${name}.update`, policy.path, `Change ${about}`, {
      description: applies,
      body: { schema: z.object(members((each, doc) => each.nullish().describe(doc + orSettings))), example: shownValues(policy, example) },
      answer,
      handle: async (call) => {
        const { id } = accountOf(call, services)
        await services.policies.change(policy, id, changesIn(policy, call.body) as Partial<OwnPolicyValues<Policy>>)
        return policyObject(policy, id, services.policies) as never
      },
    }),
  ]
}
