import type { Config } from '../config/settings.ts'
import { SternaError } from '../errors.ts'
import { compact, keepTemporaryFilesIn, megabytes, type CompactPlan } from '../store/compact.ts'
import { findDatabase } from '../store/data-directory.ts'
import { holdDirectory, requireIdle } from '../store/hold-directory.ts'
import type { CommandOutput } from './command.ts'

/**
 * Rewrites the database while no server runs on it.
 * @param tell writes a line for whoever waits
 * @throws SternaError `configuration` where a server holds the directory or its database is gone, `not_found`,
 *   `invalid_state` where there is too little room
 */
export function compactDatabase({ dataDir }: Pick<Config, 'dataDir'>, tell: (line: string) => void): CommandOutput {
  keepTemporaryFilesIn(dataDir)
  const { file, isNew } = findDatabase(dataDir)
  if (isNew) throw new SternaError('not_found', `There is no database in ${dataDir}.`)
  const held = holdDirectory(dataDir)
  try {
    requireIdle(dataDir, held)
    const { before, after } = compact(file, (plan) => tell(announcement(file, plan)))
    return {
      stdout: `${file}\n`,
      stderr: `Rewritten: ${megabytes(before)} MB before, ${megabytes(after)} MB now. Backups made before still hold what was deleted.\n`,
    }
  } finally {
    held.release()
  }
}

const announcement = (file: string, { size, needed, free, seconds }: CompactPlan): string =>
  `Rewriting ${file} (${megabytes(size)} MB). It takes about ${Math.ceil(seconds / 60)} ${seconds > 60 ? 'minutes' : 'minute'} and, until it is done, ` +
  `${megabytes(needed)} MB of disk; ${megabytes(free)} MB are free. It may be stopped at any moment: the database is then as it was.`
