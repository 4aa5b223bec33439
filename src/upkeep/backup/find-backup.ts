import { createReadStream, createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { messageOf, SternaError } from '../../platform/errors.ts'
import { reasonOf } from '../../platform/plain-reason.ts'
import { examineCopy } from '../../platform/store/file-copies.ts'
import { parseStem, type BackupName } from './backup-name.ts'
import { unpack } from './packing.ts'
import { listBackups, measure, readManifest, type Manifest } from './store-backup.ts'
import type { Target } from './target.ts'

/** Where a backup from a target is put, unpacked. */
interface FetchedBackup {
  file: string
  /** Null if the backup has no key file. */
  keyFile: string | null
}

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

/**
 * Fetches and unpacks a backup.
 * @throws SternaError `invalid_state` if it is not what was stored, or cannot be opened; then nothing is left
 */
async function fetchBackup(target: Target, manifest: Manifest, file: string, identities: readonly string[]): Promise<FetchedBackup> {
  const keyFile = manifest.key === null ? null : `${file}.key`
  await fetchPart(target, manifest.database, file, identities)
  if (manifest.key !== null && keyFile !== null) await fetchPart(target, manifest.key, keyFile, identities)
  return { file, keyFile }
}

async function fetchPart(target: Target, part: Manifest['database'], file: string, identities: readonly string[]): Promise<void> {
  const stored = measure()
  const content = await target.get(part.name)
  try {
    content.on('error', (error) => stored.stream.destroy(error))
    content.pipe(stored.stream)
    await written(unpack(stored.stream, part.name, identities), file)
    if (stored.result().sha256 !== part.sha256) throw new Error('it is not the file that was stored')
  } catch (error) {
    content.destroy()
    await rm(file, { force: true })
    if (error instanceof SternaError) throw error
    const message = `${part.name} from ${target.label} cannot be restored: ${reasonOf(error)}. Use another backup.`
    throw new SternaError('invalid_state', message, { cause: error })
  }
}

const written = (content: Readable, file: string): Promise<void> =>
  pipeline(content, createWriteStream(file, { flags: 'wx', mode: 0o600, flush: true }))

/** Unpacks a file that was stored at a target and brought here by other means. */
export async function unpackFile(from: string, file: string, identities: readonly string[]): Promise<void> {
  try {
    await written(unpack(createReadStream(from), basename(from), identities), file)
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
