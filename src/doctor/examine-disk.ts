import { type Finding, sayOf } from './finding.ts'

const gigabyte = 1024 ** 3

/** bytes */
export interface DiskSpace {
  free: number
  size: number
}

/** @param reserve bytes below which no mail is taken; never more than a tenth of the file system */
export function judgeDisk({ free, size }: DiskSpace, reserve: number): Finding {
  const say = sayOf('disk')
  const left = `${shown(free)} of ${shown(size)} are free`
  const advice = 'Make room, move data_dir to a larger disk, or shorten content_retention.'
  if (free <= Math.min(reserve, size / 10)) return say.failed(`${left}: no more mail is taken.`, advice)
  if (free < Math.max(Math.min(gigabyte, size / 5), size / 20)) return say.warning(`${left}.`, advice)
  return say.ok(`${left}.`)
}

/** Who may read what: the modes of the data directory and of what lies in it that is secret. */
export function judgeDirectory(directory: string, modes: { path: string; mode: number }[]): Finding {
  const say = sayOf('data_directory')
  const [own, ...files] = modes
  if (!own) return say.failed(`${directory} cannot be read.`, 'Give it to the user that the server runs as.')
  const open = files.filter(({ mode }) => (mode & 0o044) !== 0).map(({ path }) => path)
  // A directory that others cannot enter protects what is in it.
  if ((own.mode & 0o011) === 0 || open.length === 0) return say.ok(`Only the server's user can read what is in ${directory}.`)
  return say.warning(`Others on this machine can read ${open.join(', ')}, which has all mail in it.`, `Run: chmod 700 ${directory}`)
}

/** What was deleted from the database. */
export function judgeDatabase(needsRewriting: boolean): Finding {
  const say = sayOf('database')
  if (!needsRewriting) return say.ok('What is deleted is overwritten, and its room given back.')
  return say.warning(
    'The database was made by an earlier version: what was deleted then can still be read in its file and in backups.',
    'Stop the server and run: sterna compact. Then make a new backup.',
  )
}

const shown = (bytes: number): string => (bytes >= gigabyte ? `${(bytes / gigabyte).toFixed(1)} GB` : `${Math.round(bytes / 1024 ** 2)} MB`)
