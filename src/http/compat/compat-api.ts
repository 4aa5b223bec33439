import type { Accepted } from '../../submission/admission.ts'
import { requirePermission, type ApiContext, type ApiRouter, type RefusalForm } from '../api-state.ts'
import type { EmailRequest } from '../api/email-request.ts'
import { idempotencyKeyOf, submitterOf } from '../api/email-sending-operations.ts'
import type { SendServices } from '../api/send-emails.ts'
import type { BodyRoom } from '../body-room.ts'
import { jsonBytes, jsonText, parseJsonText } from '../json-body.ts'
import type { JsonSchema } from '../openapi-schema.ts'

/** What the apis take of the server. */
export interface CompatServices extends SendServices {
  bodyRoom: BodyRoom
}

/**
 * The API of another service, as far as its client sends mail by it: its routes and its entries in the OpenAPI document are
 * made of this. Everything below `prefix` is answered in that service's own form; keys, limits and what may be sent are
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
  bodyRoom: BodyRoom
  routes: CompatRoute[]
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

/** The api that a path belongs to. */
export const compatApiFor = (path: string, apis: readonly CompatApi[]): CompatApi | undefined =>
  apis.find(({ prefix }) => path === prefix || path.startsWith(`${prefix}/`))

/** Adds the routes of a api. A request waits until there is room for its body. */
export function addCompatRoutes(router: ApiRouter, api: CompatApi): void {
  for (const { path, send } of api.routes) {
    router.post(`${api.prefix}${path}`.replace(/\{(\w+)\}/g, ':$1'), async (ctx) => {
      requirePermission(ctx, 'sending_access')
      const leave = await api.bodyRoom.enter(ctx.req)
      try {
        const idempotencyKey = api.takesIdempotencyKey ? idempotencyKeyOf(ctx) : null
        await send(ctx, { submitter: submitterOf(ctx), source: 'compat', isStrict: false, idempotencyKey })
      } finally {
        leave()
      }
    })
  }
}

/**
 * The request's JSON. A large body takes a tenth of a second from its last byte to the thread that makes the message of
 * it; other connections have their turns in between.
 * @throws SternaError `unsupported_media_type`, `payload_too_large`, `invalid_json`
 */
export async function compatJson(ctx: ApiContext): Promise<unknown> {
  const bytes = await jsonBytes(ctx)
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
 * whether they were accepted earlier, by the same `Idempotency-Key`.
 */
export function tellIds(ctx: ApiContext, emails: Pick<Accepted, 'messageId'>[], { replayed }: { replayed: boolean }): void {
  if (replayed) ctx.set('Idempotency-Replayed', 'true')
  const ids = emails.map(({ messageId }) => messageId)
  if (ids[0] !== undefined) ctx.set('X-Message-Id', ids[0])
  if (ids.length > 1) ctx.set('X-Message-Ids', ids.join(', '))
}

/** A text about fields of the API in the words of another service; the fields stand in backticks. */
export const renamedFields = (text: string, rename: (field: string) => string): string =>
  text.replace(/`([^`\s]+)`/g, (_, field: string) => `\`${rename(field)}\``)
