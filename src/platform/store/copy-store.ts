import { requireNoMark } from './copied-mark.ts'
import { copyTables, type StoreCopied } from './copy-tables.ts'
import { postgresSource } from './postgresql/postgres-copy-source.ts'
import { postgresTarget } from './postgresql/postgres-copy-target.ts'
import { keepTemporaryFilesIn } from './sqlite/compact.ts'
import { sqliteSource } from './sqlite/sqlite-copy-source.ts'
import { sqliteTarget } from './sqlite/sqlite-copy-target.ts'

export type CopyDirection = 'to server' | 'from server'

interface CopyStore {
  /** The data directory, whose database in files is the one side. */
  dataDir: string
  /** Of the database on a server that is the other. */
  url: string
  direction: CopyDirection
  /** Epoch ms. */
  now: number
  /** Refuses, by throwing, a source whose secrets are sealed with a key that the target will not have. */
  requireKey(fingerprint: string | null): void
  /** Writes a line for the person who waits. */
  tell(line: string): void
}

/**
 * Copies all data between a database in files and one on a server, into an empty one. Nobody else may work on either. Afterwards no server
 * starts on the source.
 * @throws SternaError if one side cannot be used, is in use, or is not empty
 */
export async function copyStore(copy: CopyStore): Promise<StoreCopied & { from: string; to: string }> {
  const { dataDir, url, direction, now, requireKey, tell } = copy
  const isToServer = direction === 'to server'
  if (!isToServer) keepTemporaryFilesIn(dataDir)
  const source = isToServer ? sqliteSource(dataDir) : await postgresSource(url, tell)
  try {
    requireNoMark(source.copied)
    requireKey(source.fingerprint)
    const target = isToServer ? await postgresTarget(url) : sqliteTarget(dataDir, source.size)
    try {
      tell(`Copying ${source.shown} to ${target.shown}.`)
      return { ...(await copyTables({ source, target, now, tell })), from: source.shown, to: target.shown }
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}
