import { SternaError } from '../errors.ts'
import { programFile, programFolder } from '../program.ts'
import type { Connection } from './sqlite-connection.ts'

const folder = new URL('./migrations/', import.meta.url)

/** The migrations in order; the number before the first `-` of a file's name is the version it leads to. */
export function migrations(): { version: number; sql: string }[] {
  return programFolder(folder)
    .filter((name) => name.endsWith('.sql'))
    .map((name) => ({ version: Number.parseInt(name, 10), sql: programFile(new URL(name, folder)).toString() }))
}

/** The schema that this version works with. */
export const newestSchema = (): number => migrations().at(-1)?.version ?? 0

/**
 * Updates the schema; each migration and its number are one transaction.
 * @throws SternaError `configuration` if the database was created by a newer version
 */
export function migrate(connection: Connection, steps = migrations()): void {
  const found = connection.pragma('user_version', { simple: true }) as number
  const newest = steps.at(-1)?.version ?? 0
  if (found > newest) {
    throw new SternaError(
      'configuration',
      `The database has schema ${found}, but this version of Sterna knows schemas only up to ${newest}. Install the version that ` +
        'wrote it, or a newer one. To go back to this version, restore a backup from before the upgrade, such as ' +
        'before-upgrade-29-to-30.db in the data directory: docs/upgrade.md.',
    )
  }
  for (const { version, sql } of steps.filter((step) => step.version > found)) {
    connection.transaction(() => {
      connection.exec(sql)
      connection.pragma(`user_version = ${version}`)
    })()
  }
}
