import { expect, test } from 'vitest'
import { holdRestored, noteCopied } from '../../../src/mail-out/queue/restored-hold.ts'
import { Health } from '../../../src/platform/health.ts'
import { silentLog } from '../../../src/platform/log.ts'
import { insertAccount, insertQueued } from '../../support/queued-mail.ts'
import { settableClock } from '../../support/settable-clock.ts'
import { testDatabase } from '../../support/test-database.ts'

test('a copy of what was a copy before holds the mail that came in between', async () => {
  const db = await testDatabase()
  const clock = settableClock()
  const health = new Health({ clock, log: silentLog })
  const openCopy = async (): Promise<void> => {
    await noteCopied({ db, clock })
    await holdRestored({ db, health })
  }
  const held = async () => (await db.read<{ held: number }>('select held from recipient order by id')).map((row) => row.held)
  await insertAccount(db)
  await insertQueued(db, clock.now())
  await openCopy()
  await insertQueued(db, clock.now())
  expect(await held()).toEqual([2, 0])
  await openCopy()
  expect(await held()).toEqual([2, 2])
})
