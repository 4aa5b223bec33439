import { existsSync, renameSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { flushDirectory, giveName, makeDirectory, replaceFile } from '../../platform/durable-file.ts'
import { hasKey, readKeyFile } from './key-file.ts'

/** Where the key of a database is staged until that database becomes the current one. */
const stagedKey = (path: string): string => `${path}.restored`

/** Stages a key next to the key file, for `adoptStagedKey` to take over once its database is the current one. */
export function stageKey(path: string, text: string): void {
  makeDirectory(dirname(path))
  replaceFile(stagedKey(path), text)
}

/**
 * Replaces the key file with the staged key, if that is the wanted one. So a database and its key change together, whatever happens
 * between the two files. The previous key file is kept next to it.
 */
export function adoptStagedKey(path: string, fingerprint: string): void {
  const staged = stagedKey(path)
  if (!existsSync(staged) || !hasKey(readKeyFile(staged), fingerprint)) return
  if (existsSync(path)) {
    for (let number = 1; !giveName(path, join(dirname(path), `replaced-${number}-${basename(path)}`));) number++
    flushDirectory(dirname(path))
  }
  renameSync(staged, path)
  flushDirectory(dirname(path))
}
