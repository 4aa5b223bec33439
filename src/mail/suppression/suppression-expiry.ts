import type { Database, Statement } from '../../platform/store/database.ts'
import { removeInPieces } from '../../platform/store/remove-in-pieces.ts'

/** Removes expired suppressions, and soft bounce counts older than `countsMs`. */
export async function sweepSuppressions(db: Pick<Database, 'write'>, now: number, countsMs: number): Promise<void> {
  await removeInPieces(db, [removeExpired(now)])
  await removeInPieces(db, [removeCounts(now - countsMs)])
}

/** Uses the partial index suppression_expires. */
const removeExpired = (now: number): Statement => ({
  sql: 'delete from suppression where id in (select id from suppression where expires_at <= :now limit :rows offset :skip)',
  params: { now },
})

/** Uses the index soft_bounce_changed. */
const removeCounts = (cutoff: number): Statement => ({
  sql: `delete from soft_bounce where (account_id, address, sandbox) in (
          select account_id, address, sandbox from soft_bounce where changed_at <= :cutoff limit :rows offset :skip)`,
  params: { cutoff },
})
