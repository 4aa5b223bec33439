import type { CompatApi } from './compat/compat-api.ts'
import { compatPaths, compatSecurity } from './openapi-compat.ts'
import { responseHeaders } from './openapi-headers.ts'
import { csvOperationObject, operationObject } from './openapi-operation.ts'
import { errorExamples, ProblemResponses } from './openapi-problem.ts'
import { SchemaComponents, type JsonSchema } from './openapi-schema.ts'
import { webhookObjects, type WebhookPosting } from './openapi-webhooks.ts'
import { csvNameOf, namesOf, type Operation } from '../operation/operation.ts'

export interface OpenApiDocument {
  openapi: '3.1.0'
  info: JsonSchema
  paths: Record<string, Record<string, JsonSchema>>
  webhooks: JsonSchema
  components: Record<string, JsonSchema>
  [other: string]: unknown
}

/** What the document needs in addition to the endpoints of the API. */
export interface DocumentContext {
  version: string
  baseUrl: string
  /** How events are posted. */
  webhooks: WebhookPosting
  /** The compat APIs that are turned on. */
  compatApis?: readonly CompatApi[]
}

/** The OpenAPI 3.1 document of these endpoints. Takes tens of milliseconds, so make it only once. */
export function openApiDocument(
  operations: readonly Operation[],
  { version, baseUrl, webhooks: posting, compatApis = [] }: DocumentContext,
): OpenApiDocument {
  const components = new SchemaComponents()
  const problems = new ProblemResponses(components)
  // Responses come first, so that they get the plain names.
  for (const { answers } of operations) for (const { schema } of answers) if (schema) components.add(schema, 'output')
  const webhooks = webhookObjects(components, posting)
  const paths: OpenApiDocument['paths'] = {}
  for (const declared of operations) {
    for (const name of namesOf(declared)) {
      const entry = operationObject(declared, name, { components, problems })
      paths[name.path] = { ...paths[name.path], [declared.method.toLowerCase()]: entry }
    }
    const asCsv = csvNameOf(declared)
    if (asCsv) paths[asCsv.path] = { get: csvOperationObject(declared, asCsv, { components, problems }) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Sterna',
      version,
      summary: 'An SMTP relay with an email API.',
      description,
      contact: { name: 'The operator of this server', url: baseUrl },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    // Wherever the document came from: the server may have several addresses, and "Try it out" must work at each.
    servers: [{ url: new URL(baseUrl).pathname }],
    tags: tagsOf([...operations.map(({ tag }) => tag), ...(compatApis.length > 0 ? ['Compatibility'] : [])]),
    paths: { ...paths, ...compatPaths(compatApis) },
    webhooks,
    components: {
      securitySchemes: { ...ownSecurity, ...compatSecurity(compatApis) },
      headers: responseHeaders,
      examples: errorExamples(problems.names),
      responses: problems.responses,
      schemas: components.schemas,
    },
  }
}

const ownSecurity: Record<string, JsonSchema> = {
  bearer: { type: 'http', scheme: 'bearer', description: 'An API key: `Authorization: Bearer <API_KEY>`.' },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'sterna_session',
    description: 'The cookie of a logged-in user; with https its name starts with `__Host-`.',
  },
}

/** In the order of the reference: what apps need first, what operators need last. */
const tagsOf = (names: string[]): JsonSchema[] => {
  const known = Object.keys(tagText).filter((name) => names.includes(name))
  return [...new Set([...known, ...names])].map((name) => ({ name, description: tagText[name] ?? `${name}.` }))
}

const tagText: Record<string, string> = {
  Emails: 'Sending, and what happened to each email.',
  Templates: 'Emails with variables.',
  Domains: 'Sending domains, the DNS records to publish for them, and whether they are published.',
  Webhooks: 'Where events are posted to, and what became of each delivery.',
  Events: 'Everything that happened, in order and without gaps.',
  Suppressions: 'Addresses that get no mail.',
  Erasures: 'Forgetting recipients.',
  Feedback: 'Returned mail, bounces and complaints, and what followed from it.',
  Analytics: 'How many emails were sent, delivered, bounced.',
  'API keys': 'The keys of the account.',
  Account: 'The account that the key belongs to.',
  Session: 'Logging in with a password.',
  Users: 'The people who can log in, and what they may do.',
  Accounts: 'For operators: the accounts of this server.',
  Queue: 'For operators: queued mail.',
  Doctor: 'For operators: what a mail server must get right.',
  Operation: 'For operators: looking after the server.',
  Settings: "For operators: the server's settings.",
  Audit: 'For operators: who changed what.',
  Compatibility: 'APIs for the clients of other services: change only the host name and the key.',
  Server: 'Health of the server, and the documentation of its API. No key needed.',
}

const description = `JSON in and out. Send an API key as \`Authorization: Bearer <API_KEY>\`. Unknown fields and parameters are
ignored, unless one is nearly a known one: \`schedule_at\` is refused, with the question whether you meant \`scheduled_at\`. Ids are
opaque, times are ISO 8601 in UTC with milliseconds. What belongs to another account does not exist.

Every answer has \`X-Request-Id\`; quote it when you ask for help. Lists take \`limit\`, \`after\` and \`before\` and answer
\`{"object": "list", "has_more", "data"}\`, newest first unless said otherwise.

A sandbox key (\`sterna_test_…\`) reads, and changes only what is in the sandbox: emails, webhooks, suppressions and keys of its
own. Domains, templates and the account are shared with what is live, so it reads them only.

To be sure that an email is sent once, or a key created once, send an \`Idempotency-Key\` of up to 256 characters with the POST:
within 24 hours the same key and body get the same answer, with \`Idempotency-Replayed: true\`. What was refused may be repeated.
An answer that shows a secret is given again only to the API key, or the user, that got it first.

## Errors

Branch on \`name\`; the message may change. \`GET /errors/{name}\` below has all names and what to do. Whoever accepts
\`application/problem+json\` gets RFC 9457.
`
