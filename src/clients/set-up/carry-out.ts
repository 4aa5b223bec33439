import { newTemplateFields, newTemplateSchema } from '../../api/resource/template-schema.ts'
import { given } from '../../api/resource/given.ts'
import { validate } from '../../api/operation/validate.ts'
import { Secret } from '../../platform/config/setting-types.ts'
import { isoTimeOrNull } from '../../platform/iso-time.ts'
import { byCommand } from '../../senders/account/audit-log.ts'
import { apiKeyObject } from '../../senders/account/api-key-object.ts'
import type { StoredToken } from '../../senders/account/api-key-token.ts'
import { webhookObject } from '../../notify/webhook/webhook-object.ts'
import type { Change } from './plan-changes.ts'
import { policyChanges } from './policy-values.ts'
import type { ObjectKind, Values } from './set-up-object.ts'
import type { SetUpServices } from './current-state.ts'

/** What came of a change. */
export interface Made {
  /** Of the object that it made or changed. */
  objectId: string
  /** A new API key, which is shown only now. */
  token?: string
}

/** How long an old token or secret works beside its successor, ms. */
const overlapMs = 86_400_000

/** What the operations on a kind are called, and the parameter of their path. */
const operationsOn: Record<ObjectKind, [resource: string, param: string]> = {
  account: ['accounts', 'id'],
  domain: ['domains', 'idOrName'],
  template: ['templates', 'idOrAlias'],
  webhook: ['webhooks', 'id'],
  key: ['api_keys', 'id'],
}

/** A change, and what makes it. */
interface Making extends Pick<Change, 'kind' | 'name' | 'current'> {
  services: SetUpServices
  scope: { accountId: string; sandbox: boolean }
  /** What is to be written, by field. */
  values: Values
  /** The same as a request would bring it. */
  body: Values
  /** Carries out an operation on a new object, or on that with this id. */
  call(operation: string, body: Values, id?: string): Promise<{ id: string; token?: string }>
}

/**
 * Makes one change by operations of the API, and records it as one.
 * @throws SternaError whatever an operation refuses
 */
export async function carryOut(change: Change, services: SetUpServices): Promise<Made> {
  const { action, account, kind, name, current, fields } = change
  const accountId = services.accounts.findAccount(account)?.id ?? ''
  const values = Object.fromEntries(fields.map((field) => [field.name, field.to]))
  const { sandbox } = { ...current?.values, ...values }
  // Nobody deletes the account that they act as.
  const scope = { accountId: kind === 'account' ? '' : accountId, sandbox: kind === 'webhook' && sandbox === true }
  const call: Making['call'] = async (operation, body, id) => {
    const params = id === undefined ? {} : { [operationsOn[kind][1]]: id }
    return (await services.perform(operation, { scope, params, body, isRecorded: true })) as { id: string }
  }
  const making: Making = { kind, name, current, services, scope, values, body: nestedValues(values, current?.values), call }
  const made = await (action === 'remove' ? remove(making) : makers[kind](making))
  await services.audit.record({
    accountId: kind === 'account' ? made.objectId : accountId,
    ...byCommand,
    operation: `apply ${action}`,
    objectId: made.objectId,
    fields: Object.keys(values),
  })
  return made
}

const makers: Record<ObjectKind, (making: Making) => Promise<Made>> = {
  account: makeAccount,
  domain: makeDomain,
  template: makeTemplate,
  webhook: makeWebhook,
  key: makeKey,
}

/** `a.b` as `b` within `a`, with what it keeps, and secrets in clear. */
function nestedValues(written: Values, current: Values = {}): Values {
  const heads = [...new Set(Object.keys(written).map((name) => name.split('.')[0] ?? ''))]
  return Object.fromEntries(heads.map((head) => [head, head in written ? clear(written[head]) : partsIn({ ...current, ...written }, head)]))
}

function partsIn(values: Values, head: string): Values | null {
  const parts = Object.entries(values).flatMap(([name, value]) =>
    name.startsWith(`${head}.`) ? [[name.slice(head.length + 1), clear(value)] as const] : [],
  )
  return parts.every(([, value]) => value === null) ? null : Object.fromEntries(parts)
}

const clear = (value: unknown): unknown => (value instanceof Secret ? value.reveal() : value)

const isGiven = (values: object): boolean => Object.keys(values).length > 0

/** Makes the object with all that a new one takes, or changes what can be changed. Returns its id. */
async function createOrUpdate({ kind, current, call }: Making, creation: Values, update: Values): Promise<string> {
  const [resource] = operationsOn[kind]
  if (!current) return (await call(`${resource}.create`, creation)).id
  if (isGiven(update)) await call(`${resource}.update`, update, current.id)
  return current.id
}

async function makeAccount(making: Making): Promise<Made> {
  const { current, values, call } = making
  const { name, plan, status } = values
  const objectId = await createOrUpdate(making, given({ name, plan }), given({ plan, status }))
  if (!current && status !== undefined) await call('accounts.update', { status }, objectId)
  for (const [operation, body] of policyChanges('account', values)) await call(operation, body, objectId)
  return { objectId }
}

async function makeDomain(making: Making): Promise<Made> {
  const { current, values, call } = making
  const { quota: _, dkim_selector, dkim_private_key, ...settings } = making.body
  const keys = given({ dkim_selector, dkim_private_key })
  const objectId = await createOrUpdate(making, { ...settings, ...keys }, settings)
  for (const [operation, body] of policyChanges('domain', values)) await call(operation, body, objectId)
  if (current && isGiven(keys)) await call('domains.rotate_dkim', keys, objectId)
  return { objectId }
}

/** The fields of a template with these values. @throws SternaError `validation_error`, with the names of the fields */
export const templateFieldsOf = (alias: string, values: Values) =>
  newTemplateFields(validate(newTemplateSchema, { name: alias, alias, ...values }))

async function makeTemplate(making: Making): Promise<Made> {
  const { name: alias, current, call } = making
  const { published = current?.values['published'] ?? true, ...body } = making.body
  const objectId = await createOrUpdate(making, { name: alias, alias, ...body }, body)
  if (published !== false) await call('templates.publish', {}, objectId)
  return { objectId }
}

/** The API takes no secret that is made elsewhere. */
async function makeWebhook(making: Making): Promise<Made> {
  const { current, scope, services } = making
  const { secret, sandbox: _, ...body } = making.body
  if (!current && typeof secret === 'string')
    return { objectId: (await services.webhooks.create(scope, { url: '', ...webhookObject.membersIn(body) }, secret)).id }
  const objectId = await createOrUpdate(making, body, body)
  if (typeof secret === 'string') await services.webhooks.rotateSecret(scope, objectId, { overlapMs, force: true, secret })
  return { objectId }
}

/** The API takes no token that is made elsewhere, and changes nothing of a key but its name. */
async function makeKey({ name, current, values, call, scope: { accountId }, services }: Making): Promise<Made> {
  const { apiKeys, sendingDomains } = services
  const { domain, token, ...others } = values
  if (!current && token === undefined) {
    const { expires_at: expiresAt = null, ...body } = others
    const made = await call('api_keys.create', { name, ...body, domain_id: domain, expires_at: isoTimeOrNull(expiresAt as number | null) })
    return { objectId: made.id, token: made.token ?? '' }
  }
  const domainId = typeof domain === 'string' ? sendingDomains.get(accountId, domain).id : domain
  const fields = apiKeyObject.membersIn({ ...others, domain_id: domainId })
  if (!current) {
    const permission = domainId ? 'sending_access' : 'full_access'
    return { objectId: await apiKeys.adopt({ permission, ...fields, accountId, name }, token as StoredToken) }
  }
  if (isGiven(fields)) await apiKeys.change(current.id, fields)
  if (token) await apiKeys.rotateTo(current.id, token as StoredToken, { overlapMs, force: true })
  return { objectId: current.id }
}

async function remove({ kind, current, call }: Making): Promise<Made> {
  const objectId = current?.id ?? ''
  await call(`${operationsOn[kind][0]}.delete`, {}, objectId)
  return { objectId }
}
