import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createFile } from '../../platform/durable-file.ts'

/**
 * What tells the copies of this data directory from those of others at the same target: eight hexadecimal digits, made when they are
 * first needed. They are not in the database, because a restored one must not pass for the one it was copied from.
 */
export function originOf(dataDir: string): string {
  const path = join(dataDir, 'backup-origin')
  createFile(path, `${randomBytes(4).toString('hex')}\n`)
  return readFileSync(path, 'utf8').trim()
}
