import { createReadStream, createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { messageOf, SternaError } from '../../platform/errors.ts'
import { examineCopy } from '../../platform/store/examine-copy.ts'
import { parseStem, type BackupName } from './backup-name.ts'
import { fetchBackup, type FetchedBackup } from './fetch-backup.ts'
import { unpack } from './packing.ts'
import { listBackups, readManifest } from './store-backup.ts'
import type { Target } from './target.ts'

/**
 * Fetches the newest backup from a target, or the named one, and checks that it is what was stored.
 * @throws SternaError `not_found` if there is none; `invalid_state` if several servers' backups are there and none is named
 */
export async function fetchFrom(
  target: Target,
  name: string | undefined,
  file: string,
  identities: readonly string[],
): Promise<FetchedBackup> {
  const stem = name === undefined ? newest(target, await listBackups(target)).stem : stemOf(name)
  const manifest = await readManifest(target, stem)
  const fetched = await fetchBackup(target, manifest, file, identities)
  const [found, stored] = [examineCopy(file), manifest.content].map((content) => JSON.stringify(content))
  if (found === stored) return fetched
  throw new SternaError(
    'invalid_state',
    `${stem} in ${target.label} holds ${found}, and its description says ${stored}. Use another backup.`,
  )
}

/** Unpacks a file that was stored at a target and brought here by other means. */
export async function unpackFile(from: string, file: string, identities: readonly string[]): Promise<void> {
  try {
    await pipeline(
      unpack(createReadStream(from), basename(from), identities),
      createWriteStream(file, { flags: 'wx', mode: 0o600, flush: true }),
    )
  } catch (error) {
    await rm(file, { force: true })
    if (error instanceof SternaError) throw error
    throw new SternaError('invalid_state', `${from} cannot be restored: ${messageOf(error)}`, { cause: error })
  }
}

/** Also takes the name of one of the backup's files. */
function stemOf(name: string): string {
  const stem = name.replace(/\.(?:json|(?:db|key)(?:\.zst(?:\.age)?)?)$/, '')
  if (parseStem(stem) !== null) return stem
  throw new SternaError('not_found', `There is no backup ${name}. sterna backup list shows the names.`)
}

function newest(target: Target, backups: BackupName[]): BackupName {
  const last = backups.at(-1)
  if (last === undefined) throw new SternaError('not_found', `There is no complete backup in ${target.label}.`)
  const origins = new Set(backups.map(({ origin }) => origin))
  if (origins.size === 1) return last
  const each = [...origins].map((origin) => backups.findLast((backup) => backup.origin === origin)?.stem)
  throw new SternaError(
    'invalid_state',
    `${target.label} holds the backups of ${origins.size} data directories. Say which: --backup ${each.join(' or --backup ')}.`,
  )
}
