import type { AcceptBatch, AcceptedBatch } from '../../submission/accept-batch.ts'
import type { Accept } from '../../submission/accept.ts'
import type { Accepted } from '../../submission/admission.ts'
import type { EmailComposer } from './email-composer.ts'
import type { EmailRequest, EmailSource } from './email-request.ts'

/** What sending takes of the server. */
export interface SendServices {
  composer: EmailComposer
  accept: Accept
  acceptBatch: AcceptBatch
}

/**
 * Sends one email: checks it, composes its message and hands it to `accept`. Every email that comes over HTTP ends up here.
 *
 * `email` is JSON as `jsonBytes` read it (which is taken away from the caller where it is large), or an object with the
 * members that `POST /api/emails` takes, which nobody needs to have checked. `request` says who sends it: `submitter` is
 * `ctx.state.submitter`, `source` is `compat` for the APIs of other services, and the key, where there is one, counts
 * apart for these. Whoever reads large bodies enters the `BodyRoom` first and leaves it when this has resolved.
 *
 * What comes back says what became of each recipient: one on the suppression list is accepted as `suppressed`.
 * @throws SternaError where it is refused: nothing was sent
 */
export async function sendEmail(email: EmailSource, request: EmailRequest, { composer, accept }: SendServices): Promise<Accepted> {
  return accept(await composer.submissionFrom(email, request))
}

/**
 * Sends 1 to 100 emails (an array of what `sendEmail` takes, or JSON of it) in one write. `strict`: all or nothing, and the faults
 * of all of them are told, `3.to` being the field of the fourth. `permissive`: those that can be sent; the others are in
 * `errors` by their place.
 * @throws SternaError where nothing was sent
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
 * Checks and composes an email, and sends nothing: for services that know a rehearsal.
 * @throws SternaError where it would be refused for what it is; who may send it is not looked at
 */
export async function checkEmail(email: EmailSource, request: EmailRequest, { composer }: SendServices): Promise<void> {
  await composer.submissionFrom(email, request)
}
