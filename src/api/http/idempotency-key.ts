import { createHash } from 'node:crypto'
import { SternaError } from '../../platform/errors.ts'
import type { Idempotency } from '../../mail/message/submission.ts'
import type { ApiContext } from './api-state.ts'

/**
 * The header Idempotency-Key; null where there is none.
 * @throws SternaError `invalid_idempotency_key`
 */
export function idempotencyKeyOf(ctx: ApiContext): string | null {
  const key = ctx.req.headers['idempotency-key']
  if (key === undefined) return null
  if (typeof key === 'string' && key.length >= 1 && key.length <= 256) return key
  throw new SternaError('invalid_idempotency_key', 'The header Idempotency-Key must have 1 to 256 characters.')
}

/**
 * The key of a request, and what it is used for; null where there is none. The sandbox has keys of its own: a rehearsal must not keep the
 * real thing from happening.
 * @param request.holder whoever alone may be given the answer again; null where anybody of the account may
 * @throws SternaError `invalid_idempotency_key`
 */
export function idempotencyOf(ctx: ApiContext, request: { operation: string; body: unknown; holder: string | null }): Idempotency | null {
  const key = idempotencyKeyOf(ctx)
  if (key === null) return null
  const { operation, body, holder } = request
  const compared = JSON.stringify([ctx.params, ctx.querystring, body ?? null, holder])
  return {
    operation: `${ctx.state.submitter.sandbox ? 'sandbox-' : ''}${operation}`,
    key,
    fingerprint: createHash('sha256').update(compared).digest('hex'),
  }
}

/** Tells that a request was carried out earlier, under the same key. */
export function markReplayed(ctx: ApiContext, { replayed }: { replayed: boolean }): void {
  if (replayed) ctx.set('Idempotency-Replayed', 'true')
}
