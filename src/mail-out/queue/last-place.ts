import { newestTime } from '../../mail/event/newest-time.ts'
import type { Database, Statement } from '../../platform/store/database.ts'
import { isSameFile, witnessOf } from '../../platform/store/file-witness.ts'
import type { Store, StoreFiles } from '../../platform/store/store.ts'

interface Place extends Record<string, string> {
  lock_file: string
  database_file: string
}

/**
 * Marks a database as a copy if neither its file nor the lock file of its directory is the one that it was last open with, and mail is queued
 * in it: the directory was copied or moved, and the other may have run on. One of the two may be new by itself: somebody may remove the
 * lock, and a restore brings another database. `holdRestored` does the rest. The mark and the note of the new place are one batch, so this
 * is told once, whenever it is interrupted.
 */
export async function noteMoved({ db, clock, files }: Pick<Store, 'db' | 'clock' | 'files'>): Promise<void> {
  const place = files && placeOf(files)
  const [last] = await db.read<Place>('select lock_file, database_file from last_place')
  if (place === null || (last?.lock_file === place.lock_file && isSameFile(last.database_file, place.database_file))) return
  const isMoved = last !== undefined && !isSameFile(last.lock_file, place.lock_file) && !isSameFile(last.database_file, place.database_file)
  const noted = db.write([...(isMoved ? [copiedByFiles((await newestTime(db)) ?? clock.now())] : []), placed(place)])
  // The disk may be full. The next start notes it.
  await (isMoved ? noted : noted.catch(() => {}))
}

function placeOf({ lock: lockFile, paths }: StoreFiles): Place | null {
  const [lock, database] = [witnessOf(lockFile), witnessOf(paths.database)]
  return lock === null || database === null ? null : { lock_file: lock, database_file: database }
}

const copiedByFiles = (copiedAt: number): Statement => ({
  sql: `insert into copied (copied_at, is_held, by_files) select :copiedAt, 0, 1
         where exists (select 1 from recipient where due_at is not null and held = 0) and not exists (select 1 from copied where is_held = 0)`,
  params: { copiedAt },
})

const placed = ({ lock_file, database_file }: Place): Statement => ({
  sql: `insert into last_place (id, lock_file, database_file) values (1, :lock_file, :database_file)
        on conflict (id) do update set lock_file = excluded.lock_file, database_file = excluded.database_file`,
  params: { lock_file, database_file },
})

/** When the server was last known to run, epoch ms: it says so itself, and whatever it records does. Null if it never ran. */
export async function lastSeen(db: Pick<Database, 'read'>): Promise<number | null> {
  const [place] = await db.read<{ seen_at: number | null }>('select seen_at from last_place')
  const seen = [place?.seen_at, await newestTime(db)].filter((time) => time != null)
  return seen.length > 0 ? Math.max(...seen) : null
}

export const seen = (now: number): Statement => ({ sql: 'update last_place set seen_at = :now', params: { now } })
