import type { OwnLimit } from '../../senders/account/mail-quotas.ts'
import { permissions } from '../../senders/account/permission.ts'
import { isWellFormed, storedToken, type StoredToken } from '../../senders/account/api-key-token.ts'
import {
  choice,
  duration,
  shortDuration,
  flag,
  list,
  optional,
  Secret,
  secret,
  SettingFault,
  text,
  whole,
  type SettingType,
} from '../../platform/config/setting-types.ts'
import { nearestName } from '../../platform/config/nearest-name.ts'
import { SternaError } from '../../platform/errors.ts'
import { isoTime, parseIsoTime } from '../../platform/iso-time.ts'
import { domainTlsPolicies } from '../../senders/sending-domain/domain.ts'
import { parseOwnKey } from '../../senders/sending-domain/domain-keys.ts'
import { parseDomainName, parseLabel, parseSelector } from '../../senders/sending-domain/sending-domain-name.ts'
import type { WebhookEventType } from '../../mail/event/event-type.ts'
import { subscribedEvents, usualEvents } from '../../notify/webhook/event-subscription.ts'
import { payloadKinds } from '../../notify/webhook/payload-kind.ts'
import { isSecret } from '../../notify/webhook/sign-webhook.ts'
import type { ObjectKind } from './set-up-object.ts'

/** A field of an object in the file: how to read it, compare it and show it. */
export interface Field {
  type: SettingType<unknown>
  doc: string
  /** Whether the value may be, or has to be, `{env: NAME}` or `{file: PATH}`. */
  reference?: 'allowed' | 'required'
  /** What to do instead if it cannot change any more. */
  fixed?: string
  /** Whether what stands is what is wanted; by default, whether they are equal. */
  isMet?(wanted: unknown, standing: unknown): boolean
  /** How a plan shows it, if not by its value. */
  shown?: 'not' | 'length'
  /** How a number is written. */
  words?(value: number): string
}

/** A type whose rules are those of an operation. */
const checked = <T>(title: string, parse: (given: string) => T): SettingType<T> => ({
  title,
  parse(given) {
    if (typeof given !== 'string') throw new SettingFault(`${JSON.stringify(given)} is not text.`)
    try {
      return parse(given)
    } catch (error) {
      throw error instanceof SternaError ? new SettingFault(error.message) : error
    }
  },
})

const time: SettingType<string> = checked('time', (given) => {
  const at = parseIsoTime(given)
  if (at === null) throw new SettingFault(`"${given}" is not a time. Write it like 2027-01-01T00:00:00Z.`)
  return isoTime(at)
})

const anyText: SettingType<string> = {
  title: 'text',
  parse(given) {
    if (typeof given === 'string') return given
    throw new SettingFault(`${JSON.stringify(given)} is not text.`)
  },
}

const recipients = whole(0, 1_000_000_000)
const ownLimit: SettingType<OwnLimit> = {
  title: 'whole number, unlimited, or none',
  parse: (given) => (given === 'unlimited' ? given : optional(recipients).parse(given)),
}

/** A token itself, from where it is kept, or its hash. */
const token: SettingType<StoredToken> = {
  title: 'a reference, or {sha256, prefix}',
  parse(given) {
    if (typeof given === 'string') {
      if (isWellFormed(given)) return storedToken(given)
      throw new SettingFault('what it refers to is not an API key of Sterna. Make one with: sterna key generate')
    }
    const { sha256, prefix, ...more } = (given ?? {}) as Record<string, unknown>
    const isHash = typeof sha256 === 'string' && /^[0-9a-f]{64}$/.test(sha256)
    if (isHash && typeof prefix === 'string' && /^sterna_(?:live|test)_\w{6}$/.test(prefix) && Object.keys(more).length === 0)
      return { digest: sha256, prefix }
    throw new SettingFault('this is neither {env: NAME}, {file: PATH} nor {sha256: …, prefix: …}.')
  },
}

const signingSecret: SettingType<Secret> = {
  title: 'secret',
  parse(given) {
    if (typeof given === 'string' && isSecret(given)) return new Secret(given)
    throw new SettingFault('what it refers to is not a signing secret: whsec_ and 24 to 64 bytes in base64.')
  },
}

const privateKey: SettingType<Secret> = {
  title: 'secret',
  parse: (given) => new Secret(checked('PEM', (pem) => (parseOwnKey(pem), pem)).parse(given)),
}

const events: SettingType<WebhookEventType[]> = {
  title: 'list of: event',
  parse(given) {
    try {
      return subscribedEvents(list(text).parse(given)) ?? usualEvents('standard')
    } catch (error) {
      throw error instanceof SternaError ? new SettingFault(error.message) : error
    }
  },
}

/** A variable that a template declares. */
export interface VariableValue {
  key: string
  type: 'string' | 'number'
  fallback_value: string | number | null
}

const variableFields = ['key', 'type', 'fallback_value']

const variable: SettingType<VariableValue> = {
  title: '{key, type, fallback_value}',
  parse(given) {
    if (typeof given !== 'object' || given === null || Array.isArray(given))
      throw new SettingFault(`${JSON.stringify(given)} is not a variable. Write it like {key: name, type: string, fallback_value: you}.`)
    const unknown = Object.keys(given).find((name) => !variableFields.includes(name))
    if (unknown !== undefined) {
      const near = nearestName(unknown, variableFields)
      throw new SettingFault(`a variable has no ${unknown}${near ? `; did you mean ${near}?` : `, only ${variableFields.join(', ')}.`}`)
    }
    const { key, type, fallback_value: fallback = null } = given as Record<string, unknown>
    return {
      key: text.parse(key),
      type: choice('string', 'number').parse(type),
      fallback_value: typeof fallback === 'number' || fallback === null ? fallback : anyText.parse(fallback),
    }
  },
}

const isSecretMet = (wanted: unknown, standing: unknown): boolean =>
  wanted instanceof Secret ? standing instanceof Secret && wanted.reveal() === standing.reveal() : wanted === standing

const includes = (wanted: unknown, standing: unknown): boolean => Array.isArray(standing) && standing.includes(wanted)

const accountFields: Record<string, Field> = {
  name: { type: text, doc: 'What the account is called. Required.' },
  plan: { type: text, doc: 'One of the plans in the setting `plans`. A new account gets `accounts.default_plan`.' },
  status: { type: choice('active', 'suspended'), doc: 'A suspended account cannot send. Default: active.' },
  delivery_notices: { type: flag, doc: 'Whether those who submit over SMTP get delivery notices by mail. Default: false.' },
  'quota.day': {
    type: ownLimit,
    doc: 'Recipients per day, in UTC, in place of the setting `quotas.daily`; `unlimited`, or none for the setting.',
  },
  'quota.month': { type: ownLimit, doc: 'Recipients per month, likewise.' },
  'suppression_policy.hard_bounces': { type: optional(flag), doc: 'In place of the setting `suppression.hard_bounces`.' },
  'suppression_policy.complaints': { type: optional(flag), doc: 'In place of `suppression.complaints`.' },
  'suppression_policy.soft_bounces': { type: optional(whole(0, 1000)), doc: 'In place of `suppression.soft_bounces`.' },
  'suppression_policy.expiry': { type: optional(duration), doc: 'In place of `suppression.expiry`.', words: shortDuration },
}

const domainFields: Record<string, Field> = {
  name: { type: checked('domain name', parseDomainName), doc: 'The domain, such as example.com. Required.' },
  custom_return_path: {
    type: checked('label', (given) => parseLabel(given, 'custom_return_path')),
    doc: 'The label of the return path. Default: send.',
    fixed: 'Remove the domain and add it again to have another one',
  },
  tls: { type: choice(...domainTlsPolicies), doc: '`enforced`: never without TLS to a valid certificate. Default: opportunistic.' },
  subdomains: { type: flag, doc: 'Whether names below it are covered. Default: true.' },
  open_tracking: { type: flag, doc: 'Whether opens are tracked, unless an email says otherwise. Default: false.' },
  click_tracking: { type: flag, doc: 'Whether clicks are tracked, unless an email says otherwise. Default: false.' },
  tracking_subdomain: {
    type: optional(checked('label', (given) => parseLabel(given, 'tracking_subdomain'))),
    doc: 'The label for tracking links. Default: none.',
  },
  'quota.day': { type: ownLimit, doc: 'Recipients per day, in UTC, besides the quota of the account.' },
  'quota.month': { type: ownLimit, doc: 'Recipients per month, likewise.' },
  dkim_selector: {
    type: checked('selector', parseSelector),
    doc: 'The selector of the RSA key, or of `dkim_private_key`. A new one means new keys, whose records you publish first.',
    isMet: includes,
  },
  dkim_private_key: {
    type: privateKey,
    doc: 'A private key in PEM: RSA with 2048 to 4096 bits, or Ed25519. Without it, Sterna generates the keys.',
    reference: 'required',
    shown: 'not',
    isMet: (wanted, standing) => includes(parseOwnKey((wanted as Secret).reveal()).publicKey, standing),
  },
}

const templateFields: Record<string, Field> = {
  alias: { type: text, doc: 'By which emails name it. Required.' },
  name: { type: text, doc: 'For people. Default: the alias.' },
  subject: { type: optional(text), doc: 'Default: none, so that each email brings its own.' },
  html: { type: anyText, doc: 'The HTML, or where it is. Required for a new template.', reference: 'allowed', shown: 'length' },
  text: {
    type: optional(anyText),
    doc: 'The plain text, or where it is. None: made from the HTML; empty: no text.',
    reference: 'allowed',
    shown: 'length',
  },
  from: { type: optional(text), doc: 'The sender, unless an email has one. Default: none.' },
  reply_to: { type: list(text), doc: 'Where replies go. Default: none.' },
  layout: { type: optional(text), doc: 'The alias of its layout. Default: none.' },
  variables: { type: list(variable), doc: 'Variables that are required or have a fallback.' },
  published: {
    type: flag,
    doc: 'Whether the newest version is what is sent. With false, changes stay a draft. Default: true.',
    isMet: (wanted, standing) => wanted === false || standing === true,
  },
}

const webhookFields: Record<string, Field> = {
  url: { type: text, doc: 'Where events are posted. Required.' },
  sandbox: { type: flag, doc: 'Whether it is for the sandbox. One URL may have a webhook for each. Default: false.' },
  events: { type: events, doc: 'Which events. Default: all that exist but email.deferred.' },
  description: { type: optional(text), doc: 'What it is for.' },
  payload: { type: choice(...payloadKinds), doc: 'What is posted. Default: standard.' },
  include_bots: { type: flag, doc: 'Whether opens and clicks by machines are posted. Default: false.' },
  status: { type: choice('enabled', 'disabled'), doc: 'Default: enabled.' },
  secret: {
    type: signingSecret,
    doc: 'The signing secret, `whsec_…`. Without it, Sterna generates one. A new one signs beside the old one for a day.',
    reference: 'required',
    shown: 'not',
    isMet: isSecretMet,
  },
  'basic_auth.username': { type: optional(text), doc: 'What each request shows as its user name.' },
  'basic_auth.password': { type: optional(secret), doc: 'The password for it.', reference: 'required', shown: 'not', isMet: isSecretMet },
}

const keyFields: Record<string, Field> = {
  name: { type: text, doc: 'What the key is for. Required.' },
  permission: { type: choice(...permissions), doc: 'What it may do. Default: full_access, or sending_access with a domain.' },
  domain: { type: optional(checked('domain name', parseDomainName)), doc: 'The only domain that it may send from. Default: none.' },
  sandbox: { type: flag, doc: 'Whether it is for the sandbox. Default: false.', fixed: 'Give a key for the other mode another name' },
  expires_at: { type: optional(time), doc: 'When it expires. Default: never.' },
  token: {
    type: token,
    doc:
      'The key itself, as `sterna key generate` prints one; only its hash is stored. Also `{sha256: …, prefix: …}`, as `sterna config ' +
      'export` writes it. Without it, a new key is printed once. A new token works beside the old one for a day.',
    reference: 'required',
    shown: 'not',
    isMet: (wanted, standing) => (wanted as StoredToken).digest === standing,
  },
}

/** The fields of each kind; the first one names the object. */
export const setUpFields: Record<ObjectKind, Record<string, Field>> = {
  account: accountFields,
  domain: domainFields,
  template: templateFields,
  webhook: webhookFields,
  key: keyFields,
}

/** The name of an object by its values: what its first field says, and for a webhook also its mode. */
export function nameOf(kind: ObjectKind, values: Record<string, unknown>): string {
  const name = String(values[Object.keys(setUpFields[kind])[0] ?? ''] ?? '')
  return kind === 'webhook' && values['sandbox'] === true ? `${name} (sandbox)` : name
}
