import { stat, statfs } from 'node:fs/promises'
import { SternaError } from '../errors.ts'
import { databaseFile } from '../store/data-directory.ts'

/** Disk space that is left to others, bytes. */
const spareBytes = 64 * 1024 * 1024

/**
 * Mail comes first: a copy of the database must not fill the disk.
 * @throws SternaError `invalid_state` if the data directory has no room for one
 */
export async function requireSpace(dataDir: string): Promise<void> {
  const [{ bavail, bsize }, { size }] = await Promise.all([statfs(dataDir), stat(databaseFile(dataDir))])
  const free = bavail * bsize
  if (free >= size + spareBytes) return
  const [needed, there] = [Math.ceil((size + spareBytes) / 1024 ** 2), Math.floor(free / 1024 ** 2)]
  throw new SternaError('invalid_state', `A backup needs ${needed} MB of free space in ${dataDir} for a moment; there are ${there} MB.`)
}
