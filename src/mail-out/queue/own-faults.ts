import type { Outcome } from '../delivery/attempt.ts'
import { deferral } from '../delivery/outcome.ts'
import { messageOf } from '../../platform/errors.ts'

/** What happens to mail whose sending domain is gone: it waits, because it must not leave unsigned. */
export const unsigned: Outcome = {
  type: 'deferred',
  reply: null,
  category: 'internal_error',
  reason: 'The sending domain has been removed, so the message cannot be signed. Add the domain again and verify it.',
}

/** The same, if the domain exists but its keys cannot be used. */
export const unsignable = (error: unknown): Outcome => ({
  type: 'deferred',
  reply: null,
  category: 'internal_error',
  reason: `The message cannot be signed. ${messageOf(error)}`,
})

/** Whatever else went wrong here. */
export const faultOfOurs = (error: unknown): Outcome =>
  deferral('internal_error', `4.3.0 an error of this server: ${messageOf(error)}`).outcome
