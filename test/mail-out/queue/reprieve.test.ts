import { expect, test } from 'vitest'
import { ClockWatch } from '../../../src/platform/clock-watch.ts'
import { Health } from '../../../src/platform/health.ts'
import { newId } from '../../../src/platform/id.ts'
import { silentLog } from '../../../src/platform/log.ts'
import { Reprieve } from '../../../src/mail-out/queue/reprieve.ts'
import { StorageFullError, type Database } from '../../../src/platform/store/database.ts'
import { insertAccount, insertQueued } from '../../support/queued-mail.ts'
import { settableClock } from '../../support/settable-clock.ts'
import { testDatabase } from '../../support/test-database.ts'

const hour = 3_600_000

test('starts after an outage, also while the disk is full', async () => {
  const db = await testDatabase()
  const clock = settableClock()
  await insertAccount(db)
  const messageId = await insertQueued(db, clock.now())
  await db.write([
    {
      sql: `insert into event (id, account_id, message_id, type, sandbox, created_at, data) values (:id, 'acc_1', :messageId, '', 0, 0, '')`,
      params: { id: newId('evt', clock.now()), messageId },
    },
  ])
  clock.advance(60 * hour)
  const health = new Health({ clock, log: silentLog })
  const full: Database = { ...db, write: () => Promise.reject(new StorageFullError()) }
  const reprieve = new Reprieve({ db: full, clock, log: silentLog, health, watch: new ClockWatch(clock) }, 48 * hour)
  await reprieve.start()
  expect(reprieve.isInForce()).toBe(true)
  expect(health.has('outage')).toBe(true)
  reprieve.stop()
})
