import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { SternaError } from '../../errors.ts'
import { freeIn, megabytes } from '../disk-space.ts'
import { FileUpkeep } from './file-upkeep.ts'
import { open, type Connection } from './sqlite-connection.ts'

/** What rewriting a database file takes. */
export interface CompactPlan {
  /** Of the file, bytes. */
  size: number
  /** Free disk space, bytes: SQLite makes a copy next to the file, and moves it into place through the log. */
  needed: number
  free: number
  /** An estimate. */
  seconds: number
}

/** bytes per second, measured on a virtual machine with two busy cores */
const bytesPerSecond = 40_000_000
const spare = 64 * 1024 * 1024

/** Makes SQLite keep its temporary files in a directory. Call it before SQLite is first used, because it checks only then. */
export function keepTemporaryFilesIn(directory: string): void {
  process.env['SQLITE_TMPDIR'] = directory
}

/**
 * Rewrites a database that nobody has open, so that its file contains no deleted data, and free space is returned from then on. It is
 * one transaction: if it is interrupted, the file is either unchanged or done.
 * @param tell called with the estimate before it begins
 * @param freeBytes of the disk
 * @throws SternaError `invalid_state` if the disk has too little space; nothing is changed
 */
export function compact(
  file: string,
  tell: (plan: CompactPlan) => void,
  freeBytes = freeIn(dirname(file)),
): { before: number; after: number } {
  const connection = open(file, { fileMustExist: true })
  let upkeep: FileUpkeep | undefined
  try {
    connection.pragma('journal_mode = wal')
    connection.pragma('synchronous = full')
    connection.pragma('wal_checkpoint(truncate)')
    const plan = planOf(connection, file, freeBytes)
    if (plan.free < plan.needed) throw noRoom(file, plan)
    tell(plan)
    // The copy may be larger than the memory.
    connection.pragma('temp_store = file')
    connection.pragma('cache_size = -64000')
    connection.pragma('auto_vacuum = incremental')
    connection.exec('vacuum')
    upkeep = new FileUpkeep(connection)
    for (let from: number | null = 1; from !== null;) from = upkeep.overwriteUnused(from)
    upkeep.emptyLog()
    return { before: plan.size, after: statSync(file).size }
  } finally {
    connection.close()
    upkeep?.close()
  }
}

function planOf(connection: Connection, file: string, free: number): CompactPlan {
  const [pages, unused, pageSize] = ['page_count', 'freelist_count', 'page_size'].map(
    (name) => connection.pragma(name, { simple: true }) as number,
  ) as [number, number, number]
  const used = (pages - unused) * pageSize
  return { size: statSync(file).size, needed: 2 * used + spare, free, seconds: Math.ceil(used / bytesPerSecond) }
}

const noRoom = (file: string, { needed, free }: CompactPlan): SternaError =>
  new SternaError(
    'invalid_state',
    `Rewriting ${file} requires ${megabytes(needed)} MB of free disk space next to it; there are ${megabytes(free)} MB. Free ` +
      'some space, or move the data directory to a larger disk.',
  )
