import { statSync } from 'node:fs'
import { SternaError } from '../../platform/errors.ts'
import { freeIn, megabytes } from '../../platform/store/disk-space.ts'
import type { StoreFiles } from '../../platform/store/store.ts'

/** Disk space that is left to others, bytes. */
const spareBytes = 64 * 1024 * 1024

/**
 * Mail comes first: a copy of the database must not fill the disk.
 * @throws SternaError `invalid_state` if the data directory has no room for one
 */
export function requireSpace({ directory, paths }: Pick<StoreFiles, 'directory' | 'paths'>): void {
  const [free, needed] = [freeIn(directory), statSync(paths.database).size + spareBytes]
  if (free >= needed) return
  throw new SternaError(
    'invalid_state',
    `A copy of the database needs ${megabytes(needed)} MB of free space in ${directory} for a moment; there are ${megabytes(free)} MB. ` +
      'Free some space.',
  )
}
