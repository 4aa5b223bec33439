import type { Clock } from '../clock.ts'
import type { Secret } from '../config/setting-types.ts'
import { askedClock, type AskedClockSettings } from './asked-clock.ts'
import { ChangeLog } from './change-log.ts'
import { aloneWithChanges } from './changes.ts'
import { requireNotCopied } from './copied-mark.ts'
import { hasNodes, LeasedNodes } from './leased-nodes.ts'
import type { Joining, Nodes } from './nodes.ts'
import { LeasedShares } from './leased-shares.ts'
import { aloneWithLimits } from './local-windows.ts'
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
  /** Whether data is opened that `sterna store copy` has copied elsewhere; default: it is refused. */
  opensCopied?: boolean
}

/**
 * Opens the store of a place, creates it if there is none, and upgrades its schema. `db.close` closes all of it. After `onFatal`
 * the process must end; the next start finds everything that was acknowledged.
 * @throws SternaError `configuration` if another process holds the directory, the database is gone or cannot be reached, a newer version
 *   wrote it, an older one did and `olderSchema` refuses that, or the data was copied elsewhere
 */
export async function openStore({ opensCopied = false, ...options }: OpenOptions): Promise<Store> {
  const store = await openEither(options)
  if (opensCopied) return store
  try {
    await requireNotCopied(store.db)
    return store
  } catch (error) {
    await store.db.close()
    throw error
  }
}

async function openEither({ clock, place, onMachineClock, ...options }: Omit<OpenOptions, 'opensCopied'>): Promise<Store> {
  const { dataDir: directory, store } = place
  if (store.url === null) {
    const opened = await openDatabase({ directory, ...options })
    const services = { ...opened, clock }
    return {
      ...services,
      changes: aloneWithChanges,
      limitShares: aloneWithLimits(services),
      join: (joining) => onlyNode(services, joining),
      hasNodes: async () => false,
    }
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
  const limitShares = new LeasedShares({ db, clock })
  const join = async (joining: Joining): Promise<Nodes> => {
    const nodes = await LeasedNodes.join({ db, clock, heard: (table) => opened.tellOfInserts(table) }, joining)
    // A copy may have been under way, or a change of the schema, which this has waited for.
    await Promise.all([requireNotCopied(db), opened.requireServed()]).catch(async (error: unknown) => {
      await nodes.leave()
      throw error
    })
    changes.join(nodes.self, joining.log)
    limitShares.join(nodes)
    return nodes
  }
  return { db, clock, changes, limitShares, files: null, join, hasNodes: () => hasNodes(db) }
}
