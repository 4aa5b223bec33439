import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { SternaError } from '../../platform/errors.ts'
import { isoTime } from '../../platform/iso-time.ts'
import { examineCopy, type CopyContent } from '../../platform/store/file-copies.ts'
import { manifestName, parseStem, stemOfManifest, type BackupName } from './backup-name.ts'
import { pack, packedEnd } from './packing.ts'
import type { Target } from './target.ts'

/** A file of a backup, as it is stored. */
interface StoredPart {
  name: string
  bytes: number
  /** Of the stored bytes, in hex. */
  sha256: string
}

/** What the file beside a backup says. */
export interface Manifest {
  object: 'backup'
  name: string
  /** ISO 8601: everything acknowledged before is in it. */
  begun_at: string
  database: StoredPart
  key: StoredPart | null
  content: CopyContent
}

/** A copy of the database, and of its key file, that nobody changes. */
export interface BackupSource {
  stem: string
  file: string
  keyFile: string | null
  recipients: readonly string[]
}

/**
 * Checks a copy of the database, stores it, and reads it back to compare. Only then it counts: its manifest is written last.
 * @throws SternaError `invalid_state` if the copy is damaged, or the target does not store or return it
 */
export async function storeBackup({ stem, file, keyFile, recipients }: BackupSource, target: Target): Promise<Manifest> {
  const content = examineCopy(file)
  try {
    return await storeAll({ stem, file, keyFile, recipients }, content, target)
  } catch (error) {
    // If the target is full, what is left there would keep it full.
    await removeBackup(target, stem).catch(() => {})
    throw error
  }
}

async function storeAll({ stem, file, keyFile, recipients }: BackupSource, content: CopyContent, target: Target): Promise<Manifest> {
  const { at } = parseStem(stem) as BackupName
  const end = packedEnd(recipients)
  const database = await storePart(target, `${stem}.db${end}`, pack(createReadStream(file), recipients))
  const key = keyFile === null ? null : await storePart(target, `${stem}.key${end}`, pack(createReadStream(keyFile), recipients))
  const manifest: Manifest = { object: 'backup', name: stem, begun_at: isoTime(at), database, key, content }
  await putText(target, manifestName(stem), `${JSON.stringify(manifest, null, 2)}\n`)
  return manifest
}

async function storePart(target: Target, name: string, content: Readable): Promise<StoredPart> {
  const sent = measure()
  content.on('error', (error) => sent.stream.destroy(error))
  await target.put(name, content.pipe(sent.stream))
  const stored = measure()
  await pipeline(await target.get(name), stored.stream, async (rest) => {
    for await (const part of rest) void part
  })
  const [one, other] = [sent.result(), stored.result()]
  if (one.sha256 !== other.sha256) {
    throw new SternaError(
      'invalid_state',
      `${target.label} did not return ${name} as it was stored, so it cannot hold backups. Check the disk or the S3 server.`,
    )
  }
  return { name, ...one }
}

/** Counts and hashes what passes through. */
export function measure(): { stream: Transform; result(): { bytes: number; sha256: string } } {
  const hash = createHash('sha256')
  let bytes = 0
  const stream = new Transform({
    transform(chunk: Buffer, _, done) {
      hash.update(chunk)
      bytes += chunk.length
      done(null, chunk)
    },
  })
  return { stream, result: () => ({ bytes, sha256: hash.digest('hex') }) }
}

/** The complete backups at a target, oldest first. */
export async function listBackups(target: Target): Promise<BackupName[]> {
  const names = (await target.list('sterna-')).map(({ name }) => stemOfManifest(name))
  const found = names.map((stem) => (stem === undefined ? null : parseStem(stem))).filter((backup) => backup !== null)
  return found.sort((one, other) => one.at - other.at)
}

/** What backups that were interrupted have left at a target. One of them may still be under way. */
export async function listUnfinished(target: Target): Promise<BackupName[]> {
  const names = (await target.list('sterna-')).map(({ name }) => name)
  const complete = new Set(names.map(stemOfManifest))
  const stems = new Set(names.map((name) => name.split('.', 1)[0] ?? ''))
  return [...stems].flatMap((stem) => (complete.has(stem) ? [] : (parseStem(stem) ?? [])))
}

/** @throws SternaError `invalid_state` if it cannot be parsed, or belongs to another backup */
export async function readManifest(target: Target, stem: string): Promise<Manifest> {
  const text = await textOf(await target.get(manifestName(stem)))
  try {
    const manifest = JSON.parse(text) as Manifest
    const parts = manifest.key === null ? [manifest.database] : [manifest.database, manifest.key]
    const isOurs = parts.every(({ name, sha256 }) => name.startsWith(`${stem}.`) && !name.includes('/') && typeof sha256 === 'string')
    if (manifest.name === stem && isOurs && typeof manifest.content === 'object') return manifest
  } catch {
    // The message below says it.
  }
  throw new SternaError('invalid_state', `${manifestName(stem)} in ${target.label} does not describe this backup. Use another one.`)
}

/** What a small file at a target holds; null if there is none, or it is not JSON. */
export async function storedJson(target: Target, name: string): Promise<unknown> {
  try {
    return JSON.parse(await textOf(await target.get(name)))
  } catch (error) {
    if (error instanceof SyntaxError || (error instanceof SternaError && error.code === 'not_found')) return null
    throw error
  }
}

export const putText = (target: Target, name: string, text: string): Promise<void> => target.put(name, Readable.from([Buffer.from(text)]))

/** @throws SternaError `invalid_state` beyond a mebibyte: it cannot be one of our small files */
async function textOf(content: Readable): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of content as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > 1024 * 1024) throw new SternaError('invalid_state', 'A file that describes a backup is longer than a mebibyte.')
    parts.push(part)
  }
  return Buffer.concat(parts).toString()
}

/** Removes a backup: what says that it is complete comes first. */
export async function removeBackup(target: Target, stem: string): Promise<void> {
  await target.remove(manifestName(stem))
  for (const { name } of await target.list(`${stem}.`)) await target.remove(name)
}
