import { z } from 'zod'
import type { Accounts } from '../../../senders/account/accounts.ts'
import type { SuppressionPolicies } from '../../../mail/suppression/suppression-policies.ts'
import type { SuppressionPolicy } from '../../../mail/suppression/suppression-policy.ts'
import { given } from '../../operation/given.ts'
import { operation, type Operation } from '../../operation/operation.ts'
import { resource } from '../../operation/resource.ts'
import { accountOf } from './account-operations.ts'

export interface SuppressionPolicyServices {
  accounts: Accounts
  suppressionPolicies: SuppressionPolicies
}

/** Ten years, seconds. */
const longestExpiry = 315_360_000

const hardBounces = z
  .boolean()
  .describe(
    'Whether a hard bounce suppresses its address, and a second soft bounce on another day if its wording says the address is unknown.',
  )
const complaints = z.boolean().describe('Whether a complaint suppresses its address.')
const softBounces = z
  .int()
  .min(0)
  .max(1000)
  .describe('How many soft bounces without a delivery between them suppress an address; 0: never.')
const expirySeconds = z.int().min(0).max(longestExpiry).describe('How long a suppression after a bounce lasts; 0: until it is removed.')

const suppressionPolicy = resource<SuppressionPolicy & { accountId: string }>(
  'SuppressionPolicy',
  'What puts an address on the suppression list of an account.',
)({
  object: 'suppression_policy',
  account_id: z.string(),
  hard_bounces: hardBounces,
  complaints,
  soft_bounces: softBounces,
  expiry_seconds: [expirySeconds, ({ expiry }) => Math.floor(expiry / 1000)],
})

const asSet = " null: the server's settings apply."
const policyChanges = z.object({
  hard_bounces: hardBounces.nullish().describe(hardBounces.description + asSet),
  complaints: complaints.nullish().describe(complaints.description + asSet),
  soft_bounces: softBounces.nullish().describe(softBounces.description + asSet),
  expiry_seconds: expirySeconds.nullish().describe(expirySeconds.description + asSet),
})

/** `/api/accounts/{id}/suppression-policy`: an account's own values in place of the settings. */
export const suppressionPolicyOperations = (services: SuppressionPolicyServices): Operation[] => [
  operation({
    id: 'suppression_policy.get',
    method: 'GET',
    path: '/api/accounts/{id}/suppression-policy',
    tag: 'Accounts',
    summary: 'Read what puts an address on the suppression list of an account',
    permission: 'operator',
    answers: [{ status: 200, description: 'The policy of the account.', schema: suppressionPolicy.schema }],
    handle: (call) => policyObject(accountOf(call, services).id, services),
  }),
  operation({
    id: 'suppression_policy.update',
    method: 'PATCH',
    path: '/api/accounts/{id}/suppression-policy',
    tag: 'Accounts',
    summary: 'Change what puts an address on the suppression list of an account',
    description: 'Applies from then on; existing entries stay as they are.',
    permission: 'operator',
    body: { schema: policyChanges, example: { soft_bounces: 5, expiry_seconds: 7_776_000 } },
    answers: [{ status: 200, description: 'The policy of the account.', schema: suppressionPolicy.schema }],
    handle: async (call) => {
      const { id: accountId } = accountOf(call, services)
      await services.suppressionPolicies.change(accountId, changesIn(call.body))
      return policyObject(accountId, services)
    },
  }),
]

const changesIn = ({ hard_bounces, complaints, soft_bounces, expiry_seconds }: z.output<typeof policyChanges>) =>
  given({
    hardBounces: hard_bounces,
    complaints,
    softBounces: soft_bounces,
    expiry: typeof expiry_seconds === 'number' ? expiry_seconds * 1000 : expiry_seconds,
  })

/** The policy in force, as the API shows it. */
export const policyObject = (accountId: string, { suppressionPolicies }: Pick<SuppressionPolicyServices, 'suppressionPolicies'>) =>
  suppressionPolicy.answer({ accountId, ...suppressionPolicies.policyFor(accountId) })
