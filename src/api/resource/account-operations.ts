import { z } from 'zod'
import { removeAccount } from '../../upkeep/account-removal.ts'
import { deliveryNotices } from '../../senders/account/account-policy.ts'
import { accountAt, accountStatuses, type Account } from '../../senders/account/accounts.ts'
import { checkedPlan } from '../../senders/account/plan.ts'
import { SternaError } from '../../platform/errors.ts'
import type { CallTo } from '../operation/call.ts'
import { given } from './given.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { pageFrom } from '../operation/page.ts'
import { deletedAnswer, resource, time, timeOrNull } from '../operation/resource.ts'
import type { Needs } from './operation-services.ts'

type Services = Needs<'accounts' | 'clock' | 'policies' | 'plans' | 'removal'>

export const accountResource = resource<Account & { limit: number; deliveryNotices: boolean }>('Account')({
  object: 'account',
  id: z.string(),
  name: z.string(),
  plan: z.string(),
  status: z.enum(accountStatuses).describe('A suspended account can read, but not send.'),
  slowed_until: timeOrNull('Until when the account may mail only a few recipients a minute. Null: it is not slowed.'),
  harm: z.string().nullable().describe('Why the server slowed or suspended the account by itself. Null: it did neither.'),
  delivery_notices: z
    .boolean()
    .describe('Whether submitters over SMTP get a notice (RFC 3464) at their MAIL FROM address when a message fails or is delayed.'),
  rate_limit: [
    z.object({ limit: z.int(), window_seconds: z.int() }).describe('Requests in any such window, for all keys together.'),
    ({ limit }) => ({ limit, window_seconds: windowSeconds }),
  ],
  created_at: time(),
})
const deleted = deletedAnswer('account', 'DeletedAccount')

const newAccount = z.object({
  name: z.string().describe('1 to 100 characters, unique on this server.'),
  plan: z.string().optional().describe('One of the plans in the setting `plans`; default: `accounts.default_plan`.'),
})
const noticesWanted = z.boolean().optional().describe('For messages submitted over SMTP; default: off.')
const accountChanges = z.object({
  plan: z.string().optional(),
  status: z.enum(accountStatuses).optional(),
  delivery_notices: noticesWanted,
})
const ownAccountChanges = z.object({ delivery_notices: noticesWanted })

/** `/api/account`, and for operators `/api/accounts`. */
export const accountOperations = (services: Services): Operation[] => [
  atAccount.get('account.get', '', 'Read the account that the key belongs to', {
    answer: ['The account.', accountResource.schema],
    handle: ({ caller }) => accountObject(services.accounts.getAccount(caller.accountId), services),
  }),
  atAccount.patch('account.update', '', 'Change the settings of the account that the key belongs to', {
    body: { schema: ownAccountChanges, example: { delivery_notices: true } },
    answer: ['The account.', accountResource.schema],
    handle: ({ caller, body }) => changeAccount(caller.accountId, body, services),
  }),
  atAccounts.list('accounts.list', '', 'List accounts', {
    answer: [
      'The accounts, newest first.',
      { schema: accountResource.schema, answer: (account: Account) => accountObject(account, services) },
    ],
    rows: (_, page) => pageFrom(services.accounts.list(), page),
  }),
  atAccounts.post('accounts.create', '', 'Create an account', {
    body: { schema: newAccount, example: { name: 'shop', plan: 'starter' } },
    answer: ['The account.', accountResource.schema, 201],
    refuses: ['account_exists'],
    handle: async ({ body }) => {
      const plan = checkedPlan(body.plan ?? services.plans.standard, services.plans.byName)
      return accountObject(await services.accounts.create(body.name, plan), services)
    },
  }),
  atAccounts.get('accounts.get', '/{id}', 'Read an account', {
    answer: ['The account.', accountResource.schema],
    handle: (call) => accountObject(accountOf(call, services), services),
  }),
  atAccounts.patch('accounts.update', '/{id}', 'Change the plan or the settings of an account, suspend it or resume it', {
    description:
      'A suspended account stops sending at once, even in open SMTP sessions. What was accepted is still delivered, unless the server ' +
      'suspended the account by itself (`harm`). Resuming an account releases the mail that was held, clears `slowed_until`, and counts ' +
      'harm from zero.',
    body: { schema: accountChanges, example: { status: 'suspended' } },
    answer: ['The account.', accountResource.schema],
    handle: async (call) => {
      const { id } = accountOf(call, services)
      if (call.body.plan !== undefined) checkedPlan(call.body.plan, services.plans.byName)
      return changeAccount(id, call.body, services)
    },
  }),
  atAccounts.remove('accounts.delete', '/{id}', 'Delete an account', {
    description:
      'Deletes its keys, users, webhooks, domains, templates and suppressions at once. The mail it has sent stays until its ' +
      'retention ends. Refused while mail of the account is queued.',
    answer: ['The account is deleted.', deleted],
    refuses: ['invalid_state'],
    handle: async (call) => {
      const { id } = accountOf(call, services)
      const { accountId, actor } = call.caller
      // Operators may act in another account than the one that they belong to.
      const home = services.removal.people.users.find(actor.id ?? '')?.accountId
      if (id === accountId || id === home)
        throw new SternaError('invalid_state', 'You cannot delete the account that you are logged in to.')
      await removeAccount(id, services.removal)
      return { object: 'account' as const, id, deleted: true as const }
    },
  }),
]

const atAccount = operationsAt({ path: '/api/account', tag: 'Account', permission: { read: null, change: 'full_access' } })
const atAccounts = operationsAt({ path: '/api/accounts', tag: 'Accounts', permission: 'operator' })

/**
 * The account in the path.
 * @throws SternaError `not_found`
 */
export function accountOf(call: CallTo<'id'>, { accounts }: Pick<Services, 'accounts'>): Account {
  const account = accounts.accountFor(call.params.id)
  if (account) return account
  throw new SternaError('not_found', 'There is no such account.')
}

async function changeAccount(id: string, { delivery_notices: wanted, ...others }: z.output<typeof accountChanges>, services: Services) {
  const account = await services.accounts.change(id, others)
  await services.policies.change(deliveryNotices, id, given({ wanted }))
  return accountObject(account, services)
}

const windowSeconds = 60

/** An account as the API and the command line show it, with the limit that the limiter uses if its plan is not among the settings any more. */
export const accountObject = (
  account: Account,
  { clock, plans: { byName, standard }, policies }: Pick<Services, 'clock' | 'plans' | 'policies'>,
) =>
  accountResource.answer({
    ...accountAt(account, clock.now()),
    limit: byName[account.plan] ?? byName[standard] ?? 0,
    deliveryNotices: policies.of(deliveryNotices, account.id).wanted,
  })
