import fc from 'fast-check'
import { anyCharacter } from './any-character.ts'

type Json = Record<string, unknown>

/**
 * In a generated text, the place of what is known only when the request is made: some id, or what is called so of that
 * which the request finds made for it.
 */
export const mark = /<(?:id (\d+)|own (\w+))>/g

/** The mark of some id. */
export const knownId = fc.nat({ max: 9999 }).map((number) => `<id ${number}>`)
const soon = fc.date({ min: new Date('2026-11-01'), max: new Date('2026-12-15'), noInvalidDate: true })
const time = fc.date({ min: new Date('2026-10-01'), max: new Date('2027-01-31'), noInvalidDate: true }).map((at) => at.toISOString())
const word = fc.stringMatching(/^[a-z][a-z0-9_-]{0,20}$/)
const mailbox = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .tuple(word, fc.constantFrom('sender.example', 'example.com', 'simulator.test'))
      .map(([local, domain]) => `${local}@${domain}`),
  },
  { weight: 2, arbitrary: fc.constantFrom('delivered@simulator.test', 'bounced@simulator.test', 'App <app@sender.example>') },
  { weight: 1, arbitrary: fc.emailAddress() },
)
const url = fc.constantFrom('https://hooks.example/in', 'http://hooks.example:8080/a?b=c', 'https://192.0.2.1/')
const base64 = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes).toString('base64'))
const domainName = word.map((label) => `${label.replaceAll('_', '-').replace(/-+$/, '')}.example`)
const own = (name: string): fc.Arbitrary<string> => fc.constant(`<own ${name}>`)
const template = fc.oneof(own('template'), knownId)
const author = fc.oneof({ weight: 2, arbitrary: mailbox }, { weight: 1, arbitrary: fc.constant('App <app@sender.example>') })
const variables = fc
  .dictionary(fc.oneof(word, mailbox), fc.dictionary(word, word, { maxKeys: 2 }), { maxKeys: 3 })
  .map((held) => JSON.stringify(held))
const rawMessage = fc
  .tuple(author, word)
  .map(([from, subject]) => ({ filename: 'message', content: `From: ${from}\r\nSubject: ${subject}\r\n\r\nHello\r\n` }))

/** What fields of these names are about, which their schemas cannot say. */
const byName: Record<string, fc.Arbitrary<unknown>> = {
  from: author,
  to: mailbox,
  cc: mailbox,
  bcc: mailbox,
  reply_to: mailbox,
  From: author,
  To: mailbox,
  Cc: mailbox,
  Bcc: mailbox,
  ReplyTo: mailbox,
  name: fc.oneof(own('name'), word),
  account_id: own('account'),
  plan: fc.constantFrom('enterprise', 'starter'),
  email: fc.oneof(mailbox, own('email')),
  password: own('password'),
  code: own('code'),
  id: template,
  template_id: template,
  template,
  TemplateId: template,
  TemplateAlias: template,
  message: rawMessage,
  emails: fc.array(mailbox, { maxLength: 5 }),
  url,
  endpoint: url,
  content: base64,
  Content: base64,
  domain_id: knownId,
  email_id: knownId,
  event_id: knownId,
  after: knownId,
  before: knownId,
  scheduled_at: fc.oneof({ weight: 3, arbitrary: soon.map((at) => at.toISOString()) }, { weight: 1, arbitrary: time }),
  't:variables': variables,
  'recipient-variables': variables,
  'o:deliverytime': soon.map((at) => at.toUTCString()),
  expires_at: time,
  since: time,
  until: time,
  start_date: time,
  end_date: time,
  timezone: fc.constantFrom('UTC', 'Europe/Berlin', 'Asia/Kathmandu'),
}

/** Those of them that are no texts. */
const wholes = new Set(['emails', 'message'])

/** Values that the schema allows, as far as schemas can be followed; `root` is what its references point into. */
export function fromSchema(schema: Json, root: Json, name = ''): fc.Arbitrary<unknown> {
  const hinted = byName[name]
  const isOther = (schema.type === 'array' || schema.type === 'object') && !wholes.has(name)
  if (hinted && !isOther && !('enum' in schema))
    return fc.oneof({ weight: 3, arbitrary: hinted }, { weight: 1, arbitrary: plain(schema, root) })
  return plain(schema, root)
}

function plain(schema: Json, root: Json): fc.Arbitrary<unknown> {
  if (typeof schema.$ref === 'string') return fromSchema(target(schema.$ref, root), root)
  if ('const' in schema) return fc.constant(schema.const)
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum)
  const branches = (schema.anyOf ?? schema.oneOf) as Json[] | undefined
  if (branches) return fc.oneof(...branches.map((branch) => fromSchema(branch, root)))
  const types = ([] as unknown[]).concat(schema.type ?? [])
  if (types.length === 0) return fc.jsonValue({ maxDepth: 2 })
  return fc.oneof(...types.map((type) => ofType(String(type), schema, root)))
}

function ofType(type: string, schema: Json, root: Json): fc.Arbitrary<unknown> {
  const bounds = { min: Number(schema.minimum ?? -1000), max: Number(schema.maximum ?? 1e6) }
  switch (type) {
    case 'null':
      return fc.constant(null)
    case 'boolean':
      return fc.boolean()
    case 'integer':
      return fc.integer({ min: Math.max(bounds.min, -(2 ** 31)), max: Math.min(bounds.max, 2 ** 31 - 1) })
    case 'number':
      return fc.double({ min: bounds.min, max: bounds.max, noNaN: true })
    case 'array':
      return fc.array(fromSchema((schema.items ?? {}) as Json, root), {
        minLength: Number(schema.minItems ?? 0),
        maxLength: Math.min(Number(schema.maxItems ?? 4), Number(schema.minItems ?? 0) + 4),
      })
    case 'object':
      return object(schema, root)
    default:
      return text(schema)
  }
}

function text(schema: Json): fc.Arbitrary<string> {
  if (schema.format === 'date-time') return time
  if (schema.format === 'email') return mailbox
  if (typeof schema.pattern === 'string') return fc.oneof(knownId, matching(schema.pattern))
  const minLength = Number(schema.minLength ?? 0)
  const maxLength = Math.max(minLength, Math.min(Number(schema.maxLength ?? 60), 60))
  return fc.oneof(word, domainName, mailbox, fc.string({ unit: anyCharacter, minLength, maxLength }), fc.string({ minLength, maxLength }))
}

function matching(pattern: string): fc.Arbitrary<string> {
  try {
    return fc.stringMatching(new RegExp(pattern))
  } catch {
    return word // It cannot make what has to match a look-ahead.
  }
}

function object(schema: Json, root: Json): fc.Arbitrary<unknown> {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Json>)
  const fields = Object.fromEntries(properties.map(([name, property]) => [name, fromSchema(property, root, name)]))
  const required = (schema.required ?? []) as string[]
  const demanded = required.filter((name) => name in fields)
  const many = fc.record(fields, { requiredKeys: demanded })
  // Each field that is there may be the one that is refused.
  const few = fc
    .tuple(many, fc.subarray(Object.keys(fields), { maxLength: Math.min(2, properties.length) }))
    .map(([value, kept]) => only(value, [...demanded, ...kept]))
  const declared = properties.length > 4 ? fc.oneof(many, few) : many
  const others = schema.additionalProperties
  if (others === undefined || others === false) return declared
  const keys = schema.propertyNames ? fromSchema(schema.propertyNames as Json, root).map(String) : word
  const free = fc.dictionary(keys, fromSchema(others === true ? {} : (others as Json), root), { maxKeys: 4 })
  return fc.tuple(free, declared).map(([first, second]) => ({ ...first, ...(second as object) }))
}

const only = (value: Json, names: string[]): Json => Object.fromEntries(Object.entries(value).filter(([name]) => names.includes(name)))

/** What an example shows of these is somebody else's, or taken. */
const ownInExamples = ['email', 'code', 'name', 'alias']

/** Values that are as the example is, except for a field or two that are as in a generated one. */
export const overlaid = (example: unknown, generated: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.tuple(generated, fc.array(fc.nat(), { maxLength: 2 })).map(([value, places]) => withFieldsOf(example, value, places))

function withFieldsOf(example: unknown, value: unknown, places: number[]): unknown {
  if (Array.isArray(example)) return example.map((one, place) => withFieldsOf(one, Array.isArray(value) ? value[place] : undefined, places))
  if (!isObject(example) || !isObject(value)) return example
  const names = Object.keys(value)
  const owned = Object.fromEntries(ownInExamples.filter((name) => name in example).map((name) => [name, `<own ${name}>`]))
  return {
    ...example,
    ...owned,
    ...only(
      value,
      places.map((place) => names[place % names.length] ?? ''),
    ),
  }
}

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

const target = (reference: string, root: Json): Json =>
  reference
    .replace(/^#\//, '')
    .split('/')
    .reduce<Json>((at, key) => at[key.replaceAll('~1', '/').replaceAll('~0', '~')] as Json, root)
