import type { Submission } from '../../mail/message/submission.ts'
import type { Statement } from '../../platform/store/database.ts'
import { acceptBatch, type AcceptBatch } from './accept-batch.ts'
import { accept, type Arrive } from './accept.ts'
import type { AcceptServices } from './admit.ts'
import type { Accepted } from './admission.ts'
import { resendFailed, type Resend } from './resend-failed.ts'

/** The one way in, bound to its services: everything that brings in mail calls it. */
export interface Intake {
  accept: (from: Submission | Arrive, alsoWrite?: Statement[]) => Promise<Accepted>
  acceptBatch: AcceptBatch
  resend: Resend
}

export function openIntake(services: AcceptServices): Intake {
  const { db, clock, erasedAddress } = services
  const take: Intake['accept'] = (from, alsoWrite) => accept(from, services, alsoWrite)
  return {
    accept: take,
    acceptBatch: (batch) => acceptBatch(batch, services),
    resend: (messageId, by) => resendFailed(messageId, by, { db, clock, erasedAddress, accept: take }),
  }
}
