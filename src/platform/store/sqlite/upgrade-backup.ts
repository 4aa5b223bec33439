import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { flushDirectory, flushFile } from '../../durable-file.ts'
import { SternaError } from '../../errors.ts'
import { freeIn, megabytes } from '../disk-space.ts'
import type { Upgrade } from '../store.ts'
import { schemaOf } from './migrate.ts'
import { markCopy, removeCopy } from './mark-copy.ts'
import { privateFile, type Connection } from './sqlite-connection.ts'

const backupForm = /^before-upgrade-\d+-to-\d+\.db(?:\.part)?(?:-journal)?$/
/** Free space that an upgrade needs beside the backup, bytes: for what it changes. */
const spare = 64 * 1024 * 1024
/** Pages copied at a time; nobody waits in between. */
const pagesAtOnce = 25_000

/** What opening this database with these migrations changes; null if it changes nothing, or there is no data yet. */
export function upgradeOf(
  connection: Connection,
  newest: number,
  { directory, isBackedUp }: { directory: string; isBackedUp: boolean },
): Upgrade | null {
  const from = schemaOf(connection)
  if (from === 0 || from >= newest) return null
  const [pages, pageSize] = ['page_count', 'page_size'].map((name) => connection.pragma(name, { simple: true }) as number) as [
    number,
    number,
  ]
  return { from, to: newest, backup: isBackedUp ? join(directory, `before-upgrade-${from}-to-${newest}.db`) : null, size: pages * pageSize }
}

/**
 * Copies the database before its schema changes. A backup of an earlier upgrade between the same versions is replaced.
 * @throws SternaError `configuration` if the disk has too little space; nothing is changed
 */
export async function backUpBefore({ backup, size }: Upgrade, connection: Connection): Promise<void> {
  if (backup === null) return
  const directory = dirname(backup)
  const free = freeIn(directory)
  if (free < size + spare) throw noRoom(backup, { needed: size + spare, free })
  const part = `${backup}.part`
  removeCopy(part)
  try {
    const copiedAt = Date.now()
    await connection.backup(privateFile(part), { progress: () => pagesAtOnce })
    markCopy(part, copiedAt)
    flushFile(part)
    renameSync(part, backup)
    flushDirectory(directory)
  } finally {
    removeCopy(part)
  }
}

/** Removes the backups of upgrades that were made before a time, epoch ms. */
export function removeUpgradeBackups(directory: string, before: number): void {
  for (const name of readdirSync(directory).filter((each) => backupForm.test(each))) {
    const file = join(directory, name)
    if (existsSync(file) && statSync(file).mtimeMs < before) rmSync(file, { force: true })
  }
}

const noRoom = (backup: string, { needed, free }: { needed: number; free: number }): SternaError =>
  new SternaError(
    'configuration',
    `This version changes the schema of the database. It makes a backup first, ${backup}, and needs ${megabytes(needed)} MB of free disk ` +
      `space for both; there are ${megabytes(free)} MB. Nothing was changed. Free some space. Or make a backup elsewhere with the ` +
      'version before this one, and set upgrade.backup (STERNA_UPGRADE_BACKUP) to false.',
  )
