import { statSync } from 'node:fs'
import { SternaError } from '../../platform/errors.ts'
import { databaseFile } from '../../platform/store/data-directory.ts'
import { freeIn, megabytes } from '../../platform/store/disk-space.ts'

/** Disk space that is left to others, bytes. */
const spareBytes = 64 * 1024 * 1024

/**
 * Mail comes first: a copy of the database must not fill the disk.
 * @throws SternaError `invalid_state` if the data directory has no room for one
 */
export function requireSpace(dataDir: string): void {
  const [free, needed] = [freeIn(dataDir), statSync(databaseFile(dataDir)).size + spareBytes]
  if (free >= needed) return
  throw new SternaError(
    'invalid_state',
    `A copy of the database needs ${megabytes(needed)} MB of free space in ${dataDir} for a moment; there are ${megabytes(free)} MB. ` +
      'Free some space.',
  )
}
