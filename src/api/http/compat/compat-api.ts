import type { AuditLog } from '../../../senders/account/audit-log.ts'
import type { Accepted } from '../../../mail-in/submission/admission.ts'
import type { AuthoriseServices } from '../../../mail-in/submission/authorise.ts'
import type { Headers } from '../../operation/call.ts'
import { requirePermission } from '../../operation/caller.ts'
import type { ApiContext, ApiRoutes, RefusalForm } from '../api-state.ts'
import type { EmailRequest } from '../../resource/email-request.ts'
import { submitterOf } from '../../resource/email-sending-operations.ts'
import type { ApiServices } from '../../resource/operation-services.ts'
import type { BodyBudget } from '../body-budget.ts'
import { idempotencyKeyOf } from '../../operation/idempotency-key.ts'
import { tellDropped } from '../../resource/dropped-headers.ts'
import { bodyLimit } from '../../operation/body-limits.ts'
import { jsonText, parseJson, parseJsonText } from '../../../platform/parse-json.ts'
import { smallBody } from '../../large-work/small-source.ts'
import { jsonBytes } from '../json-body.ts'
import type { JsonSchema } from '../openapi-schema.ts'
import type { RawMessageContext } from './mime-submission.ts'

/** What the APIs work with. */
export interface CompatServices
  extends
    Pick<ApiServices, 'db' | 'clock' | 'composer' | 'accept' | 'acceptBatch' | 'messages' | 'eventFeed' | 'suppressions' | 'baseUrl'>,
    Pick<AuthoriseServices, 'verifiedDomainFor'>,
    Pick<RawMessageContext, 'hostname' | 'messageSizeLimit'> {
  bodyRoom: BodyBudget
  /** Whether Received tells who the client is. */
  traceClients: boolean
}

/**
 * The API of another service, as far as its clients send mail with it and keep lists: the source of its routes and of its entries in
 * the OpenAPI document. Everything below `prefix` is answered in that service's own form; keys, limits and what may be sent are
 * those of our own API.
 */
export interface CompatApi {
  /** Begins its paths, such as `/compat/postmark`. */
  prefix: string
  /** Its name, such as `Postmark`. */
  service: string
  /** The OpenAPI security scheme by which its client shows the API key; null where that is the API's own. */
  security: JsonSchema | null
  /** What the request shows as its key; null where it shows none. */
  tokenOf(ctx: ApiContext): string | null
  /** Whether an `Idempotency-Key` of the request counts: some clients send the header fields of the email there. */
  takesIdempotencyKey: boolean
  /** Of a request. */
  mediaType: 'application/json' | 'multipart/form-data'
  /** How the service words a refusal, and its schema. */
  refusalForm: RefusalForm
  refusal: JsonSchema
  bodyRoom: BodyBudget
  routes: CompatRoute[]
  actions?: CompatAction[]
}

/** A path that mail is posted to. */
export interface CompatRoute {
  /** Below the prefix, with parameters in braces. */
  path: string
  /** The schema of the answer at each status; null where there is no body. */
  answers: Record<number, JsonSchema | null>
  /** `request` is what each email of it is sent under. */
  send(ctx: ApiContext, request: EmailRequest): Promise<void>
}

/** Another request of its clients: to read something, or to add it to a list or remove it. */
export interface CompatAction {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Below the prefix, with parameters in braces. */
  path: string
  permission: 'read_access' | 'full_access'
  /** 200 where not given. */
  status?: number
  /** Gives the body of the answer; null for 204. */
  handle(ctx: ApiContext): Promise<object | null>
}

/** Reads something. */
export const reads = (path: string, handle: CompatAction['handle']): CompatAction => ({
  method: 'GET',
  path,
  permission: 'read_access',
  handle,
})

/** Changes a list. */
export const changes = (method: CompatAction['method'], path: string, handle: CompatAction['handle']): CompatAction => ({
  method,
  path,
  permission: 'full_access',
  handle,
})

/** What the OpenAPI document and the audit log call it. */
export const compatOperationId = ({ prefix }: CompatApi, { path, method }: { path: string; method?: string }): string =>
  `compat.${`${prefix}${path}`.slice('/compat/'.length).replace(/[^A-Za-z0-9.]+/g, '_')}${method ? `.${method.toLowerCase()}` : ''}`

/** The api that a path belongs to. */
export const compatApiFor = (path: string, apis: readonly CompatApi[]): CompatApi | undefined =>
  apis.find(({ prefix }) => path === prefix || path.startsWith(`${prefix}/`))

/** Adds the routes of an api. Mail waits until there is room for its body; what changes a list is recorded in `audit`. */
export function addCompatRoutes(routes: ApiRoutes, api: CompatApi, audit: Pick<AuditLog, 'record'>): void {
  for (const { path, send } of api.routes) {
    routes.add('POST', `${api.prefix}${path}`, async (ctx) => {
      requirePermission(ctx.state.caller, 'sending_access')
      const leave = await api.bodyRoom.enter(ctx.req, ctx.state.caller.accountId)
      try {
        const idempotencyKey = api.takesIdempotencyKey ? idempotencyKeyOf(ctx.req.headers as Headers) : null
        await send(ctx, { submitter: submitterOf(ctx.state.caller), source: 'compat', isStrict: false, idempotencyKey })
      } finally {
        leave()
      }
    })
  }
  for (const action of api.actions ?? []) {
    routes.add(action.method, `${api.prefix}${action.path}`, (ctx) => act(ctx, { api, action, audit }))
  }
}

interface Acting {
  api: CompatApi
  action: CompatAction
  audit: Pick<AuditLog, 'record'>
}

async function act(ctx: ApiContext, { api, action, audit }: Acting): Promise<void> {
  requirePermission(ctx.state.caller, action.permission)
  const result = await action.handle(ctx)
  if (action.permission === 'full_access') {
    const { accountId, actor, address, requestId } = ctx.state.caller
    const operation = compatOperationId(api, action)
    await audit.record({ accountId, actor, operation, objectId: null, fields: [], address, requestId })
  }
  ctx.status = result === null ? 204 : (action.status ?? 200)
  ctx.body = result
}

/**
 * The request's JSON. A large body takes a tenth of a second from its last byte to the thread that makes the message of
 * it; other connections have their turns in between.
 * @throws SternaError `unsupported_media_type`, `payload_too_large`, `invalid_json`
 */
export async function compatJson(ctx: ApiContext): Promise<unknown> {
  const bytes = await jsonBytes(ctx.req, { limit: bodyLimit })
  if (bytes.length <= smallBody) return parseJson(bytes)
  await nextTurn()
  const text = jsonText(bytes)
  await nextTurn()
  const value = parseJsonText(text)
  await nextTurn()
  return value
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/**
 * Tells the ids of the emails: the first in `X-Message-Id`, where there are several all of them in `X-Message-Ids`; and
 * whether they were accepted earlier, by the same `Idempotency-Key`; and which of their header fields were left out.
 */
export function tellIds(
  ctx: ApiContext,
  emails: Pick<Accepted, 'messageId' | 'droppedHeaders'>[],
  { replayed }: { replayed: boolean },
): void {
  if (replayed) ctx.set('Idempotency-Replayed', 'true')
  tellDropped(ctx, emails)
  const ids = emails.map(({ messageId }) => messageId)
  if (ids[0] !== undefined) ctx.set('X-Message-Id', ids[0])
  if (ids.length > 1) ctx.set('X-Message-Ids', ids.join(', '))
}

/** A text about fields of the API in the words of another service; the fields stand in backticks. */
export const renamedFields = (text: string, rename: (field: string) => string): string =>
  text.replace(/`([^`\s]+)`/g, (_, field: string) => `\`${rename(field)}\``)
