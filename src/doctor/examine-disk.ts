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
  const left = `${shown(free)} of ${shown(size)} are free`
  const advice = 'Free some space, move data_dir to a larger disk, or shorten content_retention.'
  if (free <= Math.min(reserve, size / 10)) return say.failed(`${left}: the server accepts no more mail.`, advice)
  if (free < Math.max(Math.min(gigabyte, size / 5), size / 20)) return say.warning(`${left}.`, advice)
  return say.ok(`${left}.`)
}

/** Who may read what: the modes of the data directory and of the secret files in it. */
export function judgeDirectory(directory: string, modes: { path: string; mode: number }[]): Finding {
  const say = sayOf('data_directory')
  const [own, ...files] = modes
  if (!own) return say.failed(`${directory} cannot be read.`, 'Make the user that the server runs as its owner.')
  const open = files.filter(({ mode }) => (mode & 0o044) !== 0).map(({ path }) => path)
  // Files in a directory that others cannot enter are protected.
  if ((own.mode & 0o011) === 0 || open.length === 0) return say.ok(`Only the server's user can read ${directory}.`)
  return say.warning(`Others on this machine can read ${open.join(', ')}, which contains all mail.`, `Run: chmod 700 ${directory}`)
}

/** Deleted data in the database. */
export function judgeDatabase(needsRewriting: boolean): Finding {
  const say = sayOf('database')
  if (!needsRewriting) return say.ok('Deleted data is overwritten, and its space returned.')
  return say.warning(
    'The database was created by an earlier version: data deleted then is still readable in its file and in backups.',
    'Stop the server and run: sterna compact. Then make a new backup.',
  )
}

const shown = (bytes: number): string => (bytes >= gigabyte ? `${(bytes / gigabyte).toFixed(1)} GB` : `${Math.round(bytes / 1024 ** 2)} MB`)
