import { checkAccountName } from '../../senders/account/accounts.ts'
import { checkedPlan } from '../../senders/account/plan.ts'
import { SternaError } from '../../platform/errors.ts'
import { domainObject } from '../../senders/sending-domain/domain-object.ts'
import { contentFaults } from '../../mail/template/template-content.ts'
import { webhookUrlFault } from '../../notify/webhook/webhook-url.ts'
import { templateFieldsOf } from './carry-out.ts'
import {
  byIdentity,
  identityOf,
  objectLabel,
  type CurrentObject,
  type Values,
  type DesiredObject,
  type DesiredSetUp,
} from './set-up-object.ts'
import type { SetUpServices } from './current-state.ts'
import { usedBy } from './template-uses.ts'

/** An object as it will be, and what else there will be. */
interface Prospect {
  object: DesiredObject
  /** With those that stand and are not in the file. */
  values: Values
  /** Whether it has to be made. */
  isNew: boolean
  /** Whether its account will have it. */
  has(kind: DesiredObject['kind'], name: string): boolean
  services: Pick<SetUpServices, 'config' | 'clock'>
  fault(field: string, message: string): void
}

/**
 * What the operations would refuse, as far as it can be known before anything is changed.
 * @returns a line for each, with its place in the file
 */
export function faultsOfDesired({ objects }: DesiredSetUp, current: readonly CurrentObject[], services: Prospect['services']): string[] {
  const faults: string[] = []
  const [inFile, known] = [byIdentity(objects), byIdentity(current)]
  for (const object of objects) {
    const [found] = known.get(identityOf(object)) ?? []
    const prospect: Prospect = {
      object,
      values: { ...found?.values, ...object.values },
      isNew: found === undefined,
      has(kind, name) {
        const identity = identityOf({ kind, account: object.account, name })
        return inFile.has(identity) || known.has(identity)
      },
      services,
      fault: (field, message) => faults.push(`${object.places[field] ?? object.place}: ${message}`),
    }
    checks[object.kind](prospect)
  }
  return faults
}

const checks: Record<DesiredObject['kind'], (prospect: Prospect) => void> = {
  account: checkAccount,
  domain: checkDomain,
  template: checkTemplate,
  webhook: checkWebhook,
  key: checkKey,
}

/** What a check refuses is wrong with the field that it names, or with this one. */
function mustPass({ fault }: Prospect, field: string, check: () => unknown): void {
  try {
    check()
  } catch (error) {
    if (!(error instanceof SternaError)) throw error
    if (!error.faults) fault(field, `${field}: ${error.message}`)
    for (const named of error.faults ?? []) fault(fieldOf(named.field), named.message)
  }
}

function checkAccount(prospect: Prospect): void {
  const { name, values } = prospect.object
  mustPass(prospect, 'name', () => checkAccountName(name))
  if (values['plan'] !== undefined) mustPass(prospect, 'plan', () => checkedPlan(String(values['plan']), prospect.services.config.plans))
}

function checkDomain({ values, fault }: Prospect): void {
  if (values['tracking_subdomain'] === (values['custom_return_path'] ?? domainObject.initial.returnPathLabel))
    fault('tracking_subdomain', 'tracking_subdomain: it must differ from the label of the return path.')
}

function checkTemplate(prospect: Prospect): void {
  const { object, values, has, fault } = prospect
  if (typeof values['html'] !== 'string') return
  mustPass(prospect, 'alias', () => {
    const fields = templateFieldsOf(object.name, values)
    for (const { field, message } of contentFaults({ ...fields, variables: [] })) fault(fieldOf(field), message)
  })
  for (const used of usedBy(values).filter((name) => !name.startsWith('tpl_') && !has('template', name)))
    fault('layout', `${objectLabel(object)} uses the template ${used}, which is neither in the file nor in the account.`)
}

/** `variables` of `variables.0.key`. */
const fieldOf = (path: string): string => path.split('.')[0] ?? ''

function checkWebhook({ object, values, services: { config }, fault }: Prospect): void {
  const url = webhookUrlFault(String(object.values['url']), { allowHttp: config.webhooks.allowHttp })
  if (url !== null) fault('url', `url: it ${url}.`)
  const [username, password] = [values['basic_auth.username'] ?? null, values['basic_auth.password'] ?? null]
  if ((username === null) !== (password === null)) fault('basic_auth.username', 'basic_auth: give both username and password, or none.')
}

function checkKey({ object, values, isNew, has, services: { clock }, fault }: Prospect): void {
  const { domain, permission = domain ? 'sending_access' : 'full_access' } = values
  if (typeof domain === 'string' && permission !== 'sending_access')
    fault('domain', 'domain: only a key with the permission sending_access can be limited to a domain.')
  if (typeof object.values['domain'] === 'string' && !has('domain', object.values['domain']))
    fault('domain', `domain: the account ${object.account} has no domain ${object.values['domain']}, and the file adds none.`)
  const expiry = values['expires_at']
  if (isNew && typeof expiry === 'number' && expiry <= clock.now()) fault('expires_at', 'expires_at: this time is past.')
}
