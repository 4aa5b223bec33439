import { expect, test } from 'vitest'
import { destinationQueue } from '../../../src/mail-out/queue/queue-overview.ts'
import { insertAccount, insertQueued } from '../../support/queued-mail.ts'
import { testDatabase } from '../../support/test-database.ts'

test('the last response of a destination is the latest, whosever mail it was for', async () => {
  const db = await testDatabase()
  await insertAccount(db)
  await db.write([{ sql: "insert into account (id, name, plan, status, created_at) values ('acc_2', 'two', 'free', 'active', 0)" }])
  const waits = async (accountId: string, now: number, lastResponse: string | null): Promise<void> => {
    const messageId = await insertQueued(db, now, { accountId })
    await db.write([
      { sql: 'update recipient set last_response = :lastResponse where message_id = :messageId', params: { messageId, lastResponse } },
    ])
  }
  await waits('acc_1', 5_000, '421 4.7.28 Blocked')
  await waits('acc_1', 4_000, '452 4.2.2 Full')
  await waits('acc_2', 1_000, '450 4.2.1 Busy')
  await waits('acc_2', 6_000, null)
  expect(await destinationQueue(db, 'rcpt.example', 10_000)).toMatchObject({ waiting: 4, lastResponse: '421 4.7.28 Blocked' })
})
