import { existsSync, renameSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { flushDirectory, giveName, makeDirectory, replaceFile } from '../durable-file.ts'
import { fingerprintOf, readKeyFile } from './key-file.ts'

/** Where the key of a database waits until that database is the current one. */
const stagedKey = (path: string): string => `${path}.restored`

/** Puts a key beside the key file, for `adoptStagedKey` once the database that it belongs to is the current one. */
export function stageKey(path: string, text: string): void {
  makeDirectory(dirname(path))
  replaceFile(stagedKey(path), text)
}

/**
 * Puts the key that was staged in the place of the key file where it is the one that is wanted. So a database and its key change at
 * the same moment, whatever happens between the two files. What was in place is kept beside.
 */
export function adoptStagedKey(path: string, fingerprint: string): void {
  const staged = stagedKey(path)
  if (!existsSync(staged) || fingerprintOf(readKeyFile(staged)) !== fingerprint) return
  if (existsSync(path)) {
    for (let number = 1; !giveName(path, join(dirname(path), `replaced-${number}-${basename(path)}`));) number++
    flushDirectory(dirname(path))
  }
  renameSync(staged, path)
  flushDirectory(dirname(path))
}
