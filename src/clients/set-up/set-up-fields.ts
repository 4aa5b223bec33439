import { z } from 'zod'
import { accountStatuses } from '../../senders/account/accounts.ts'
import { isWellFormed, storedToken, type StoredToken } from '../../senders/account/api-key-token.ts'
import { apiKeyObject } from '../../senders/account/api-key-object.ts'
import { asWritten, textTypeOf } from '../../senders/account/policy-text.ts'
import type { PolicyField } from '../../senders/account/policy.ts'
import { Secret, SettingFault } from '../../platform/config/setting-types.ts'
import { apiTypeOf } from '../../api/resource/account-policy-operations.ts'
import { SternaError } from '../../platform/errors.ts'
import { isoTime } from '../../platform/iso-time.ts'
import { camel } from '../../platform/letter-case.ts'
import { docWithDefault, type ManagedField } from '../../platform/managed-object.ts'
import { domainObject } from '../../senders/sending-domain/domain-object.ts'
import { parseOwnKey } from '../../senders/sending-domain/domain-keys.ts'
import { parseSelector } from '../../senders/sending-domain/sending-domain-name.ts'
import { isSecret } from '../../notify/webhook/sign-webhook.ts'
import { webhookEvents, webhookObject } from '../../notify/webhook/webhook-object.ts'
import { isTime, partsOf } from './file-value.ts'
import { policyFieldsOf } from './policy-values.ts'
import type { ObjectKind } from './set-up-object.ts'

/** A field of an object in the file: how to read it, compare it and show it. */
export interface Field {
  type: z.ZodType
  doc: string
  /** Whether the value may be, or has to be, `{env: NAME}` or `{file: PATH}`; then a plan does not show it. */
  reference?: 'allowed' | 'required'
  /** What to do instead if it cannot change any more. */
  fixed?: string
  /** Whether what stands is what is wanted; by default, whether they are equal. */
  isMet?(desired: unknown, current: unknown): boolean
  /** How a value is written, if not as it is. */
  words?(value: unknown): unknown
  /** The value of an object that stands. */
  read?(object: object): unknown
}

type Fields = Record<string, Field>

/** The fields of a managed object. The members of a value that is an object are fields of their own. */
const fieldsOf = (fields: Readonly<Record<string, ManagedField>>): Fields =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, field]): [string, Field][] => {
      const read = (object: object): unknown => (object as Record<string, unknown>)[field.member ?? camel(name)]
      const parts = partsOf(field.type)
      const fixed = field.once === undefined ? {} : { fixed: field.once }
      const isRequired = !('initial' in field) && field.usual === undefined
      const doc = `${docWithDefault(field)}${isRequired ? ' Required.' : ''}`
      const words = isTime(field.type) ? { words: (at: unknown) => isoTime(at as number) } : {}
      if (parts === null) return [[name, { type: field.type, doc, read, ...words, ...fixed }]]
      return Object.entries(parts).map(([part, type]) => {
        const isSecretPart = field.secrets?.includes(part) === true
        const readPart = (object: object): unknown => {
          const value = (read(object) as Record<string, unknown> | null)?.[part] ?? null
          return isSecretPart && typeof value === 'string' ? new Secret(value) : value
        }
        const reference = isSecretPart ? { reference: 'required' as const } : {}
        return [`${name}.${part}`, { type: type.nullable(), doc: type.description ?? field.doc, read: readPart, ...reference, ...fixed }]
      })
    }),
  )

/** A type whose rules are those of a parser. */
const parsed = <T>(title: string, parse: (given: unknown) => T) =>
  z
    .unknown()
    .transform((given) => {
      try {
        return parse(given)
      } catch (error) {
        throw error instanceof SettingFault ? new SternaError('validation_error', error.message) : error
      }
    })
    .meta({ title })

/** The fields of policies. `otherwise`: what applies if there is none. */
const policyFields = (kind: 'account' | 'domain', otherwise: (field: PolicyField) => string): Fields =>
  Object.fromEntries(
    policyFieldsOf(kind).map(({ field }) => {
      const { title, parse } = textTypeOf(field)
      const isOwnForm = field.kind.startsWith('duration') || field.kind === 'recipientTls'
      const type = isOwnForm ? parsed(title, parse) : apiTypeOf(field)
      const words = (value: unknown): unknown => asWritten(field, value)
      return [field.name, { type: field.setting === null ? type : type.nullable(), doc: `${field.doc} ${otherwise(field)}`, words }]
    }),
  )

const text = z.string().min(1)

/** A token itself, from where it is kept, or its hash. */
const token = parsed('a reference, or {sha256, prefix}', (given): StoredToken => {
  if (typeof given === 'string') {
    if (isWellFormed(given)) return storedToken(given)
    throw new SettingFault('what it refers to is not an API key of Sterna. Make one with: sterna key generate')
  }
  const { sha256, prefix, ...more } = (given ?? {}) as Record<string, unknown>
  const isHash = typeof sha256 === 'string' && /^[0-9a-f]{64}$/.test(sha256)
  if (isHash && typeof prefix === 'string' && /^sterna_(?:live|test)_\w{6}$/.test(prefix) && Object.keys(more).length === 0)
    return { digest: sha256, prefix }
  throw new SettingFault('this is neither {env: NAME}, {file: PATH} nor {sha256: …, prefix: …}.')
})

const signingSecret = z.string().refine(isSecret, 'it is not a signing secret: whsec_ and 24 to 64 bytes in base64')

const privateKey = z.string().transform((pem) => {
  parseOwnKey(pem)
  return pem
})

/** A variable that a template declares. */
const variable = z.strictObject({
  key: text,
  type: z.enum(['string', 'number']),
  fallback_value: z.union([z.string(), z.number()]).nullable().default(null),
})

const includes = (desired: unknown, current: unknown): boolean => Array.isArray(current) && current.includes(desired)

const accountFields: Fields = {
  name: { type: text, doc: 'What the account is called. Required.' },
  plan: { type: text, doc: 'One of the plans in the setting `plans`. A new account gets `accounts.default_plan`.' },
  status: { type: z.enum(accountStatuses), doc: 'A suspended account cannot send. Default: active.' },
  ...policyFields('account', ({ setting }) => `Default: ${setting === null ? 'false' : `the setting \`${setting}\``}.`),
}

const domainFields: Fields = {
  ...fieldsOf(domainObject.fields),
  ...policyFields('domain', () => 'Default: no limit but the quota of the account.'),
  dkim_selector: {
    type: text.transform(parseSelector).meta({ title: 'selector' }),
    doc: 'The selector of the RSA key, or of `dkim_private_key`. A new one means new keys, whose records you publish first.',
    isMet: includes,
  },
  dkim_private_key: {
    type: privateKey,
    doc: 'A private key in PEM: RSA with 2048 to 4096 bits, or Ed25519. Without it, Sterna generates the keys.',
    reference: 'required',
    isMet: (desired, current) => includes(parseOwnKey((desired as Secret).reveal()).publicKey, current),
  },
}

const templateFields: Fields = {
  alias: { type: text, doc: 'By which emails name it. Required.' },
  name: { type: text, doc: 'For people. Default: the alias.' },
  subject: { type: text.nullable(), doc: 'Default: none, so that each email brings its own.' },
  html: { type: z.string(), doc: 'The HTML, or where it is. Required for a new template.', reference: 'allowed' },
  text: {
    type: z.string().nullable(),
    doc: 'The plain text, or where it is. None: made from the HTML; empty: no text.',
    reference: 'allowed',
  },
  from: { type: text.nullable(), doc: 'The sender, unless an email has one. Default: none.' },
  reply_to: { type: z.array(text), doc: 'Where replies go. Default: none.' },
  layout: { type: text.nullable(), doc: 'The alias of its layout. Default: none.' },
  variables: { type: z.array(variable), doc: 'Variables that are required or have a fallback.' },
  published: {
    type: z.boolean(),
    doc: 'Whether the newest version is what is sent. With false, changes stay a draft. Default: true.',
    isMet: (desired, current) => desired === false || current === true,
  },
}

const webhooks = fieldsOf(webhookObject.fields)
const webhookFields: Fields = {
  ...webhooks,
  events: { ...webhooks['events'], type: webhookEvents, doc: docWithDefault(webhookObject.fields.events) },
  secret: {
    type: signingSecret,
    doc: 'The signing secret, `whsec_…`. Without it, Sterna generates one. A new one signs beside the old one for a day.',
    reference: 'required',
    read: (webhook) => new Secret((webhook as { secret: string }).secret),
  },
}

const { domain_id: _, ...fieldsOfKey } = apiKeyObject.fields
const keyFields: Fields = {
  ...fieldsOf(fieldsOfKey),
  domain: { type: domainObject.fields.name.type.nullable(), doc: 'The only domain that it may send from. Default: none.' },
  token: {
    type: token,
    doc:
      'The key itself, as `sterna key generate` prints one; only its hash is stored. Also `{sha256: …, prefix: …}`, as `sterna config ' +
      'export` writes it. Without it, a new key is printed once. A new token works beside the old one for a day.',
    reference: 'required',
    isMet: (desired, current) => (desired as StoredToken).digest === current,
  },
}

/** The fields of each kind; the first one names the object. */
export const setUpFields: Record<ObjectKind, Fields> = {
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

/** What an object that stands has, by the fields that say how to read it. */
export const valuesOf = (kind: ObjectKind, object: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(setUpFields[kind]).flatMap(([name, { read }]) => (read ? [[name, read(object)]] : [])))
