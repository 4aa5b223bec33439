import { statfsSync } from 'node:fs'
import { codeOf } from '../durable-file.ts'
import { StorageFullError } from './database.ts'

const fullCodes = new Set(['ENOSPC', 'EDQUOT', 'SQLITE_FULL'])
/** What SQLite says on a store thread, whose errors have no code here. */
const fullWords = /database or disk is full/

/** Free space on the disk of a directory that this user may fill, bytes. */
export function freeIn(directory: string): number {
  const { bavail, bsize } = statfsSync(directory)
  return bavail * bsize
}

export const megabytes = (bytes: number): number => Math.ceil(bytes / 1_000_000)

/** Whether an error comes from a full disk, or a quota that is used up. */
export function isFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return error instanceof StorageFullError || fullCodes.has(codeOf(error)) || fullWords.test(error.message) || isFull(error.cause)
}
