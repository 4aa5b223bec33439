import { SternaError } from '../errors.ts'
import { programFile, programFolder } from '../program.ts'

const folder = new URL('./migrations/', import.meta.url)

/** The migrations in order; the number before the first `-` of a file's name is the version it leads to. */
export function migrations(): { version: number; sql: string }[] {
  return programFolder(folder)
    .filter((name) => name.endsWith('.sql'))
    .map((name) => ({ version: Number.parseInt(name, 10), sql: programFile(new URL(name, folder)).toString() }))
}

/** The schema that this version works with. */
export const newestSchema = (): number => migrations().at(-1)?.version ?? 0

/** @throws SternaError `configuration` if a newer version wrote the database */
export function requireKnown(found: number, newest = newestSchema()): void {
  if (found <= newest) return
  throw new SternaError(
    'configuration',
    `The database has schema ${found}, but this version of Sterna knows schemas only up to ${newest}. Nothing was changed. Install the ` +
      'version that wrote it, or a newer one. To go back to this version, restore a backup from before the upgrade, such as ' +
      `before-upgrade-${newest}-to-${found}.db in the data directory: docs/upgrade.md.`,
  )
}

/** @throws SternaError `configuration` unless the database has the schema that this version works with */
export function requireCurrent(found: number, newest = newestSchema()): void {
  requireKnown(found, newest)
  if (found === newest) return
  throw new SternaError(
    'configuration',
    `The database has schema ${found}, and this version of Sterna works with schema ${newest}. Nothing was changed. Stop the older ` +
      'version and start this one, or run "sterna upgrade": both copy the database, and then change its schema. docs/upgrade.md says more.',
  )
}
