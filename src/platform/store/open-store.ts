import type { Clock } from '../clock.ts'
import { aloneWithChanges } from './changes.ts'
import { onlyNode } from './only-node.ts'
import { openDatabase, type DatabaseOptions } from './sqlite/sqlite-database.ts'
import type { Store } from './store.ts'

/**
 * Opens the store of a data directory, creates it if there is none, and upgrades its schema. `db.close` closes all of it. After `onFatal`
 * the process must end; the next start finds everything that was acknowledged.
 * @throws SternaError `configuration` if another process holds the directory, its database is gone, a newer version wrote it, or an older
 *   one did and `olderSchema` refuses that
 */
export async function openStore({ clock, ...options }: DatabaseOptions & { clock: Clock }): Promise<Store> {
  const opened = await openDatabase(options)
  return { ...opened, clock, changes: aloneWithChanges, join: (joining) => onlyNode({ ...opened, clock }, joining) }
}
