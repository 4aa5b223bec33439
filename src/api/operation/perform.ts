import type { AuditLog } from '../../senders/account/audit-log.ts'
import type { Changes } from '../../platform/store/changes.ts'
import { SternaError } from '../../platform/errors.ts'
import { idForm } from '../../platform/id.ts'
import type { IdempotencyKeys } from '../../mail-in/submission/idempotency-keys.ts'
import type { Call, UncheckedCall } from './call.ts'
import { RawAnswer } from './raw-answer.ts'
import { requireLive, requirePermission, requireSandbox } from './caller.ts'
import { csvText, guardOf } from './csv.ts'
import { idempotencyOf, markReplayed } from './idempotency-key.ts'
import { mistypedMembers } from './mistyped.ts'
import { changesLive, isAudited, takesIdempotencyKey, type Operation } from './operation.ts'
import { readQuery } from './query.ts'
import { validate } from './validate.ts'

export interface PerformServices {
  /** Every change that needs more than the permission to send is recorded here. */
  audit: Pick<AuditLog, 'record'>
  /** Null for a client that gives no keys. */
  idempotencyKeys: Pick<IdempotencyKeys, 'answerOnce'> | null
  changes: Pick<Changes, 'caughtUp'>
}

/**
 * Carries out a call, whichever client makes it: checks that its caller may make it and that it is valid, carries it out once, and records
 * the change. The result is what its first answer declares, or a `RawAnswer`.
 * @throws SternaError if it is refused: nothing was changed
 */
export async function perform(operation: Operation, unchecked: UncheckedCall, services: PerformServices): Promise<unknown> {
  if (!operation.refusalPage) return carryOutChecked(operation, unchecked, services)
  try {
    return await carryOutChecked(operation, unchecked, services)
  } catch (error) {
    if (!(error instanceof SternaError)) throw error
    return operation.refusalPage(error, callOf(unchecked, null, null) as never)
  }
}

async function carryOutChecked(operation: Operation, unchecked: UncheckedCall, services: PerformServices): Promise<unknown> {
  const { caller } = unchecked
  if (operation.permission !== null) requirePermission(caller, operation.permission)
  if (changesLive(operation)) requireLive(caller)
  if (operation.sandbox === 'only') requireSandbox(caller)
  const query = readQuery(unchecked.query, operation.query ?? noQuery)
  operation.admit?.(callOf(unchecked, query, null) as never)
  // What the answer to another node's client said is seen here. Mail looks only where something is missing (`accept`).
  if (operation.idempotency !== 'own') await services.changes.caughtUp()
  const given = await givenBody(operation, unchecked)
  const call = callOf(unchecked, query, checkedBody(operation, given)) as never
  const answer =
    takesIdempotencyKey(operation) && operation.idempotency !== 'own'
      ? await carryOutOnce(operation, { call, unchecked, given }, services)
      : await carryOut(operation, { call, given }, services)
  if (operation.csv && query['format'] === 'csv') return csvOf(operation.csv(answer as never), query)
  return answer
}

const noQuery = {}

const callOf = <Q, B>({ caller, params, headers, path, reply }: UncheckedCall, query: Q, body: B): Call<never, Q, B, string> => ({
  caller,
  params,
  query,
  body,
  headers,
  path,
  reply,
})

/** A missing body is the same as `{}`; null is not. */
async function givenBody({ body }: Operation, unchecked: UncheckedCall): Promise<unknown> {
  if (!body) return undefined
  const given = await unchecked.readBody(body)
  return given === undefined && !body.as ? {} : given
}

const checkedBody = ({ body }: Operation, given: unknown): unknown =>
  !body || body.as ? given : validate(body.schema, given, mistypedMembers(body.schema, given))

interface Carrying {
  call: Call<never, never, never, string>
  /** The body as it came. */
  given: unknown
}

async function carryOut(operation: Operation, { call, given }: Carrying, { audit }: PerformServices): Promise<unknown> {
  const answer = await operation.handle(call)
  // The change stands, and whoever made it learns so only when it is on record.
  if (isAudited(operation)) await audit.record(changeOf(operation, { call, given }, answer))
  return answer
}

/** Carries a call out, unless its `Idempotency-Key` has an answer already. A secret in it is told again only to whom it was told. */
async function carryOutOnce(
  operation: Operation,
  { call, unchecked, given }: Carrying & { unchecked: UncheckedCall },
  services: PerformServices,
): Promise<unknown> {
  const { caller, reply } = call
  const isSecret = operation.idempotency === 'secret'
  const key = idempotencyOf(unchecked, { operation: operation.id, body: given, holder: isSecret ? caller.actor.id : null })
  const { idempotencyKeys } = services
  if (key === null || operation.idempotency === 'none' || idempotencyKeys === null) return carryOut(operation, { call, given }, services)
  const once = { isSecret, carryOut: () => carryOut(operation, { call, given }, services) }
  const done = await idempotencyKeys.answerOnce(caller.accountId, key, once)
  markReplayed(reply, done)
  return done.answer
}

function changeOf({ id: operation, body }: Operation, { call, given }: Carrying, answer: unknown): Parameters<AuditLog['record']>[0] {
  const { accountId, actor, address, requestId } = call.caller
  const made = typeof answer === 'object' && answer !== null && 'id' in answer ? answer.id : Object.values(call.params).at(-1)
  const objectId = typeof made === 'string' && idForm.test(made) ? made : null
  const fields = body && !body.as ? fieldsGiven(given, call.body) : []
  return { accountId, actor, operation, objectId, fields, address, requestId }
}

function csvOf(table: Parameters<typeof csvText>[0], query: Record<string, unknown>): RawAnswer {
  return new RawAnswer(csvText(table, guardOf(query)), { type: 'text/csv; charset=utf-8', filename: `${table.name}.csv` })
}

/** The names of the fields that a request gives; what its schema does not know, or takes as not given, is not recorded. */
function fieldsGiven(given: unknown, checked: unknown): string[] {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return []
  return Object.keys(given).filter(
    (name) => Object.hasOwn(checked as object, name) && (checked as Record<string, unknown>)[name] !== undefined,
  )
}
