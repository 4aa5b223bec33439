import { Backups } from '../../upkeep/backup/backups.ts'
import { systemClock } from '../../platform/clock.ts'
import type { Config } from '../../platform/config/settings.ts'
import { messageOf } from '../../platform/errors.ts'
import { Health } from '../../platform/health.ts'
import type { Log } from '../../platform/log.ts'
import { MetricsPage } from '../../platform/metrics/metrics-page.ts'
import type { Database, Row } from '../../platform/store/database.ts'
import { openStore } from '../../platform/store/open-store.ts'
import { makeBackup } from './backup-commands.ts'
import type { CommandInput, CommandOutput } from './command.ts'

/**
 * Makes a backup while no server runs. It copies what is there: a backup from before an upgrade has the schema from before.
 * @throws SternaError as `sterna backup` in a server, and `configuration` if the directory cannot be opened
 */
export async function backUpAlone(input: CommandInput, config: Config, log: Log): Promise<CommandOutput> {
  const clock = systemClock
  const { db, files } = await openStore({ place: config, clock, olderSchema: 'keep', opensCopied: true })
  try {
    const services = { config, clock, log, files, db: { read: readOlder(db) } }
    const backups = new Backups({ ...services, health: new Health({ clock, log }), metrics: new MetricsPage({ clock, log }).metrics })
    return await makeBackup(input, { ...services, backups })
  } finally {
    await db.close()
  }
}

/** A table that a later schema brings has no rows yet. */
const readOlder =
  (db: Database): Database['read'] =>
  <R extends Row>(...query: Parameters<Database['read']>) =>
    db.read<R>(...query).catch((error: unknown) => {
      if (/no such table/.test(messageOf(error))) return []
      throw error
    })
