import type { Submitter } from '../../mail/message/submission.ts'
import { ConflictError, type Database, type Statement } from '../../platform/store/database.ts'
import { findSuppressed, noneSuppressed, type AddressedMail, type IsSuppressed } from '../../mail/suppression/suppression-list.ts'
import type { ErasedAddress } from '../../mail/suppression/erased-address.ts'

/** The conditions under which something is written. */
export interface Terms {
  /** Statements that must hold when it is written. */
  conditions: Statement[]
  isSuppressed: IsSuppressed
}

/**
 * Hardly any recipient is on the suppression list. So `admit` writes on the condition that none of the addresses is, and the list is
 * read only if that fails.
 */
export async function admitUnsuppressed<T>(
  to: { submitter: Submitter; mail: AddressedMail[]; now: number },
  { db, erasedAddress }: { db: Database; erasedAddress: ErasedAddress },
  admit: (terms: Terms) => Promise<T>,
): Promise<T> {
  const { submitter, mail, now } = to
  const asked = { accountId: submitter.accountId, sandbox: submitter.sandbox, erasedAddress, now }
  const conditions = noneSuppressed(asked, mail)
  try {
    return await admit({ conditions, isSuppressed: () => false })
  } catch (error) {
    if (!(error instanceof ConflictError && error.guard === 'suppression')) throw error
    const addresses = [...new Set(mail.flatMap(({ addresses }) => addresses))]
    return admit({ conditions: [], isSuppressed: await findSuppressed(db, asked, addresses) })
  }
}
