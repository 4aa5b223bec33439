import { closedStore, type CompactPlan } from '../../platform/store/closed-store.ts'
import { megabytes } from '../../platform/store/disk-space.ts'
import { requireFiles } from '../../platform/store/store.ts'
import type { StorePlace } from '../../platform/store/open-store.ts'
import type { CommandOutput } from './command.ts'

/**
 * Rewrites the database while no server uses it.
 * @param tell writes a line for the person who waits
 * @throws SternaError `configuration` if a server holds the directory or its database is gone, `invalid_state` if there is too little disk
 *   space, or the database is on a server
 */
export function compactDatabase(place: StorePlace, tell: (line: string) => void, store = closedStore(place)): CommandOutput {
  const files = requireFiles(store.files, 'compact')
  const { database } = files
  const { before, after } = files.compact((plan) => tell(announcement(database, plan)))
  return {
    stdout: `${database}\n`,
    json: { object: 'compaction', database, bytes_before: before, bytes_after: after },
    stderr: `Rewritten: ${megabytes(before)} MB before, ${megabytes(after)} MB now. Older backups still contain the deleted data.\n`,
  }
}

const announcement = (file: string, { size, needed, free, seconds }: CompactPlan): string =>
  `Rewriting ${file} (${megabytes(size)} MB). This takes about ${Math.ceil(seconds / 60)} ${seconds > 60 ? 'minutes' : 'minute'}, ` +
  `and ${megabytes(needed)} MB of disk until it is done; ${megabytes(free)} MB are free. You can stop it at any moment: the ` +
  'database stays as it was.'
