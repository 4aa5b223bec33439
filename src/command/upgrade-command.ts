import type { Config } from '../config/settings.ts'
import { findDatabase } from '../store/data-directory.ts'
import { freeIn, megabytes } from '../store/disk-space.ts'
import { newestSchema } from '../store/migrate.ts'
import { openReader } from '../store/sqlite-connection.ts'
import { upgradeOf, type Upgrade } from '../store/upgrade-backup.ts'
import type { Command, CommandOutput } from './command.ts'

export const upgradeCommands: Command[] = [
  {
    name: 'upgrade',
    args: [],
    options: {},
    doc:
      'Shows what the first start of this version changes: the schema of the database, and the backup that it makes first. It changes ' +
      'nothing itself, and may run while the old version serves.',
  },
]

/** @throws SternaError `configuration` if the data directory has lost its database */
export function showUpgrade({ dataDir, upgrade: { backup } }: Pick<Config, 'dataDir' | 'upgrade'>, version: string): CommandOutput {
  const { isNew } = findDatabase(dataDir)
  const newest = newestSchema()
  if (isNew)
    return told(version, { from: null, to: newest, backup: null }, `There is no database in ${dataDir} yet: the first start creates it.`)
  const connection = openReader(dataDir)
  try {
    const found = connection.pragma('user_version', { simple: true }) as number
    const plan = upgradeOf(connection, newest, { directory: dataDir, isBackedUp: backup })
    return told(
      version,
      { from: found, to: newest, backup: plan?.backup ?? null },
      plan ? planned(plan, freeIn(dataDir)) : unchanged(found, newest),
    )
  } finally {
    connection.close()
  }
}

const told = (version: string, plan: { from: number | null; to: number; backup: string | null }, text: string): CommandOutput => ({
  stdout: `This is Sterna ${version}. ${text}\n`,
  json: { object: 'upgrade', version, schema_from: plan.from, schema_to: plan.to, backup: plan.backup },
})

const unchanged = (found: number, newest: number): string =>
  found > newest
    ? `The database has schema ${found}, and this version knows schemas only up to ${newest}: it does not start. To go back to this ` +
      'version, restore a backup from before the upgrade: docs/upgrade.md.'
    : `The database already has schema ${found}: there is nothing to do.`

function planned({ from, to, backup, size }: Upgrade, free: number): string {
  const copied =
    backup === null
      ? 'upgrade.backup is false, so it makes no backup first.'
      : `Before that, it copies the database to ${backup}: ${megabytes(size)} MB, and ${megabytes(free)} MB are free.`
  return `Its first start changes the schema of the database from ${from} to ${to}. ${copied} CHANGELOG.md says what else is new.`
}
