import { expect, test } from 'vitest'
import { holdRestored, noteCopied, releaseRestored } from '../../../src/mail-out/queue/restored-hold.ts'
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

test('each lane is noted when its first mail is free, and again when all is', async () => {
  const db = await testDatabase()
  const clock = settableClock()
  await insertAccount(db)
  const recipients = (destination: string, count: number) => Array.from({ length: count }, () => ({ destination }))
  await insertQueued(db, clock.now(), {}, [...recipients('a.example', 600), ...recipients('b.example', 600)])
  await noteCopied({ db, clock })
  await holdRestored({ db, health: new Health({ clock, log: silentLog }) })
  const noted: string[] = []
  expect(await releaseRestored(db, ({ destination }) => noted.push(destination))).toBe(1_200)
  expect(noted).toEqual(['a.example', 'b.example', 'a.example', 'b.example'])
})
