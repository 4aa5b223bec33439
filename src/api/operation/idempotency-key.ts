import { createHash } from 'node:crypto'
import { SternaError } from '../../platform/errors.ts'
import type { Idempotency } from '../../mail/message/submission.ts'
import type { Headers, ReplyHeaders, UncheckedCall } from './call.ts'

/**
 * The header Idempotency-Key; null where there is none.
 * @throws SternaError `invalid_idempotency_key`
 */
export function idempotencyKeyOf({ 'idempotency-key': key }: Headers): string | null {
  if (key === undefined) return null
  if (key.length >= 1 && key.length <= 256) return key
  throw new SternaError('invalid_idempotency_key', 'The header Idempotency-Key must have 1 to 256 characters.')
}

/**
 * The key of a call, and what it is used for; null where there is none. The sandbox has keys of its own: a rehearsal must not keep the
 * real thing from happening.
 * @param request.holder whoever alone may be given the answer again; null where anybody of the account may
 * @throws SternaError `invalid_idempotency_key`
 */
export function idempotencyOf(
  { caller, params, query, headers }: Pick<UncheckedCall, 'caller' | 'params' | 'query' | 'headers'>,
  request: { operation: string; body: unknown; holder: string | null },
): Idempotency | null {
  const key = idempotencyKeyOf(headers)
  if (key === null) return null
  const { operation, body, holder } = request
  const compared = JSON.stringify([params, query, body ?? null, holder])
  return {
    operation: `${caller.sandbox ? 'sandbox-' : ''}${operation}`,
    key,
    fingerprint: createHash('sha256').update(compared).digest('hex'),
  }
}

/** Tells that a call was carried out earlier, under the same key. */
export function markReplayed(reply: ReplyHeaders, { replayed }: { replayed: boolean }): void {
  if (replayed) reply.set('Idempotency-Replayed', 'true')
}
