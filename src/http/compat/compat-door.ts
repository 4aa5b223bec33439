import type { Accepted } from '../../submission/admission.ts'
import { requirePermission, type ApiContext, type ApiRouter, type RefusalForm } from '../api-state.ts'
import type { EmailRequest } from '../api/email-request.ts'
import { idempotencyKeyOf, submitterOf } from '../api/email-sending.ts'
import type { SendParts } from '../api/send-emails.ts'
import type { BodyRoom } from '../body-room.ts'
import { jsonBytes, jsonText, parseJsonText } from '../json-body.ts'

/** What the doors take of the server. */
export interface DoorParts extends SendParts {
  bodyRoom: BodyRoom
}

/**
 * The API of another service, as far as its client sends mail by it. Everything below `prefix` is answered in that
 * service's own form; keys, limits and what may be sent are those of our own API.
 */
export interface CompatDoor {
  /** Begins its paths, such as `/compat/postmark`. */
  prefix: string
  /** What the request shows as its key; null where it shows none. */
  tokenOf(ctx: ApiContext): string | null
  /** How the service words a refusal. */
  refusalForm: RefusalForm
  addRoutes(router: ApiRouter): void
}

/** The door that a path belongs to. */
export const doorFor = (path: string, doors: readonly CompatDoor[]): CompatDoor | undefined =>
  doors.find(({ prefix }) => path === prefix || path.startsWith(`${prefix}/`))

/**
 * Runs `work` while there is room for the request's body, with what every email of the request is sent under; an
 * `Idempotency-Key` is not read yet.
 * @throws SternaError `restricted_api_key`, `service_unavailable`
 */
export async function withRequest(
  ctx: ApiContext,
  { bodyRoom }: Pick<DoorParts, 'bodyRoom'>,
  work: (request: EmailRequest) => Promise<void>,
): Promise<void> {
  requirePermission(ctx, 'sending_access')
  const request: EmailRequest = { submitter: submitterOf(ctx), source: 'compat', isStrict: false, idempotencyKey: null }
  const leave = await bodyRoom.enter(ctx.req)
  try {
    await work(request)
  } finally {
    leave()
  }
}

/**
 * With the request's `Idempotency-Key`, for services whose clients do not send the header fields of the email there.
 * @throws SternaError `invalid_idempotency_key`
 */
export const keyed = (ctx: ApiContext, request: EmailRequest): EmailRequest => ({ ...request, idempotencyKey: idempotencyKeyOf(ctx) })

/**
 * The request's JSON. A large body takes a tenth of a second from its last byte to the thread that makes the message of
 * it; other connections have their turns in between.
 * @throws SternaError `unsupported_media_type`, `payload_too_large`, `invalid_json`
 */
export async function doorJson(ctx: ApiContext): Promise<unknown> {
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
