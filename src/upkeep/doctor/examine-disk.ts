import { type Finding, sayOf } from './finding.ts'

const gigabyte = 1024 ** 3

/** bytes */
export interface DiskSpace {
  free: number
  size: number
}

/** @param reserve bytes of free space below which no mail is accepted; never more than a tenth of the file system */
export function judgeDisk({ free, size }: DiskSpace, reserve: number): Finding {
  const say = sayOf('disk')
  const left = { free: inGigabytes(free), size: inGigabytes(size) }
  if (free <= Math.min(reserve, size / 10)) return say.failed('disk_full', left)
  if (free < Math.max(Math.min(gigabyte, size / 5), size / 20)) return say.warning('disk_filling', left)
  return say.ok('disk_fine', left)
}

/** Who may read what: the modes of the data directory and of the secret files in it. */
export function judgeDirectory(directory: string, modes: { path: string; mode: number }[]): Finding {
  const say = sayOf('data_directory')
  const [own, ...files] = modes
  if (!own) return say.failed('data_directory_unreadable', { directory })
  const open = files.filter(({ mode }) => (mode & 0o044) !== 0).map(({ path }) => path)
  // Files in a directory that others cannot enter are protected.
  if ((own.mode & 0o011) === 0 || open.length === 0) return say.ok('data_directory_private', { directory })
  return say.warning('data_directory_open', { files: open.join(', '), directory })
}

/** Deleted data in the database. */
export function judgeDatabase(needsRewriting: boolean): Finding {
  const say = sayOf('database')
  return needsRewriting ? say.warning('database_not_rewritten') : say.ok('database_clean')
}

/** To a hundredth below 10 GB. */
const inGigabytes = (bytes: number): number => Math.round((bytes / gigabyte) * 100) / 100
