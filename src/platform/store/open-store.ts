import type { Clock } from '../clock.ts'
import type { Secret } from '../config/setting-types.ts'
import { askedClock, type AskedClockSettings } from './asked-clock.ts'
import { ChangeLog } from './change-log.ts'
import { aloneWithChanges } from './changes.ts'
import { LeasedNodes } from './leased-nodes.ts'
import type { Joining, Nodes } from './nodes.ts'
import { onlyNode } from './only-node.ts'
import { openPostgres, type ServedDatabase } from './postgresql/postgres-database.ts'
import { holdDirectory } from './sqlite/hold-directory.ts'
import { openDatabase, type DatabaseOptions } from './sqlite/sqlite-database.ts'
import type { Store } from './store.ts'

/** Where a store is: in files of the data directory, or at a URL. The directory is held in either case. */
export interface StorePlace {
  dataDir: string
  store: { url: Secret | null }
}

type OpenOptions = Omit<DatabaseOptions, 'directory'> & {
  place: StorePlace
  /** Of this machine: that of the store, unless its database is on a server, which has one. */
  clock: Clock
  /** Called at the start and once a second, if the store has another clock: how far that of this machine is ahead of it, ms. */
  onMachineClock?: (aheadMs: number) => void
}

/**
 * Opens the store of a place, creates it if there is none, and upgrades its schema. `db.close` closes all of it. After `onFatal`
 * the process must end; the next start finds everything that was acknowledged.
 * @throws SternaError `configuration` if another process holds the directory, the database is gone or cannot be reached, a newer version
 *   wrote it, or an older one did and `olderSchema` refuses that
 */
export async function openStore({ clock, place, onMachineClock, ...options }: OpenOptions): Promise<Store> {
  const { dataDir: directory, store } = place
  if (store.url === null) {
    const opened = await openDatabase({ directory, ...options })
    return { ...opened, clock, changes: aloneWithChanges, join: (joining) => onlyNode({ ...opened, clock }, joining) }
  }
  const held = holdDirectory(directory)
  try {
    const opened = await openPostgres({ url: store.url.reveal(), ...options })
    const close = (): Promise<void> => opened.close().finally(() => held.release())
    return await servedStore({ ...opened, close }, { machine: clock, onMachineClock }).catch(async (error: unknown) => {
      await opened.close()
      throw error
    })
  } catch (error) {
    held.release()
    throw error
  }
}

/** Others write to its database too. */
async function servedStore(opened: ServedDatabase, settings: AskedClockSettings): Promise<Store> {
  const { clock, stop } = await askedClock(opened, settings)
  const changes = await ChangeLog.open({ db: opened, clock })
  const close = (): Promise<void> => {
    stop()
    changes.stop()
    return opened.close()
  }
  const db = { ...opened, close }
  const join = async (joining: Joining): Promise<Nodes> => {
    const nodes = await LeasedNodes.join({ db, clock, heard: (table) => opened.tellOfInserts(table) }, joining)
    changes.join(nodes.self, joining.log)
    return nodes
  }
  return { db, clock, changes, files: null, join }
}
