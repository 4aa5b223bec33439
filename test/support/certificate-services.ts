import { secretsFrom } from '../../src/senders/account/key-file.ts'
import { silentLog } from '../../src/platform/log.ts'
import { aloneWithChanges } from '../../src/platform/store/changes.ts'
import type { Database } from '../../src/platform/store/database.ts'
import { settableClock } from './settable-clock.ts'
import { testDatabase } from './test-database.ts'

/** What keeps certificates, over a database of its own unless one is given. */
export const certificateServices = async (db?: Database) => ({
  db: db ?? (await testDatabase()),
  changes: aloneWithChanges,
  secrets: secretsFrom(Buffer.alloc(32)),
  log: silentLog,
  clock: settableClock(Date.now()),
})
