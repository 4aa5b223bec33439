import type { z } from 'zod'
import type { AuditLog, Change } from '../../senders/account/audit-log.ts'
import type { Right } from '../../senders/account/permission.ts'
import type { ErrorCode } from '../../platform/errors.ts'
import type { IdempotencyKeys } from '../../mail-in/submission/idempotency-keys.ts'
import { requireLive, requirePermission, requireSandbox, type ApiContext, type ApiRouter } from './api-state.ts'
import { smallBody } from '../large-work/small-source.ts'
import type { BodyBudget } from './body-budget.ts'
import { changedFields } from './changed-fields.ts'
import { csvText, guardOf, type Table } from './csv.ts'
import { idempotencyOf, markReplayed } from './idempotency-key.ts'
import { parseJson } from '../../platform/parse-json.ts'
import { jsonBody } from './json-body.ts'
import type { LargeWorker } from '../large-work/large-worker.ts'
import { mistypedMembers } from './mistyped.ts'
import { readQuery, type QueryShape } from './query.ts'
import { validate } from './validate.ts'

/** A successful response: the first one declared describes what `handle` returns. */
export interface Answer {
  status: number
  description: string
  /** Null if it is not JSON: a stream, a file. */
  schema: z.ZodType | null
  /** Only if `schema` is null. */
  mediaType?: string
}

/** The parts of a request. */
interface Body {
  schema: z.ZodType
  /** True if a request without a body is the same as `{}`. */
  optional?: boolean
  /** bytes; default: `standardBodyLimit`. A handler that reads the body itself keeps to it. */
  limit?: number
  /** True if the handler reads the body itself. */
  raw?: boolean
  /** Default: `application/json`. */
  mediaType?: string
  example?: unknown
}

/**
 * The declaration of an endpoint: what it requires, accepts, returns and refuses. Its route, its entry in the OpenAPI document and its
 * tests are made from this.
 */
export interface Operation {
  /** Unique: `resource.verb` or `resource.verb_object`, such as `emails.send`. The audit log and generated clients name it so. */
  id: string
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** With parameters in braces: `/api/emails/{id}`. Under `/api/`, and at `/metrics`, a key is required; elsewhere it is not. */
  path: string
  /** Other paths that mean the same, under names of their own. */
  aliases?: readonly OperationName[]
  /** The resource it belongs to, such as `Emails`. */
  tag: string
  /** A few words without a full stop. */
  summary: string
  /** Markdown. */
  description?: string
  /** What the key must be allowed to do. Null means: under `/api/`, any valid key will do; elsewhere, none is required. */
  permission: Right | null
  /**
   * True if a sandbox key may do this, because for such a key it changes only the sandbox. Otherwise sandbox keys are refused, except
   * for GET. `only`: it is for the sandbox alone, and live keys are refused.
   */
  sandbox?: true | 'only'
  /**
   * What an `Idempotency-Key` means to a POST under `/api/`. `own`: the handler writes its answer under the key in the batch that makes it
   * true. `none`: to do it again changes nothing. `secret`: its answer shows what is shown once. See `carryOutOnce`.
   */
  idempotency?: 'own' | 'none' | 'secret'
  query?: QueryShape
  body?: Body
  answers: readonly [Answer, ...Answer[]]
  /**
   * The first response as CSV, at a path of its own: see `csvNameOf`. `query` has the parameter `format`, by which the operation's own path
   * gives it as well.
   */
  csv?(answer: never): Table
  /** In addition to the errors of every request, and those that follow from its path, query and body: see `refusalsOf`. */
  refuses?: readonly ErrorCode[]
  handle(ctx: ApiContext, input: { query: never; body: never }): unknown
}

const keyed = /^\/(?:api|metrics)(?:\/|$)/

/** Whether a request to this path requires an API key. */
export const needsKey = ({ path }: Pick<Operation, 'path'>): boolean => keyed.test(path)

/** Whether an `Idempotency-Key` counts. */
export const takesIdempotencyKey = (declared: Pick<Operation, 'method' | 'path'>): boolean =>
  declared.method === 'POST' && needsKey(declared)

/** Whether sandbox keys are refused. */
export const changesLive = (declared: Omit<Operation, 'handle'>): boolean =>
  needsKey(declared) && declared.method !== 'GET' && !declared.sandbox

/** The query parameters as a handler receives them. */
export type QueryValues<Q> = { [Name in keyof Q]: Q[Name] extends z.ZodType ? z.output<Q[Name]> | null : never }

type Shown<A> = A extends z.ZodType ? z.input<A> : unknown

/** An operation whose handler receives and returns what the schemas say. */
interface TypedOperation<Q, B, A> extends Omit<Operation, 'query' | 'body' | 'answers' | 'handle'> {
  query?: Q
  body?: Omit<Body, 'schema' | 'raw'> & ({ schema: B & z.ZodType; raw?: never } | { schema: z.ZodType; raw: true })
  answers: readonly [Omit<Answer, 'schema'> & { schema: A }, ...Answer[]]
  handle(
    ctx: ApiContext,
    input: {
      query: QueryValues<Q>
      body: B extends z.ZodType ? z.output<B> : undefined
    },
  ): Shown<A> | Promise<Shown<A>>
}

/** Declares an endpoint; the schemas give its handler's parameters and result their types. */
export const operation = <
  Q extends QueryShape = Record<never, never>,
  B extends z.ZodType | undefined = undefined,
  A extends z.ZodType | null = null,
>(
  declared: TypedOperation<Q, B, A>,
): Operation => declared as unknown as Operation

/** An operation at one of its paths. */
export interface OperationName {
  id: string
  path: string
}

/** The operation at each of its paths, its own first. */
export const namesOf = ({ id, path, aliases = [] }: Pick<Operation, 'id' | 'path' | 'aliases'>): OperationName[] => [
  { id, path },
  ...aliases,
]

/**
 * The operation whose answer is CSV: one of its own, so that the clients that generators make have one type for each. Null if there is none.
 */
export const csvNameOf = ({ id, path, csv }: Pick<Operation, 'id' | 'path' | 'csv'>): OperationName | null =>
  csv === undefined ? null : { id: `${id}_csv`, path: `${path}.csv` }

/** What carrying operations out takes of the server. */
export interface OperationServices {
  /** Every change that needs more than the permission to send is recorded here. */
  audit: Pick<AuditLog, 'record'>
  idempotencyKeys: Pick<IdempotencyKeys, 'answerOnce'>
  bodyRoom: BodyBudget
  largeWorker: Pick<LargeWorker, 'run'>
}

/** Adds the routes of an endpoint. */
export function addRoutes(router: ApiRouter, declared: Operation, services: OperationServices): void {
  const asCsv = csvNameOf(declared)
  for (const { path } of [...namesOf(declared), ...(asCsv ? [asCsv] : [])]) {
    router.register(path.replace(/\{(\w+)\}/g, ':$1'), [declared.method], (ctx) => run(declared, ctx, services))
  }
}

async function run(declared: Operation, ctx: ApiContext, services: OperationServices): Promise<void> {
  if (declared.permission !== null) requirePermission(ctx, declared.permission)
  if (changesLive(declared)) requireLive(ctx)
  if (declared.sandbox === 'only') requireSandbox(ctx)
  const query = readQuery(ctx, declared.query ?? {})
  const leave = await roomFor(declared, ctx, services)
  try {
    await answerTo(declared, ctx, { query, services })
  } finally {
    leave()
  }
}

/** A body that may be large waits for room, unless the handler sees to that. */
async function roomFor({ body, ...declared }: Operation, ctx: ApiContext, { bodyRoom }: OperationServices): Promise<() => void> {
  if (!body || body.raw || body.limit === undefined || !needsKey(declared)) return () => {}
  return bodyRoom.enter(ctx.req, ctx.state.submitter.accountId, body.limit)
}

async function answerTo(
  declared: Operation,
  ctx: ApiContext,
  { query, services }: { query: Record<string, unknown>; services: OperationServices },
): Promise<void> {
  const { given, body, fields } = await bodyOf(declared, ctx, services)
  const carryOut = async (): Promise<unknown> => {
    const answer = await declared.handle(ctx, { query: query as never, body: body as never })
    // The change stands, and whoever made it learns so only when it is on record.
    if (isAudited(declared)) await services.audit.record(changeOf(declared, ctx, { result: answer, fields }))
    return answer
  }
  const result = await carryOutOnce(declared, ctx, { given, carryOut, idempotencyKeys: services.idempotencyKeys })
  // A handler that answered in its own way returns nothing.
  if (result === undefined) return
  ctx.status = declared.answers[0].status
  if (declared.csv && wantsCsv(ctx, query)) answerCsv(ctx, declared.csv(result as never), query)
  else ctx.body = result
}

/** Carries a request out, unless its `Idempotency-Key` has an answer already. A secret in it is told again only to whom it was told. */
async function carryOutOnce(
  { id, idempotency, ...declared }: Operation,
  ctx: ApiContext,
  request: { given: unknown; carryOut: () => Promise<unknown>; idempotencyKeys: OperationServices['idempotencyKeys'] },
): Promise<unknown> {
  const { given, carryOut, idempotencyKeys } = request
  if (!takesIdempotencyKey(declared) || idempotency === 'own') return carryOut()
  const { accountId, actor } = ctx.state.submitter
  const isSecret = idempotency === 'secret'
  const key = idempotencyOf(ctx, { operation: id, body: given, holder: isSecret ? actor.id : null })
  if (key === null || idempotency === 'none') return carryOut()
  const done = await idempotencyKeys.answerOnce(accountId, key, { isSecret, carryOut })
  markReplayed(ctx, done)
  return done.answer
}

const wantsCsv = (ctx: ApiContext, { format }: Record<string, unknown>): boolean =>
  ctx.path.endsWith('.csv') || (format === null ? ctx.accepts(['application/json', 'text/csv']) === 'text/csv' : format === 'csv')

function answerCsv(ctx: ApiContext, table: Table, query: Record<string, unknown>): void {
  ctx.attachment(`${table.name}.csv`)
  ctx.set('X-Content-Type-Options', 'nosniff')
  ctx.type = 'text/csv; charset=utf-8'
  ctx.body = csvText(table, guardOf(query))
}

/** Sending is recorded by the messages themselves. */
const isAudited = ({ method, permission }: Operation): boolean =>
  method !== 'GET' && permission !== null && permission !== 'sending_access' && permission !== 'read_access'

function changeOf({ id: operation }: Operation, ctx: ApiContext, { result, fields }: { result: unknown; fields: string[] }): Change {
  const { submitter, clientAddress, requestId } = ctx.state
  const made = typeof result === 'object' && result !== null && 'id' in result ? result.id : Object.values(ctx.params).at(-1)
  const objectId = typeof made === 'string' && /^[a-z]{2,5}_[0-9a-z]{26}$/.test(made) ? made : null
  return { accountId: submitter.accountId, actor: submitter.actor, operation, objectId, fields, address: clientAddress, requestId }
}

async function bodyOf(
  { body }: Operation,
  ctx: ApiContext,
  { largeWorker }: OperationServices,
): Promise<{ given: unknown; body: unknown; fields: string[] }> {
  if (!body || body.raw) return { given: undefined, body: undefined, fields: [] }
  const { optional = false, limit } = body
  const parse = (bytes: Buffer): unknown => (bytes.length <= smallBody ? parseJson(bytes) : largeWorker.run('parseJson', bytes))
  const sent = await jsonBody(ctx, { optional, parse, ...(limit === undefined ? {} : { limit }) })
  // A missing body is the same as `{}`; null is not.
  const given = sent === undefined ? {} : sent
  return { given, body: validate(body.schema, given, mistypedMembers(body.schema, given)), fields: changedFields(body.schema, given) }
}
