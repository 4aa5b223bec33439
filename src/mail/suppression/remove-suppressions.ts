import type { Database } from '../../platform/store/database.ts'
import { removeInPieces } from '../../platform/store/remove-in-pieces.ts'

/** Removes suppressions that meet a condition, and then counts of soft bounces. */
async function remove(
  db: Pick<Database, 'write'>,
  [entries, counts]: [string, string],
  params: Record<string, string | number>,
): Promise<void> {
  const ofEntries = `delete from suppression where id in (select id from suppression where ${entries} limit :rows offset :skip)`
  const ofCounts = `delete from soft_bounce where (account_id, address, sandbox) in (
    select account_id, address, sandbox from soft_bounce where ${counts} limit :rows offset :skip)`
  for (const sql of [ofEntries, ofCounts]) await removeInPieces(db, [{ sql, params }])
}

/**
 * Removes expired suppressions, and soft bounce counts older than `countsMs`. Uses the partial index suppression_expires and the index
 * soft_bounce_changed.
 */
export const sweepSuppressions = (db: Pick<Database, 'write'>, now: number, countsMs: number): Promise<void> =>
  remove(db, ['expires_at <= :now', 'changed_at <= :cutoff'], { now, cutoff: now - countsMs })

/** Removes an account's suppressions and soft bounce counts when it is closed. */
export const removeSuppressionsOf = (accountId: string, db: Pick<Database, 'write'>): Promise<void> =>
  remove(db, ['account_id = :accountId', 'account_id = :accountId'], { accountId })
