import type { Accounts } from './account/accounts.ts'
import type { ApiKeys } from './account/api-keys.ts'
import type { Users } from './account/users.ts'
import type { Clock } from './clock.ts'
import type { SendingDomains } from './sending-domain/sending-domains.ts'
import type { Database } from './store/database.ts'
import { removeSuppressionsOf } from './suppression/suppression-removal.ts'
import { deleteTemplatesOf } from './template/template-store.ts'
import type { WebhookList } from './webhook/webhook-list.ts'

export interface AccountRemovalServices {
  db: Pick<Database, 'write'>
  clock: Clock
  accounts: Accounts
  apiKeys: ApiKeys
  people: { users: Users }
  sendingDomains: Pick<SendingDomains, 'list' | 'remove'>
  webhooks: Pick<WebhookList, 'removeAll'>
}

/** A message that was begun so long ago has been accepted or given up by now, ms. */
const longestSubmissionMs = 3_600_000

/**
 * Ends an account: it sends no more from the first moment, then its users, keys, webhooks, domains, templates and
 * suppressions go, and last its name is free again. What it has sent stays until its retention is over: messages, events
 * and the audit log tell of it by its id. After a crash in between, the account is suspended and can be removed again.
 * @throws SternaError `not_found`, `invalid_state` while mail of the account is queued, or the last operator is among
 * its users; then it is as it was
 */
export async function removeAccount(idOrName: string, services: AccountRemovalServices): Promise<string> {
  const { db, accounts, apiKeys, people, sendingDomains, webhooks, clock } = services
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
  for (const key of apiKeys.list(id)) await apiKeys.revoke(key.id)
  await webhooks.removeAll(id)
  for (const domain of sendingDomains.list(id)) await sendingDomains.remove(domain.id)
  await db.write(deleteTemplatesOf(id))
  await removeSuppressionsOf(id, db)
  await accounts.remove(id, startedAt - longestSubmissionMs)
  return id
}
