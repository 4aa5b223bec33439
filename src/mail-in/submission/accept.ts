import type { Submission } from '../../mail/message/submission.ts'
import { lookedUp } from '../../platform/store/changes.ts'
import type { Statement } from '../../platform/store/database.ts'
import { admissionOf, type Accepted, type DraftedEmail } from './admission.ts'
import { admit, type AcceptServices } from './admit.ts'
import { authorise } from './authorise.ts'
import type { Upload } from './upload.ts'

/** `accept`, bound to its services. */
export type Accept = (submission: Submission, alsoWrite?: Statement[]) => Promise<Accepted>

/** Reads a submission to its end, with an upload for what should not be held in memory. */
export type Arrive = (upload: Pick<Upload, 'store'>) => Promise<Submission>

/** `accept` for a message that is still arriving. */
export type AcceptArriving = (arrive: Arrive) => Promise<Accepted>

/**
 * The one way for a message into the system. When the promise resolves, the message is on disk: every recipient will either
 * get it or be reported as undeliverable. Nothing stays of a refused message.
 *
 * @param from the submission, or what reads it
 * @param alsoWrite written in the same batch as the message: together or not at all
 * @throws ConflictError, UniqueError if that is refused
 * @throws SternaError if the submitter may not send it or has used up a quota, or the idempotency key was used for something else
 * @throws StorageFullError if the disk has no room; nothing was accepted
 */
export function accept(from: Submission | Arrive, services: AcceptServices, alsoWrite: Statement[] = []): Promise<Accepted> {
  return services.uploads.run(async (upload) => {
    const submission = typeof from === 'function' ? await from(upload) : from
    const domain = await lookedUp(services, () => authorise(submission, services))
    upload.require([submission.content])
    const { idempotency, submitter } = submission
    return services.idempotencyKeys.once(submitter.accountId, idempotency, async (remember) => {
      const ranked = services.urgentMail.ranked(submission)
      const admissions = [admissionOf(ranked instanceof Promise ? await ranked : ranked, domain, services.clock.now())]
      const answerOf = ([email]: DraftedEmail[]): Accepted => (email as DraftedEmail).accepted
      return admit({ submitter, admissions, upload, remember, alsoWrite, answerOf }, services)
    })
  })
}
