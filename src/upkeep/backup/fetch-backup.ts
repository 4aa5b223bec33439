import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { SternaError } from '../../platform/errors.ts'
import { unpack } from './packing.ts'
import { measure, type Manifest } from './store-backup.ts'
import type { Target } from './target.ts'
import { reasonOf } from '../../platform/plain-reason.ts'

/** Where a backup from a target is put, unpacked. */
export interface FetchedBackup {
  file: string
  /** Null if the backup has no key file. */
  keyFile: string | null
}

/**
 * Fetches and unpacks a backup.
 * @throws SternaError `invalid_state` if it is not what was stored, or cannot be opened; then nothing is left
 */
export async function fetchBackup(target: Target, manifest: Manifest, file: string, identities: readonly string[]): Promise<FetchedBackup> {
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
    await pipeline(unpack(stored.stream, part.name, identities), createWriteStream(file, { flags: 'wx', mode: 0o600, flush: true }))
    if (stored.result().sha256 !== part.sha256) throw new Error('it is not the file that was stored')
  } catch (error) {
    content.destroy()
    await rm(file, { force: true })
    if (error instanceof SternaError) throw error
    const message = `${part.name} from ${target.label} cannot be restored: ${reasonOf(error)}. Use another backup.`
    throw new SternaError('invalid_state', message, { cause: error })
  }
}
