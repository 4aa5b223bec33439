import { newTemplateFields, newTemplateSchema } from '../../api/resource/template-schema.ts'
import { validate } from '../../api/operation/validate.ts'
import { Secret } from '../../platform/config/setting-types.ts'
import { parseIsoTime } from '../../platform/iso-time.ts'
import type { StoredToken } from '../../senders/account/api-key-token.ts'
import type { Permission } from '../../senders/account/permission.ts'
import { webhookObject } from '../../notify/webhook/webhook-object.ts'
import type { OperationCall } from '../../api/operation/operation-client.ts'
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

/**
 * Makes one change by operations of the API, and records it as one.
 * @throws SternaError whatever an operation refuses
 */
export async function carryOut(change: Change, services: SetUpServices): Promise<Made> {
  const accountId = services.accounts.findAccount(change.account)?.id ?? ''
  const making: Making = {
    change,
    accountId,
    services,
    call: (id, { sandbox = false, ...call }) =>
      services.perform(id, { ...call, scope: { accountId, sandbox }, isRecorded: true }) as Promise<{ id: string }>,
  }
  const made = await (change.action === 'remove' ? remove(making) : makers[change.kind](making))
  await services.audit.record({
    accountId: change.kind === 'account' ? made.objectId : accountId,
    actor: { type: 'command', id: null, name: 'command line' },
    operation: `apply ${change.action}`,
    objectId: made.objectId,
    fields: change.fields.map(({ name }) => name),
    address: null,
    requestId: null,
  })
  return made
}

/** A change, and what makes it. */
interface Making {
  change: Change
  accountId: string
  services: SetUpServices
  call(id: string, call: Pick<OperationCall, 'params' | 'body'> & { sandbox?: boolean }): Promise<{ id: string; token?: string }>
}

const makers: Record<ObjectKind, (making: Making) => Promise<Made>> = {
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
  const all: Values = { ...change.current?.values, ...written }
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

const isGiven = (values: object): boolean => Object.keys(values).length > 0

async function makeAccount({ change, call }: Making): Promise<Made> {
  const values = writtenBy(change)
  const { name, plan, status } = values
  const own = plan === undefined ? {} : { plan }
  const id = change.current?.id ?? (await call('accounts.create', { body: { name, ...own } })).id
  const changed = { ...(change.current ? own : {}), ...(status === undefined ? {} : { status }) }
  if (isGiven(changed)) await call('accounts.update', { params: { id }, body: changed })
  for (const [operation, body] of policyChanges('account', values)) await call(operation, { params: { id }, body })
  return { objectId: id }
}

async function makeDomain({ change, call }: Making): Promise<Made> {
  const { quota: _, dkim_selector: selector, dkim_private_key: privateKey, ...settings } = nestedValues(change)
  const keys = {
    ...(selector === undefined ? {} : { dkim_selector: selector }),
    ...(privateKey === undefined ? {} : { dkim_private_key: privateKey }),
  }
  const id = change.current?.id ?? (await call('domains.create', { body: { ...settings, ...keys } })).id
  const params = { idOrName: id }
  if (change.current && isGiven(settings)) await call('domains.update', { params, body: settings })
  for (const [operation, body] of policyChanges('domain', writtenBy(change))) await call(operation, { params, body })
  if (change.current && isGiven(keys)) await call('domains.rotate_dkim', { params, body: keys })
  return { objectId: id }
}

/** The fields of a template with these values. @throws SternaError `validation_error`, with the names of the fields */
export const templateFieldsOf = (alias: string, values: Values) =>
  newTemplateFields(validate(newTemplateSchema, { name: alias, alias, ...values }))

async function makeTemplate({ change: { current, name: alias, ...change }, call }: Making): Promise<Made> {
  const { published = current?.values['published'] ?? true, ...body } = nestedValues({ ...change, current, name: alias })
  const id = current?.id ?? (await call('templates.create', { body: { name: alias, alias, ...body } })).id
  const params = { idOrAlias: id }
  if (current && isGiven(body)) await call('templates.update', { params, body })
  if (published !== false) await call('templates.publish', { params })
  return { objectId: id }
}

/** The API takes no secret that is made elsewhere. */
async function makeWebhook({ change, accountId, services, call }: Making): Promise<Made> {
  const { current } = change
  const { secret, sandbox: desired = current?.values['sandbox'], ...body } = nestedValues(change)
  const sandbox = desired === true
  const scope = { accountId, sandbox }
  if (current) {
    const { id } = current
    if (isGiven(body)) await call('webhooks.update', { sandbox, params: { id }, body })
    if (typeof secret === 'string') await services.webhooks.rotateSecret(scope, id, { overlapMs, force: true, secret })
    return { objectId: id }
  }
  if (typeof secret !== 'string') return { objectId: (await call('webhooks.create', { sandbox, body })).id }
  return { objectId: (await services.webhooks.create(scope, { url: '', ...webhookObject.membersIn(body) }, secret)).id }
}

/** The API takes no token that is made elsewhere, and changes nothing of a key but its name. */
async function makeKey({ change, accountId, services: { apiKeys, sendingDomains }, call }: Making): Promise<Made> {
  const { domain, token, ...body } = writtenBy(change)
  const { current, name } = change
  if (!current && token === undefined) {
    const made = await call('api_keys.create', { body: { name, ...body, ...(domain === undefined ? {} : { domain_id: domain }) } })
    return { objectId: made.id, token: made.token ?? '' }
  }
  const { permission, expires_at: expiresAt, sandbox } = body as { permission?: Permission; expires_at?: string | null; sandbox?: boolean }
  const limits = {
    ...(permission === undefined ? {} : { permission }),
    ...(domain === undefined ? {} : { domainId: typeof domain === 'string' ? sendingDomains.get(accountId, domain).id : null }),
    ...(expiresAt === undefined ? {} : { expiresAt: expiresAt === null ? null : parseIsoTime(expiresAt) }),
  }
  if (!current) {
    const standard: Permission = typeof domain === 'string' ? 'sending_access' : 'full_access'
    const desired = { accountId, name, permission: standard, sandbox: sandbox === true, ...limits }
    return { objectId: await apiKeys.adopt(desired, token as StoredToken) }
  }
  if (isGiven(limits)) await apiKeys.change(current.id, limits)
  if (token) await apiKeys.rotateTo(current.id, token as StoredToken, { overlapMs, force: true })
  return { objectId: current.id }
}

const removing: Record<ObjectKind, [operation: string, param: string]> = {
  account: ['accounts.delete', 'id'],
  domain: ['domains.delete', 'idOrName'],
  template: ['templates.delete', 'idOrAlias'],
  webhook: ['webhooks.delete', 'id'],
  key: ['api_keys.delete', 'id'],
}

async function remove({ change: { kind, current }, services, call }: Making): Promise<Made> {
  const objectId = current?.id ?? ''
  const [operation, param] = removing[kind]
  const params = { [param]: objectId }
  // Nobody deletes the account that they act as.
  if (kind === 'account') await services.perform(operation, { scope: { accountId: '', sandbox: false }, params, isRecorded: true })
  else await call(operation, { sandbox: current?.values['sandbox'] === true && kind === 'webhook', params })
  return { objectId }
}
