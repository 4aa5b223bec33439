import {
  claimReturnedMail,
  returnedMailOf,
  type ReturnedMail,
  type ReturnedMailRow,
  type ReturnedMailSource,
  type ReturnPathPurpose,
} from '../../src/mail-back/feedback/returned-mail-store.ts'
import type { Database } from '../../src/platform/store/database.ts'

/** Claims all mail of a source, however late it is due. */
export async function claimedReturnedMail(
  db: Pick<Database, 'write'>,
  purpose: ReturnPathPurpose,
  source: ReturnedMailSource,
): Promise<ReturnedMail[]> {
  const range = { owner: 'node_1', now: 0, latest: 0, limit: 100, skip: 0 }
  const [written] = await db.write([claimReturnedMail(purpose, source, range)])
  const mail = (written?.rows ?? []).map((row) => returnedMailOf(row as ReturnedMailRow))
  return mail.toSorted((a, b) => (a.id < b.id ? -1 : 1))
}
