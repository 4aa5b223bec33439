import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { SternaError } from '../../platform/errors.ts'
import { freeIn, megabytes } from '../../platform/store/disk-space.ts'

/** Disk space that migrating a backup may need, bytes. */
const spareBytes = 64 * 1024 * 1024

/**
 * A copy of the backup is opened, migrated and moved into place.
 * @param files the backup; those that do not exist need no space
 * @throws SternaError `invalid_state` if the disk of the data directory has no room for it
 */
export function requireRoom(dataDir: string, files: string[]): void {
  const needed = files.reduce((sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0), spareBytes)
  const free = freeIn(dataDir)
  if (free < needed) throw full(dataDir, `it needs ${megabytes(needed)} MB, and ${megabytes(free)} MB are free`)
}

/**
 * For a restore that failed because the disk is full.
 * @param staging where it has written so far
 */
export function noRoom(dataDir: string, staging: string): SternaError {
  const names = existsSync(staging) ? readdirSync(staging, { recursive: true, encoding: 'utf8' }) : []
  const written = names.reduce((sum, name) => sum + statSync(join(staging, name)).size, 0)
  return full(dataDir, `it needs more than the ${megabytes(freeIn(dataDir) + written)} MB that were free`)
}

const full = (dataDir: string, how: string): SternaError =>
  new SternaError(
    'invalid_state',
    `There is not enough space in ${dataDir} for the backup: ${how}. Nothing was changed. Free some space there: a backup that is fetched ` +
      'or unpacked takes twice what the database does.',
  )
