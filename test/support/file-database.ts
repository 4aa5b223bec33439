import { afterAll } from 'vitest'
import type { Database } from '../../src/platform/store/database.ts'
import { openDatabase } from '../../src/platform/store/sqlite-database.ts'
import { temporaryDirectory } from './temporary-directory.ts'

/** A database that all tests of a file share; it goes away with the file. */
export async function fileDatabase(): Promise<Database> {
  const { path, remove } = temporaryDirectory()
  const onFatal = (error: Error): void => {
    throw error
  }
  const db = await openDatabase({ directory: path, onFatal })
  afterAll(async () => {
    await db.close()
    remove()
  })
  return db
}
