import { z } from 'zod'
import { mailQuota, type OwnQuota } from '../../senders/account/account-policy.ts'
import type { QuotaUse } from '../../senders/account/mail-quotas.ts'
import { isoTime } from '../../platform/iso-time.ts'
import { given } from './given.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { resource, timeAnswer } from '../operation/resource.ts'
import { accountOf } from './account-operations.ts'
import { domainIn } from './domain-operations.ts'
import type { Needs } from './operation-services.ts'

type Services = Needs<'accounts' | 'policies' | 'quotas' | 'sendingDomains'>

const use = z.object({
  limit: z.int().nullable().describe('How many recipients may be mailed; null: no limit.'),
  used: z
    .int()
    .nullable()
    .describe(
      'How many recipients of live mail were accepted, suppressed ones left out; null while no quota is set, for then nothing is counted.',
    ),
  remaining: z.int().nullable(),
  resets_at: timeAnswer,
})

const limit = z.union([z.int().min(0).max(mailQuota.fields.day.max), z.literal('unlimited')])

const useAnswer = ({ limit, used, resetsAt }: QuotaUse) => ({
  limit,
  used,
  remaining: limit === null ? null : Math.max(0, limit - (used ?? 0)),
  resets_at: isoTime(resetsAt),
})

export const quotaResource = resource<{ id: string; day: QuotaUse; month: QuotaUse; own: OwnQuota }>(
  'MailQuota',
  'How much may be mailed, and how much was.',
)({
  object: 'mail_quota',
  id: z.string().describe('Of the account or the domain.'),
  day: [use, ({ day }) => useAnswer(day)],
  month: [use, ({ month }) => useAnswer(month)],
  own: z
    .object({ day: limit.nullable(), month: limit.nullable() })
    .describe('The limits of the account or the domain itself; null: as the plan says.'),
})

const quotaChanges = (asPlan: string) =>
  z.object({
    day: limit.nullish().describe(`Recipients per day, in UTC; ${asPlan}`),
    month: limit.nullish().describe(`Recipients per month; ${asPlan}`),
  })
const accountChanges = quotaChanges('null: as the plan says; `unlimited`: no limit.')
const domainChanges = quotaChanges('null or `unlimited`: no limit but the quota of the account.')

/** What an account or a domain has used, as the API and the command line show it. */
export const quotaObject = async (id: string, { quotas, policies }: Pick<Services, 'quotas' | 'policies'>) =>
  quotaResource.answer({ id, ...(await quotas.useOf(id)), own: policies.ownOf(mailQuota, id) })

async function changeQuota(id: string, { day, month }: z.output<typeof accountChanges>, services: Services) {
  await services.policies.change(mailQuota, id, given({ day, month }))
  return quotaObject(id, services)
}

const quota = { answer: ['The quota and its use.', quotaResource.schema] } as const
const atAccount = operationsAt({ path: '/api/account/quota', tag: 'Account', permission: null })
const atAccounts = operationsAt({ path: '/api/accounts/{id}/quota', tag: 'Accounts', permission: 'operator' })
const atDomains = operationsAt({
  path: '/api/domains/{idOrName}/quota',
  tag: 'Domains',
  permission: { read: 'read_access', change: 'full_access' },
})

/** `/api/account/quota`, `/api/accounts/{id}/quota` and `/api/domains/{idOrName}/quota` */
export const quotaOperations = (services: Services): Operation[] => [
  atAccount.get('account.quota', '', 'Read how much mail the account may send, and how much it has sent', {
    ...quota,
    handle: ({ caller }) => quotaObject(caller.accountId, services),
  }),
  atAccounts.get('accounts.quota', '', 'Read how much mail an account may send, and how much it has sent', {
    ...quota,
    handle: (call) => quotaObject(accountOf(call, services).id, services),
  }),
  atAccounts.patch('accounts.update_quota', '', 'Change how much mail an account may send', {
    ...quota,
    description: 'Applies at once. What was accepted while there was no quota does not count.',
    body: { schema: accountChanges, example: { day: 1000, month: 20_000 } },
    handle: (call) => changeQuota(accountOf(call, services).id, call.body, services),
  }),
  atDomains.get('domains.quota', '', 'Read how much mail may be sent from a domain, and how much was', {
    ...quota,
    handle: (call) => quotaObject(domainIn(call, services).id, services),
  }),
  atDomains.patch('domains.update_quota', '', 'Change how much mail may be sent from a domain', {
    ...quota,
    description: 'Counts besides the quota of the account, so that one domain cannot use up all of it.',
    body: { schema: domainChanges, example: { day: 500 } },
    handle: (call) => changeQuota(domainIn(call, services).id, call.body, services),
  }),
]
