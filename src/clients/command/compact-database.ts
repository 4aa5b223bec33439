import type { Config } from '../../platform/config/settings.ts'
import { compact, keepTemporaryFilesIn, type CompactPlan } from '../../platform/store/compact.ts'
import { findDatabase } from '../../platform/store/data-directory.ts'
import { megabytes } from '../../platform/store/disk-space.ts'
import { holdDirectory, requireIdle } from '../../platform/store/hold-directory.ts'
import type { CommandOutput } from './command.ts'

/**
 * Rewrites the database while no server uses it.
 * @param tell writes a line for the person who waits
 * @throws SternaError `configuration` if a server holds the directory or its database is gone,
 *   `invalid_state` if there is too little disk space
 */
export function compactDatabase({ dataDir }: Pick<Config, 'dataDir'>, tell: (line: string) => void): CommandOutput {
  keepTemporaryFilesIn(dataDir)
  const { file } = findDatabase(dataDir)
  const held = holdDirectory(dataDir)
  try {
    requireIdle(dataDir, held)
    const { before, after } = compact(file, (plan) => tell(announcement(file, plan)))
    return {
      stdout: `${file}\n`,
      json: { object: 'compaction', database: file, bytes_before: before, bytes_after: after },
      stderr: `Rewritten: ${megabytes(before)} MB before, ${megabytes(after)} MB now. Older backups still contain the deleted data.\n`,
    }
  } finally {
    held.release()
  }
}

const announcement = (file: string, { size, needed, free, seconds }: CompactPlan): string =>
  `Rewriting ${file} (${megabytes(size)} MB). This takes about ${Math.ceil(seconds / 60)} ${seconds > 60 ? 'minutes' : 'minute'}, ` +
  `and ${megabytes(needed)} MB of disk until it is done; ${megabytes(free)} MB are free. You can stop it at any moment: the ` +
  'database stays as it was.'
