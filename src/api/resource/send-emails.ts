import type { AcceptedBatch } from '../../mail-in/submission/accept-batch.ts'
import type { Accepted } from '../../mail-in/submission/admission.ts'
import type { EmailRequest, EmailSource } from './email-request.ts'
import type { Needs } from './operation-services.ts'

export type SendServices = Needs<'composer' | 'accept' | 'acceptBatch'>

/**
 * Sends one email: checks it, composes its message and passes it to `accept`. Every email that comes over HTTP ends up here.
 *
 * `email` is JSON as read by `jsonBytes` (large JSON is transferred away from the caller), or an unchecked object with the
 * fields of `POST /api/emails`. `request` says who sends it: `submitter` is `ctx.state.submitter`; `source` is `compat` for
 * the APIs of other services, whose idempotency keys are separate. If you read large bodies, enter the `BodyBudget` first and
 * leave it when this has resolved.
 *
 * The result says what happened to each recipient: one on the suppression list is accepted as `suppressed`.
 * @throws SternaError if it is refused: nothing was sent
 */
export async function sendEmail(email: EmailSource, request: EmailRequest, { composer, accept }: SendServices): Promise<Accepted> {
  return accept(await composer.submissionFrom(email, request))
}

/**
 * Sends 1 to 100 emails (an array of what `sendEmail` takes, or JSON of it) in one write. `strict`: all or nothing; reports the faults
 * of all emails, and `3.to` is a field of the fourth. `permissive`: sends those that are valid; `errors` has the others by position.
 * @throws SternaError if nothing was sent
 */
export async function sendBatch(
  emails: EmailSource,
  request: EmailRequest & { mode: 'strict' | 'permissive' },
  { composer, acceptBatch }: SendServices,
): Promise<AcceptedBatch> {
  const { mode, ...rest } = request
  const { items, idempotency } = await composer.batchFrom(emails, rest)
  return acceptBatch({ items, idempotency, mode, submitter: request.submitter })
}

/**
 * Checks and composes an email without sending it, for services that offer a dry run. Does not check who may send it.
 * @throws SternaError if the email itself would be refused
 */
export async function checkEmail(email: EmailSource, request: EmailRequest, { composer }: SendServices): Promise<void> {
  await composer.submissionFrom(email, request)
}
