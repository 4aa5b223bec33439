import type { BaseServices } from '../platform/base-services.ts'
import type { AccountPolicies } from '../senders/account/account-policies.ts'
import type { Accounts } from '../senders/account/accounts.ts'
import { forgetUse } from '../senders/account/quota-statements.ts'
import type { ApiKeys } from '../senders/account/api-keys.ts'
import type { Users } from '../senders/account/users.ts'
import type { SendingDomains } from '../senders/sending-domain/sending-domains.ts'
import { removeSuppressionsOf } from '../mail/suppression/remove-suppressions.ts'
import { deleteTemplatesOf } from '../mail/template/template-store.ts'
import type { SmarthostRoutes } from '../mail-out/smarthost/smarthost-routes.ts'
import type { WebhookList } from '../notify/webhook/webhook-list.ts'

export interface AccountRemovalServices extends Pick<BaseServices, 'db' | 'clock'> {
  accounts: Accounts
  policies: Pick<AccountPolicies, 'forget'>
  apiKeys: ApiKeys
  people: { users: Users }
  sendingDomains: Pick<SendingDomains, 'list' | 'remove'>
  webhooks: Pick<WebhookList, 'removeAll'>
  smarthostRoutes: Pick<SmarthostRoutes, 'removeAll'>
}

/** ms after which a submission has been accepted or given up */
const maxSubmissionMs = 3_600_000

/**
 * Removes an account. It stops sending at once. Then its users, keys, webhooks, routes, domains, templates and suppressions are deleted,
 * and finally its name becomes free. Its messages, events and audit log stay until their retention ends, under its id. If a
 * crash interrupts this, the account is suspended and can be removed again.
 * @throws SternaError `not_found`; `invalid_state` while its mail is queued, or if the last operator
 * is one of its users. Then nothing changes.
 */
export async function removeAccount(idOrName: string, services: AccountRemovalServices): Promise<string> {
  const { db, accounts, policies, apiKeys, people, sendingDomains, webhooks, smarthostRoutes, clock } = services
  const { id, status } = accounts.getAccount(idOrName)
  const startedAt = clock.now()
  await accounts.change(id, { status: 'suspended' })
  try {
    await accounts.checkQueue(id)
    await people.users.removeAll(id)
  } catch (error) {
    await accounts.change(id, { status })
    throw error
  }
  await apiKeys.revokeAll(id)
  await webhooks.removeAll(id)
  await smarthostRoutes.removeAll(id)
  for (const domain of sendingDomains.list(id)) await sendingDomains.remove(domain.id)
  await db.write(deleteTemplatesOf(id))
  await removeSuppressionsOf(id, db)
  await accounts.remove(id, startedAt - maxSubmissionMs)
  await policies.forget(id)
  await db.write(forgetUse(id))
  return id
}
