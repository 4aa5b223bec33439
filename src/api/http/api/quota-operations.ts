import { z } from 'zod'
import type { Accounts } from '../../../senders/account/accounts.ts'
import type { MailQuotas, OwnLimit, QuotaUse } from '../../../senders/account/mail-quotas.ts'
import { isoTime } from '../../../platform/iso-time.ts'
import type { SendingDomains } from '../../../senders/sending-domain/sending-domains.ts'
import { given } from '../../operation/given.ts'
import { operation, type Operation } from '../../operation/operation.ts'
import { resource } from '../../operation/resource.ts'
import { timeAnswer } from '../../operation/time-field.ts'
import { accountOf } from './account-operations.ts'
import { domainIn } from './domain-operations.ts'

export interface QuotaServices {
  accounts: Accounts
  quotas: MailQuotas
  sendingDomains: SendingDomains
}

/** Recipients; more than a server mails. */
const mostRecipients = 1_000_000_000

const use = z.object({
  limit: z.int().nullable().describe('How many recipients may be mailed; null: any number.'),
  used: z
    .int()
    .nullable()
    .describe(
      'How many recipients of live mail were accepted, suppressed ones left out; null while no quota is set, for then nothing is counted.',
    ),
  remaining: z.int().nullable(),
  resets_at: timeAnswer,
})

const useAnswer = ({ limit, used, resetsAt }: QuotaUse) => ({
  limit,
  used,
  remaining: limit === null ? null : Math.max(0, limit - (used ?? 0)),
  resets_at: isoTime(resetsAt),
})

const mailQuota = resource<{ id: string; day: QuotaUse; month: QuotaUse }>(
  'MailQuota',
  'How much may be mailed, and how much was.',
)({
  object: 'mail_quota',
  id: z.string().describe('Of the account or the domain.'),
  day: [use, ({ day }) => useAnswer(day)],
  month: [use, ({ month }) => useAnswer(month)],
})

const limit = z.union([z.int().min(0).max(mostRecipients), z.literal('unlimited')]).nullish()
const quotaChanges = (asPlan: string) =>
  z.object({ day: limit.describe(`Recipients per day, in UTC; ${asPlan}`), month: limit.describe(`Recipients per month; ${asPlan}`) })
const accountChanges = quotaChanges('null: as the plan says; `unlimited`: any number.')
const domainChanges = quotaChanges('null or `unlimited`: any number, within the quota of the account.')

/** What an account or a domain has used, as the API and the command line show it. */
export const quotaObject = async (id: string, quotas: MailQuotas) => mailQuota.answer({ id, ...(await quotas.useOf(id)) })

const changesIn = ({ day, month }: { day?: OwnLimit | undefined; month?: OwnLimit | undefined }) => given({ day, month })
const answers = [{ status: 200, description: 'The quota and its use.', schema: mailQuota.schema }] as const

/** `/api/account/quota`, `/api/accounts/{id}/quota` and `/api/domains/{idOrName}/quota` */
export const quotaOperations = (services: QuotaServices): Operation[] => [
  operation({
    id: 'account.quota',
    method: 'GET',
    path: '/api/account/quota',
    tag: 'Account',
    summary: 'Read how much mail the account may send, and how much it has sent',
    permission: null,
    answers: [...answers],
    handle: ({ caller }) => quotaObject(caller.accountId, services.quotas),
  }),
  operation({
    id: 'accounts.quota',
    method: 'GET',
    path: '/api/accounts/{id}/quota',
    tag: 'Accounts',
    summary: 'Read how much mail an account may send, and how much it has sent',
    permission: 'operator',
    answers: [...answers],
    handle: (call) => quotaObject(accountOf(call, services).id, services.quotas),
  }),
  operation({
    id: 'accounts.update_quota',
    method: 'PATCH',
    path: '/api/accounts/{id}/quota',
    tag: 'Accounts',
    summary: 'Change how much mail an account may send',
    description: 'Applies at once. What was accepted while there was no quota does not count.',
    permission: 'operator',
    body: { schema: accountChanges, example: { day: 1000, month: 20_000 } },
    answers: [...answers],
    handle: async (call) => {
      const { id } = accountOf(call, services)
      await services.quotas.change(id, changesIn(call.body))
      return quotaObject(id, services.quotas)
    },
  }),
  ...domainOperations(services),
]

const domainOperations = (services: QuotaServices): Operation[] => [
  operation({
    id: 'domains.quota',
    method: 'GET',
    path: '/api/domains/{idOrName}/quota',
    tag: 'Domains',
    summary: 'Read how much mail may be sent from a domain, and how much was',
    permission: 'read_access',
    answers: [...answers],
    handle: (call) => quotaObject(domainIn(call, services).id, services.quotas),
  }),
  operation({
    id: 'domains.update_quota',
    method: 'PATCH',
    path: '/api/domains/{idOrName}/quota',
    tag: 'Domains',
    summary: 'Change how much mail may be sent from a domain',
    description: 'Counts besides the quota of the account, so that one domain cannot use up all of it.',
    permission: 'full_access',
    body: { schema: domainChanges, example: { day: 500 } },
    answers: [...answers],
    handle: async (call) => {
      const { id } = domainIn(call, services)
      await services.quotas.change(id, changesIn(call.body))
      return quotaObject(id, services.quotas)
    },
  }),
]
