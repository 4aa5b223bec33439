import { readFileSync } from 'node:fs'
import { databaseFile } from '../../src/platform/store/sqlite/data-directory.ts'
import { openDatabase } from '../../src/platform/store/sqlite/sqlite-database.ts'
import { temporaryDirectory } from './temporary-directory.ts'

let made: Promise<Buffer> | undefined

/** The file of a database with today's schema and nothing in it: to make the schema takes longer than the rest of a start. */
export const emptyDatabase = (): Promise<Buffer> => (made ??= make())

async function make(): Promise<Buffer> {
  const { path, remove } = temporaryDirectory()
  const onFatal = (error: Error): void => {
    throw error
  }
  const { db } = await openDatabase({ directory: path, onFatal })
  await db.close()
  const content = readFileSync(databaseFile(path))
  remove()
  return content
}
