import type { Submitter } from '../message/submission.ts'
import { ConflictError } from '../store/database.ts'
import type { Database, Statement } from '../store/database.ts'
import { findSuppressed, noneSuppressed } from '../suppression/suppression-list.ts'

/** Under which terms something is written. */
export interface Terms {
  /** Statements that must hold when it is written. */
  conditions: Statement[]
  /** Addresses that are not written to, in lower case. */
  suppressed: Set<string>
}

/**
 * Hardly anybody is on the suppression list: `admit` writes under the condition that none of the addresses is, and the
 * list is read only where that is refused. In its batch so many statements stand `before` the conditions.
 */
export async function admitUnsuppressed<T>(
  to: { submitter: Submitter; addresses: string[]; before: number },
  db: Database,
  admit: (terms: Terms) => Promise<T>,
): Promise<T> {
  const { submitter, addresses, before } = to
  const conditions = noneSuppressed(submitter, addresses)
  try {
    return await admit({ conditions, suppressed: new Set() })
  } catch (error) {
    const isSuppression = error instanceof ConflictError && error.statement >= before && error.statement < before + conditions.length
    if (!isSuppression) throw error
    return admit({ conditions: [], suppressed: await findSuppressed(db, submitter, addresses) })
  }
}
