import { removeAccount } from '../../upkeep/account-removal.ts'
import type { StoredToken } from '../../senders/account/api-key-token.ts'
import type { Permission } from '../../senders/account/permission.ts'
import { Secret } from '../../platform/config/setting-types.ts'
import { newTemplateFields, newTemplateSchema } from '../../api/http/api/template-schema.ts'
import { validate } from '../../api/operation/validate.ts'
import { parseIsoTime } from '../../platform/iso-time.ts'
import type { Account } from '../../senders/account/accounts.ts'
import { domainObject } from '../../senders/sending-domain/domain-object.ts'
import { webhookObject } from '../../notify/webhook/webhook-object.ts'
import type { Change } from './plan-changes.ts'
import { changePolicies } from './policy-values.ts'
import type { Values } from './set-up-object.ts'
import type { SetUpServices } from './standing-set-up.ts'

/** What came of a change. */
export interface Made {
  /** Of the object that it made or changed. */
  objectId: string
  /** A new API key, which is shown only now. */
  token?: string
}

/** How long an old token or secret works beside its successor, ms. */
const overlapMs = 86_400_000

const byCommand = { type: 'command', id: null, name: 'command line' } as const

/**
 * Makes one change, by the operations that every other command and the API use, and records it.
 * @throws SternaError whatever the operation refuses
 */
export async function carryOut(change: Change, services: SetUpServices): Promise<Made> {
  const accountId = services.accounts.findAccount(change.account)?.id ?? ''
  const made = await (change.action === 'remove' ? remove(change, accountId, services) : makers[change.kind](change, accountId, services))
  await services.audit.record({
    accountId: change.kind === 'account' ? made.objectId : accountId,
    actor: byCommand,
    operation: `apply ${change.action}`,
    objectId: made.objectId,
    fields: change.fields.map(({ name }) => name),
    address: null,
    requestId: null,
  })
  return made
}

type Maker = (change: Change, accountId: string, services: SetUpServices) => Promise<Made>

const makers: Record<Change['kind'], Maker> = {
  account: makeAccount,
  domain: makeDomain,
  template: makeTemplate,
  webhook: makeWebhook,
  key: makeKey,
}

/** What is to be written, by field. */
const writtenBy = ({ fields }: Change): Values => Object.fromEntries(fields.map(({ name, to }) => [name, to]))

/** What is to be written as a request would bring it: `a.b` as `b` within `a`, with what it keeps, and secrets in clear. */
function nestedValues(change: Change): Record<string, unknown> {
  const written = writtenBy(change)
  const all: Values = { ...change.standing?.values, ...written }
  const heads = [...new Set(Object.keys(written).map((name) => name.split('.')[0] ?? ''))]
  return Object.fromEntries(heads.map((head) => [head, head in written ? clear(written[head]) : partsIn(all, head)]))
}

function partsIn(values: Values, head: string): Record<string, unknown> | null {
  const parts = Object.entries(values).flatMap(([name, value]) =>
    name.startsWith(`${head}.`) ? [[name.slice(head.length + 1), clear(value)]] : [],
  )
  return parts.every(([, value]) => value === null) ? null : (Object.fromEntries(parts) as Record<string, unknown>)
}

const clear = (value: unknown): unknown => (value instanceof Secret ? value.reveal() : value)

/** A part of the values, under the names that an operation has for them; what is not there stays away. */
function renamed<T>(values: Values, names: Readonly<Record<string, string>>): T {
  return Object.fromEntries(Object.entries(names).flatMap(([field, name]) => (field in values ? [[name, values[field]]] : []))) as T
}

async function makeAccount(change: Change, _: string, { accounts, policies, config }: SetUpServices): Promise<Made> {
  const values = writtenBy(change)
  const plan = values['plan'] as string | undefined
  const { id } = change.standing ?? (await accounts.create(change.name, plan ?? config.accounts.defaultPlan))
  const main = renamed<Partial<Account>>(values, { plan: 'plan', status: 'status' })
  if (Object.keys(main).length > 0) await accounts.change(id, main)
  await changePolicies('account', id, values, policies)
  return { objectId: id }
}

async function makeDomain(change: Change, accountId: string, { sendingDomains, policies }: SetUpServices): Promise<Made> {
  const values = writtenBy(change)
  const { name: _, ...settings } = domainObject.membersIn(values)
  const given = renamed<{ dkimSelector?: string; dkimPrivateKey?: Secret }>(values, {
    dkim_selector: 'dkimSelector',
    dkim_private_key: 'dkimPrivateKey',
  })
  const keys = { dkimSelector: given.dkimSelector, dkimPrivateKey: given.dkimPrivateKey?.reveal() }
  if (!change.standing) {
    const added = await sendingDomains.add(accountId, change.name, { ...settings, ...keys })
    await changePolicies('domain', added.id, values, policies)
    return { objectId: added.id }
  }
  const { id } = change.standing
  if (Object.keys(settings).length > 0) await sendingDomains.update(id, settings)
  await changePolicies('domain', id, values, policies)
  if (keys.dkimSelector !== undefined || keys.dkimPrivateKey !== undefined) await sendingDomains.rotateKeys(id, keys)
  return { objectId: id }
}

/** The fields of a template with these values. @throws SternaError `validation_error`, with the names of the fields */
export const templateFieldsOf = (alias: string, values: Values) =>
  newTemplateFields(validate(newTemplateSchema, { name: alias, alias, ...values }))

async function makeTemplate(change: Change, accountId: string, { templates }: SetUpServices): Promise<Made> {
  const { name: alias, standing } = change
  const { published = standing?.values['published'] ?? true, ...values } = writtenBy(change)
  const fields = templateFieldsOf(alias, { ...standing?.values, ...values })
  const isWritten = Object.keys(values).length > 0
  const template = standing
    ? isWritten
      ? await templates.change(accountId, standing.id, fields)
      : await templates.get(accountId, standing.id)
    : await templates.create(accountId, fields)
  if (published !== false) await templates.versions.publish(accountId, template.id, { by: byCommand })
  return { objectId: template.id }
}

async function makeWebhook(change: Change, accountId: string, { webhooks }: SetUpServices): Promise<Made> {
  const { standing } = change
  const { secret, sandbox = standing?.values['sandbox'], ...given } = nestedValues(change)
  const fields = webhookObject.membersIn(given)
  const scope = { accountId, sandbox: sandbox === true }
  if (!standing) return { objectId: (await webhooks.create(scope, { url: '', ...fields }, secret as string | undefined)).id }
  if (Object.keys(fields).length > 0) await webhooks.change(scope, standing.id, fields)
  if (typeof secret === 'string') await webhooks.rotateSecret(scope, standing.id, { overlapMs, force: true, secret })
  return { objectId: standing.id }
}

async function makeKey(change: Change, accountId: string, { apiKeys, sendingDomains }: SetUpServices): Promise<Made> {
  const values = writtenBy(change)
  const { standing, name } = change
  const domain = values['domain'] as string | null | undefined
  const limits = {
    ...(values['permission'] === undefined ? {} : { permission: values['permission'] as Permission }),
    ...(domain === undefined ? {} : { domainId: domain === null ? null : sendingDomains.get(accountId, domain).id }),
    ...(values['expires_at'] === undefined ? {} : { expiresAt: timeOf(values['expires_at'] as string | null) }),
  }
  const token = values['token'] as StoredToken | undefined
  if (standing) {
    if (Object.keys(limits).length > 0) await apiKeys.change(standing.id, limits)
    if (token) await apiKeys.rotateTo(standing.id, token, { overlapMs, force: true })
    return { objectId: standing.id }
  }
  const standard: Permission = typeof domain === 'string' ? 'sending_access' : 'full_access'
  const wanted = { accountId, name, permission: standard, sandbox: values['sandbox'] === true, ...limits }
  if (token) return { objectId: await apiKeys.adopt(wanted, token) }
  const made = await apiKeys.create(wanted)
  return { objectId: made.id, token: made.token }
}

const timeOf = (text: string | null): number | null => (text === null ? null : parseIsoTime(text))

async function remove({ kind, standing }: Change, accountId: string, services: SetUpServices): Promise<Made> {
  const objectId = standing?.id ?? ''
  switch (kind) {
    case 'account':
      await removeAccount(objectId, services)
      break
    case 'domain':
      await services.sendingDomains.remove(objectId)
      break
    case 'template':
      await services.templates.remove(accountId, objectId)
      break
    case 'webhook':
      await services.webhooks.remove({ accountId, sandbox: standing?.values['sandbox'] === true }, objectId)
      break
    case 'key':
      await services.apiKeys.revoke(objectId)
  }
  return { objectId }
}
