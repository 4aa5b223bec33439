import { headerReferences } from './openapi-headers.ts'
import type { JsonSchema } from './openapi-schema.ts'

const text: JsonSchema = { type: 'string' }
const textOrNull: JsonSchema = { type: ['string', 'null'] }
const record = (properties: JsonSchema): JsonSchema => ({ type: 'object', properties, required: Object.keys(properties) })
const parameter = {
  name: 'domain',
  in: 'path',
  required: true,
  description: 'The domain to send from, verified for the account.',
  schema: text,
}

interface Door {
  prefix: string
  service: string
  /** The name of its security scheme. */
  scheme: string
  mediaType: string
  refusal: JsonSchema
  /** The answers by the path below `prefix`. */
  routes: Record<string, Record<string, JsonSchema | null>>
}

const postmarkAnswer = record({ ErrorCode: { type: 'integer' }, Message: text })

const doors: Door[] = [
  {
    prefix: '/compat/sendgrid',
    service: 'SendGrid',
    scheme: 'bearer',
    mediaType: 'application/json',
    refusal: record({ errors: { type: 'array', items: record({ message: text, field: textOrNull, help: textOrNull }) } }),
    routes: { '/v3/mail/send': { 202: null, 200: null } },
  },
  {
    prefix: '/compat/postmark',
    service: 'Postmark',
    scheme: 'postmark',
    mediaType: 'application/json',
    refusal: postmarkAnswer,
    routes: {
      '/email': { 200: postmarkAnswer },
      '/email/withTemplate': { 200: postmarkAnswer },
      '/email/batch': { 200: { type: 'array', items: postmarkAnswer } },
      '/email/batchWithTemplates': { 200: { type: 'array', items: postmarkAnswer } },
    },
  },
  {
    prefix: '/compat/mailgun',
    service: 'Mailgun',
    scheme: 'mailgun',
    mediaType: 'multipart/form-data',
    refusal: record({ message: text }),
    routes: {
      '/v3/{domain}/messages': { 200: record({ id: text, message: text }) },
      '/v3/{domain}/messages.mime': { 200: record({ id: text, message: text }) },
    },
  },
]

/** How the clients of these services show the API key, as it belongs under `components.securitySchemes`. */
export const doorSecurity: Record<string, JsonSchema> = {
  postmark: { type: 'apiKey', in: 'header', name: 'X-Postmark-Server-Token', description: 'An API key, as the Postmark client sends it.' },
  mailgun: { type: 'http', scheme: 'basic', description: 'The user `api` with an API key as password, as the Mailgun client sends it.' },
}

/** The paths of the doors for the clients of other services, of those that are open. */
export const doorPaths = (prefixes: readonly string[]): Record<string, { post: JsonSchema }> =>
  Object.fromEntries(
    doors
      .filter(({ prefix }) => prefixes.includes(prefix))
      .flatMap((door) =>
        Object.entries(door.routes).map(([path, answers]) => [`${door.prefix}${path}`, { post: doorOperation(door, path, answers) }]),
      ),
  )

function doorOperation({ prefix, service, scheme, mediaType, refusal }: Door, path: string, answers: Door['routes'][string]): JsonSchema {
  const json = (schema: JsonSchema | null) => (schema === null ? {} : { content: { 'application/json': { schema } } })
  return {
    operationId: `compat.${`${prefix}${path}`.slice('/compat/'.length).replace(/[^A-Za-z0-9.]+/g, '_')}`,
    tags: ['Compatibility'],
    summary: `As ${service}: POST ${path}`,
    description:
      `For clients that were written for ${service}: the body is what its documentation says, and so is the answer. ` +
      'What cannot be honoured is refused. Needs a key with `sending_access` or `full_access`.',
    security: [{ [scheme]: [] }],
    ...(path.includes('{domain}') ? { parameters: [parameter] } : {}),
    requestBody: {
      required: true,
      content: { [mediaType]: { schema: { type: ['object', 'array'], description: `As ${service} documents it.` } } },
    },
    responses: {
      ...Object.fromEntries(
        Object.entries(answers).map(([status, schema]) => [
          status,
          { description: 'Accepted.', headers: headerReferences([]), ...json(schema) },
        ]),
      ),
      '4XX': { description: `Refused, in the form of ${service}.`, headers: headerReferences([]), ...json(refusal) },
      '5XX': { description: `A fault of the server, in the form of ${service}.`, headers: headerReferences([]), ...json(refusal) },
    },
  }
}
