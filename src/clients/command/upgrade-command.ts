import type { Config } from '../../platform/config/settings.ts'
import { systemClock } from '../../platform/clock.ts'
import { closedStore } from '../../platform/store/closed-store.ts'
import { freeIn, megabytes } from '../../platform/store/disk-space.ts'
import { openStore } from '../../platform/store/open-store.ts'
import type { Upgrade } from '../../platform/store/store.ts'
import { flagOption, type Command, type CommandInput, type CommandOutput } from './command.ts'

export const upgradeCommands: Command[] = [
  {
    name: 'upgrade',
    advises: true,
    needs: 'any data',
    args: [],
    options: {
      'dry-run': { type: 'boolean', doc: 'Only shows what would change. The old version may serve meanwhile.' },
    },
    doc:
      'Copies the database, and changes its schema to the one of this version. Stop the server first. The first start of a new version ' +
      'does the same; every other command refuses a database with an older schema.',
  },
]

type UpgradeConfig = Pick<Config, 'dataDir' | 'store' | 'upgrade'>

/**
 * Changes the schema of the database, or only shows how.
 * @param tell writes a line for the person who waits
 * @throws SternaError `configuration` if a server holds the directory, a newer version wrote the database, or the disk has too little space
 */
export async function upgradeDatabase(
  input: CommandInput,
  config: UpgradeConfig,
  { version, tell }: { version: string; tell(line: string): void },
): Promise<CommandOutput> {
  const { found, newest, plan } = await closedStore(config).findUpgrade(config.upgrade.backup)
  const isDryRun = flagOption(input, 'dry-run')
  if (plan !== null && !isDryRun) await carryOut(config, tell)
  return {
    stdout: `This is Sterna ${version}. ${plan === null ? unchanged(found) : isDryRun ? planned(plan, config) : changed(plan, config)}\n`,
    json: { object: 'upgrade', version, schema_from: found, schema_to: newest, backup: plan?.backup ?? null, dry_run: isDryRun },
  }
}

async function carryOut({ upgrade, ...place }: UpgradeConfig, tell: (line: string) => void): Promise<void> {
  const onUpgrade = ({ from, to, isWaiting }: Upgrade): void =>
    tell(
      isWaiting
        ? 'Others, such as pg_dump, use tables that change: it is tried again until they do not.'
        : `Changing the schema of the database from ${from} to ${to}.`,
    )
  const { db } = await openStore({
    place,
    clock: systemClock,
    olderSchema: 'upgrade',
    backsUpUpgrades: upgrade.backup,
    onUpgrade,
  })
  await db.close()
}

const unbacked = (url: unknown, so: string): string =>
  url === null ? `upgrade.backup is false, so ${so}.` : 'It is on a server: back it up with pg_dump.'

const unchanged = (schema: number): string => `The database already has schema ${schema}: there is nothing to do.`

function planned({ from, to, backup, size }: Upgrade, { dataDir, store }: UpgradeConfig): string {
  const copied =
    backup === null
      ? unbacked(store.url, 'it makes no backup first')
      : `Before that, it copies the database to ${backup}: ${megabytes(size)} MB, and ${megabytes(freeIn(dataDir))} MB are free.`
  return `Its first start changes the schema of the database from ${from} to ${to}. ${copied} CHANGELOG.md says what else is new.`
}

const changed = ({ from, to, backup }: Upgrade, { store }: UpgradeConfig): string =>
  `The schema of the database was ${from}, and is ${to} now. ` +
  (backup === null ? unbacked(store.url, 'no backup was made first') : `The database as it was before is in ${backup}.`)
