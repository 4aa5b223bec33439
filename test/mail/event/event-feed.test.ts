import { expect, test } from 'vitest'
import { EventFeed } from '../../../src/mail/event/event-feed.ts'
import { EventFollower } from '../../../src/mail/event/event-follower.ts'
import { recordEvent } from '../../../src/mail/event/event-log.ts'
import { silentLog } from '../../../src/platform/log.ts'
import type { Row } from '../../../src/platform/store/database.ts'
import { testDatabase } from '../../support/test-database.ts'

async function openLog() {
  const db = await testDatabase()
  const about = { accountId: 'acc_1', messageId: 'em_1', recipientId: 'rcp_1', to: 'ann@example.com', subject: 'Hello', sandbox: false }
  const write = (changes: Partial<typeof about> = {}) =>
    db.write([recordEvent({ ...about, ...changes }, 'email.sent', { sent_at: 'x' }, 1000)])
  return { db, write }
}

test("following the log uses the account's index, however much others send", async () => {
  const { db } = await openLog()
  const asked: string[] = []
  const slowRead = async <R extends Row>(sql: string, params?: Record<string, string | number | Uint8Array | null>): Promise<R[]> => {
    for (const { detail } of await db.slowRead<{ detail: string }>(`explain query plan ${sql}`, params)) asked.push(detail)
    return []
  }
  await new EventFeed({ slowRead }).page({ accountId: 'acc_1', sandbox: false }, { order: 'asc', limit: 100, after: 7, before: null })
  expect(asked).toEqual(['SEARCH event USING INDEX event_feed (account_id=? AND sandbox=? AND seq>? AND seq<?)'])
})

test('followers are woken only for their own events, from when they know that they follow', async () => {
  const { db, write } = await openLog()
  const follower = new EventFollower({ db, log: silentLog })
  const woken: string[] = []
  await write()
  const leave = await follower.follow({ accountId: 'acc_1', sandbox: false }, () => woken.push('live'))
  await follower.follow({ accountId: 'acc_1', sandbox: true }, () => woken.push('sandbox'))
  await follower.follow({ accountId: 'acc_2', sandbox: false }, () => woken.push('other'))
  await write({ accountId: 'acc_2' })
  await expect.poll(() => woken).toEqual(['other'])
  await write({ sandbox: true })
  await expect.poll(() => woken).toEqual(['other', 'sandbox'])
  await write()
  await expect.poll(() => woken).toEqual(['other', 'sandbox', 'live'])
  leave()
  await write()
  await write({ accountId: 'acc_2' })
  await expect.poll(() => woken).toEqual(['other', 'sandbox', 'live', 'other'])
})
