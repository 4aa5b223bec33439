import type { Account } from '../../senders/account/accounts.ts'
import type { Core } from '../../api/core.ts'
import type { Template } from '../../mail/template/template-store.ts'
import type { WebhookList } from '../../notify/webhook/webhook-list.ts'
import type { OperationClient } from '../../api/operation/operation-client.ts'
import { firstPage, pages } from '../../platform/store/page-clause.ts'
import { nameOf, valuesOf } from './set-up-fields.ts'
import { policyFieldsOf } from './policy-values.ts'
import type { ObjectKind, CurrentObject, Values } from './set-up-object.ts'

/** What a set-up is read from and made in. */
export type SetUpServices = Omit<Core, 'close'> & { webhooks: WebhookList; perform: OperationClient }

/** In place of the name of a key's domain. */
export const removedDomain = '(a domain that was removed)'

/** All accounts, and what they have, with the values that a file would give. Templates without an alias are left out: nothing names them. */
export async function currentState(services: SetUpServices): Promise<CurrentObject[]> {
  const objects: CurrentObject[] = []
  for (const account of services.accounts.list()) {
    objects.push(currentObject('account', account, { id: account.id, values: accountValues(account, services) }))
    objects.push(...domainsOf(account, services))
    for (const template of await templatesOf(account, services)) objects.push(template)
    objects.push(...(await webhooksOf(account, services)), ...keysOf(account, services))
  }
  return objects
}

const currentObject = (kind: ObjectKind, account: Account, { id, values }: { id: string; values: Values }): CurrentObject => ({
  kind,
  account: account.name,
  name: nameOf(kind, values),
  id,
  values,
})

const accountValues = ({ id, name, plan, status }: Account, { policies }: SetUpServices): Values => ({
  name,
  plan,
  status,
  ...policyValues('account', id, policies),
})

/** What an account or a domain has of its own, by the names in the file. What no setting decides has a value in any case. */
const policyValues = (kind: 'account' | 'domain', ownerId: string, policies: SetUpServices['policies']): Values =>
  Object.fromEntries(
    policyFieldsOf(kind).map(({ policy, key, field }) => {
      const values: Values = field.setting === null ? policies.of(policy, ownerId) : policies.ownOf(policy, ownerId)
      return [field.name, values[key]]
    }),
  )

const domainsOf = (account: Account, { sendingDomains, policies }: SetUpServices): CurrentObject[] =>
  sendingDomains.list(account.id).map((domain) => {
    const keys = domain.keys.filter(({ state }) => state !== 'retired')
    const values = {
      ...valuesOf('domain', domain),
      ...policyValues('domain', domain.id, policies),
      // Those in use: a wanted one must be among them.
      dkim_selector: keys.map(({ selector }) => selector),
      dkim_private_key: keys.map(({ publicKey }) => publicKey),
    }
    return currentObject('domain', account, { id: domain.id, values })
  })

async function templatesOf(account: Account, { templates }: SetUpServices): Promise<CurrentObject[]> {
  const found: Template[] = []
  for await (const rows of pages((page) => templates.page(account.id, page)))
    for (const { id, alias } of rows) if (alias !== null) found.push(await templates.get(account.id, id))
  const aliasOf = (layout: string | null): string | null => found.find(({ id }) => id === layout)?.alias ?? layout
  return found.map((template) => currentObject('template', account, { id: template.id, values: templateValues(template, aliasOf) }))
}

const templateValues = (template: Template, aliasOf: (layout: string | null) => string | null): Values => ({
  alias: template.alias,
  name: template.name,
  subject: template.subject,
  html: template.html,
  text: template.text,
  from: template.from,
  reply_to: template.replyTo,
  layout: aliasOf(template.layout),
  variables: template.variables.map(({ key, type, fallbackValue }) => ({ key, type, fallback_value: fallbackValue })),
  published: template.versionId === template.liveVersionId ? (template.isOutdated ? 'outdated' : true) : false,
})

async function webhooksOf(account: Account, { webhooks }: SetUpServices): Promise<CurrentObject[]> {
  const scopes = [false, true].map((sandbox) => ({ accountId: account.id, sandbox }))
  const found = await Promise.all(scopes.map((scope) => webhooks.page(scope, firstPage)))
  return found.flat().map((webhook) => currentObject('webhook', account, { id: webhook.id, values: valuesOf('webhook', webhook) }))
}

function keysOf(account: Account, { apiKeys, sendingDomains }: SetUpServices): CurrentObject[] {
  const domains = sendingDomains.list(account.id)
  return apiKeys.list(account.id).map((key) => {
    const values = {
      ...valuesOf('key', { ...key, sandbox: key.confined }),
      domain: key.domainId === null ? null : (domains.find(({ id }) => id === key.domainId)?.name ?? removedDomain),
      token: apiKeys.storedTokenOf(key.id).digest,
    }
    return currentObject('key', account, { id: key.id, values })
  })
}
