import { SternaError } from '../errors.ts'
import { programFile, programFolder } from '../program.ts'

const folder = new URL('./migrations/', import.meta.url)

/** A migration, and the version of the schema that it leads to. */
export interface SchemaStep {
  version: number
  sql: string
}

let known: SchemaStep[] | undefined

/** The migrations in order; the number before the first `-` of a file's name is the version it leads to. */
export function migrations(): SchemaStep[] {
  known ??= programFolder(folder)
    .filter((name) => name.endsWith('.sql'))
    .map((name) => ({ version: Number.parseInt(name, 10), sql: programFile(new URL(name, folder)).toString() }))
  return known
}

/** The schema that this version works with. */
export const newestSchema = (): number => migrations().at(-1)?.version ?? 0

const addition = /^(create table|create index|alter table \w+ add column)\b/i
/** What a migration says that only adds, and that earlier versions cannot live with all the same. */
const notForEarlier = '-- Earlier versions cannot serve with this.'

/** Whether programs that do not know a migration serve on with it: it only adds tables, columns and indexes. */
export function onlyAdds(sql: string): boolean {
  if (sql.includes(notForEarlier)) return false
  const statements = sql.replace(/--.*$/gm, '').replace(/\s+/g, ' ').split(';')
  return statements.every((statement) => statement.trim() === '' || addition.test(statement.trim()))
}

/** The oldest of the versions of the schema whose programs serve with the newest: that of the last migration that does not only add. */
export const servedFrom = (steps: readonly SchemaStep[] = migrations()): number => steps.findLast(({ sql }) => !onlyAdds(sql))?.version ?? 0

/** The way back to an earlier version. */
const wayBack = {
  files: (newest: number, found: number): string =>
    `restore a backup from before the upgrade, such as before-upgrade-${newest}-to-${found}.db in the data directory`,
  server: (): string => 'stop all nodes, and restore what pg_dump or the archive of the server has from before the upgrade',
}

/**
 * @param at where the database is
 * @throws SternaError `configuration` if a newer version wrote the database
 */
export function requireKnown(found: number, at: keyof typeof wayBack, newest = newestSchema()): void {
  if (found <= newest) return
  throw new SternaError(
    'configuration',
    `The database has schema ${found}, but this version of Sterna knows schemas only up to ${newest}. Nothing was changed. Install the ` +
      `version that wrote it, or a newer one. To go back to this version, ${wayBack[at](newest, found)}: docs/upgrade.md.`,
  )
}

/** @throws SternaError `configuration` unless the database has the schema that this version works with */
export function requireCurrent(found: number, at: keyof typeof wayBack, newest = newestSchema()): void {
  requireKnown(found, at, newest)
  if (found === newest) return
  throw new SternaError(
    'configuration',
    `The database has schema ${found}, and this version of Sterna works with schema ${newest}. Nothing was changed. Stop the older ` +
      `version and start this one, or run "sterna upgrade": both ${at === 'files' ? 'copy the database, and then change' : 'change'} its ` +
      'schema. docs/upgrade.md says more.',
  )
}
