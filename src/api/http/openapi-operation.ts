import { headerReferences, rateLimitHeaders, type HeaderName } from './openapi-headers.ts'
import type { ProblemResponses } from './openapi-problem.ts'
import type { JsonSchema, SchemaComponents } from './openapi-schema.ts'
import { sizeText, standardBodyLimit } from '../operation/body-limits.ts'
import { refusalsOf } from '../operation/operation-refusals.ts'
import {
  changesLive,
  csvNameOf,
  namesOf,
  needsKey,
  takesIdempotencyKey,
  type Answer,
  type Operation,
  type OperationName,
} from '../operation/operation.ts'
import type { QueryShape } from '../operation/query.ts'

interface OperationContext {
  components: SchemaComponents
  problems: ProblemResponses
}

/** The entry of an endpoint under one of its paths. */
export function operationObject(declared: Operation, { id, path }: OperationName, context: OperationContext): JsonSchema {
  const query = declared.csv ? without(declared.query ?? {}, 'format', 'spreadsheet') : declared.query
  const parameters = [...pathParameters(path), ...queryParameters(query ?? {}, context), ...headerParameters(declared)]
  return {
    operationId: id,
    tags: [declared.tag],
    summary: declared.summary,
    description: descriptionOf(declared),
    ...(id === declared.id ? {} : { 'x-alias-of': declared.id }),
    security: securityOf(declared),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(declared.body ? { requestBody: requestBody(declared.body, context) } : {}),
    responses: responses(declared, context),
  }
}

/** The entry of the operation whose answer is CSV. */
export function csvOperationObject(declared: Operation, name: OperationName, context: OperationContext): JsonSchema {
  const { csv: _, aliases: __, query, answers, ...same } = declared
  const [{ description }] = answers
  return operationObject(
    {
      ...same,
      ...name,
      summary: `${declared.summary}, as CSV`,
      query: without(query ?? {}, 'format'),
      answers: [{ status: 200, description, schema: null, mediaType: 'text/csv' }],
    },
    name,
    context,
  )
}

const without = (query: QueryShape, ...names: string[]): QueryShape =>
  Object.fromEntries(Object.entries(query).filter(([name]) => !names.includes(name)))

/** The session cookie works only outside `/api/`. */
function securityOf(declared: Operation): JsonSchema[] {
  if (needsKey(declared)) return [{ bearer: [] }]
  return declared.refuses?.includes('invalid_session') ? [{ session: [] }] : []
}

const permissionText: Record<string, string> = {
  sending_access: 'Requires a key with `sending_access` or `full_access`.',
  read_access: 'Requires a key with `read_access` or `full_access`.',
  full_access: 'Requires a key with `full_access`.',
  operator: 'Requires a key with `operator`.',
  metrics: 'Requires a key with `metrics` or `operator`.',
  user_management: 'Requires a logged-in owner or admin of the account, or a key with `operator`.',
}

function descriptionOf(declared: Operation): string {
  const paths = namesOf(declared).map(({ path }) => `\`${path}\``)
  return [
    declared.description ?? `${declared.summary}.`,
    declared.permission === null ? '' : (permissionText[declared.permission] ?? ''),
    sandboxText(declared),
    paths.length === 1 ? '' : `${paths.join(' and ')} are the same.`,
    declared.csv ? `\`${csvNameOf(declared)?.path}\` gives the rows as a table, as \`format=csv\` and \`Accept: text/csv\` do here.` : '',
  ]
    .filter((text) => text !== '')
    .join('\n\n')
}

function sandboxText(declared: Operation): string {
  if (changesLive(declared)) return 'Sandbox keys are refused, because this changes live data.'
  return declared.sandbox ? 'With a sandbox key it changes what is in the sandbox, and nothing else.' : ''
}

const pathParameters = (path: string): JsonSchema[] =>
  Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    description: parameterText[name] ?? `The \`${name}\`.`,
    schema: name === 'number' ? { type: 'integer', minimum: 1 } : { type: 'string', minLength: 1 },
  }))

const parameterText: Record<string, string> = {
  id: 'The id of the object.',
  number: 'The number of the version, from 1.',
  idOrAlias: 'The id or the alias of the template.',
  idOrEmail: 'The id of the entry, or the percent-encoded address.',
  idOrName: 'The id or the name of the object.',
  event_id: 'The id of an event, as in webhooks.',
  delivery_id: 'The id of the delivery.',
  attachment_id: 'The id of the attachment.',
}

function queryParameters(query: QueryShape, { components }: OperationContext): JsonSchema[] {
  return Object.entries(query).map(([name, parameter]) => {
    const { description, required = false, ...schema } = components.add(parameter, 'input')
    return { name, in: 'query', required, ...(description === undefined ? {} : { description }), schema }
  })
}

const headerParameters = (declared: Operation): JsonSchema[] => (takesIdempotencyKey(declared) ? [idempotencyKey] : [])

const idempotencyKey: JsonSchema = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'Within 24 hours a request with the same key and body is carried out once, and gets the same answer.',
  schema: { type: 'string', minLength: 1, maxLength: 256 },
}

function requestBody(body: NonNullable<Operation['body']>, { components }: OperationContext): JsonSchema {
  const schema = components.add(body.schema, 'input')
  return {
    description: bodyLimitText(body.limit ?? standardBodyLimit),
    required: !(body.optional ?? false),
    content: {
      [body.mediaType ?? 'application/json']: { schema, ...(body.example === undefined ? {} : { example: body.example }) },
    },
  }
}

/** What is longer gets 413. */
export const bodyLimitText = (bytes: number): string => `At most ${sizeText(bytes)}.`

function responses(declared: Operation, context: OperationContext): JsonSchema {
  const found = context.problems.of(refusalsOf(declared), needsKey(declared))
  for (const answer of declared.answers) {
    const own = response(answer, headersOf(declared), context)
    const problem = found[answer.status]
    found[answer.status] = problem ? either(own, context.problems.at(problem)) : own
  }
  return found
}

const headersOf = (declared: Operation): HeaderName[] => [
  ...(needsKey(declared) ? rateLimitHeaders : []),
  ...(takesIdempotencyKey(declared) ? (['Idempotency-Replayed'] as const) : []),
  ...(declared.idempotency === 'own' ? (['Dropped-Headers'] as const) : []),
]

/** A response that is one of two. */
function either(own: JsonSchema, problem: JsonSchema): JsonSchema {
  const contents = [own, problem].map(({ content }) => (content ?? {}) as Record<string, JsonSchema>)
  const types = new Set(contents.flatMap((content) => Object.keys(content)))
  const schemaOf = (type: string): unknown => {
    const schemas = contents.flatMap((content) => (content[type] ? [content[type].schema] : []))
    return schemas.length === 1 ? schemas[0] : { anyOf: schemas }
  }
  return {
    description: `${String(own.description)}\n\nOr ${String(problem.description)}`,
    headers: problem.headers,
    content: Object.fromEntries([...types].map((type) => [type, { schema: schemaOf(type) }])),
  }
}

function response(
  { description, schema, mediaType }: Answer,
  headers: readonly HeaderName[],
  { components }: OperationContext,
): JsonSchema {
  const content =
    schema === null
      ? mediaType === undefined
        ? {}
        : { content: { [mediaType]: { schema: { type: 'string' } } } }
      : { content: { 'application/json': { schema: components.add(schema, 'output') } } }
  return { description, headers: headerReferences(headers), ...content }
}
