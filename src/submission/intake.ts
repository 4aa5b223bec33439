import type { Submission } from '../message/submission.ts'
import type { Statement } from '../store/database.ts'
import { acceptBatch, type AcceptBatch } from './accept-batch.ts'
import { accept, type AcceptParts, type Arrive } from './accept.ts'
import type { Accepted } from './admission.ts'
import { IdempotencyKeys } from './idempotency-keys.ts'
import { resendFailed, type Resend } from './resend-failed.ts'

/** The one way in, with its parts given: whoever brings mail hands it over here. */
export interface Intake {
  accept: (from: Submission | Arrive, besides?: Statement[]) => Promise<Accepted>
  acceptBatch: AcceptBatch
  resend: Resend
}

export function openIntake(given: Omit<AcceptParts, 'idempotencyKeys'>): Intake {
  const { db, clock } = given
  const parts = { ...given, idempotencyKeys: new IdempotencyKeys({ db, clock }) }
  const take: Intake['accept'] = (from, besides) => accept(from, parts, besides)
  return {
    accept: take,
    acceptBatch: (batch) => acceptBatch(batch, parts),
    resend: (messageId, by) => resendFailed(messageId, by, { db, clock, accept: take }),
  }
}
