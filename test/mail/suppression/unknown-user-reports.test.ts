import { afterAll, beforeEach, expect, test } from 'vitest'
import { maxBehind } from '../../../src/mail/message/search-terms.ts'
import { forgetUnknownUser, recordUnknownUser, unknownUserReportedBefore } from '../../../src/mail/suppression/unknown-user-reports.ts'
import { testDatabase } from '../../support/test-database.ts'

const hour = 3_600_000
const day = 24 * hour
const morning = Date.UTC(2026, 10, 21, 6)

const db = await testDatabase(afterAll)
const live = { accountId: 'acc_1', sandbox: false, address: 'Ann@rcpt.example', recipientId: 'rcp_1' }
beforeEach(() => db.write([{ sql: 'delete from soft_bounce' }, { sql: 'delete from event' }]))

const before = (at: number, said = live): Promise<number | null> => unknownUserReportedBefore(db, said, at)
const note = (at: number) => db.write([recordUnknownUser(live, at)])

test('the first report on another day makes a second, however often it was reported before', async () => {
  for (let at = morning; at < morning + 18 * hour; at += hour / 2) {
    expect(await before(at)).toBeNull()
    await note(at)
  }
  expect(await before(morning + 18 * hour)).toBe(morning)
})

test('less than half a day counts as the same day', async () => {
  await note(morning + 16 * hour)
  expect(await before(morning + 28 * hour - 1)).toBeNull()
  expect(await before(morning + 28 * hour)).toBe(morning + 16 * hour)
})

test('if there was one today, the one of the day before still counts', async () => {
  for (const at of [morning, morning + day]) await note(at)
  expect(await before(morning + day + hour)).toBe(morning)
  expect(await before(morning + 2 * day)).toBe(morning + day)
})

test('counts per account, mode and address in any case', async () => {
  await note(morning)
  expect(await before(morning + day, { ...live, address: 'ann@RCPT.example' })).toBe(morning)
  for (const other of [{ accountId: 'acc_2' }, { sandbox: true }, { address: 'bob@rcpt.example' }])
    expect(await before(morning + day, { ...live, ...other })).toBeNull()
})

test('once it has suppressed, it is forgotten', async () => {
  for (const at of [morning, morning + day]) await note(at)
  await db.write([forgetUnknownUser(live)])
  expect(await before(morning + 3 * day)).toBeNull()
  await note(morning + 3 * day)
  expect(await before(morning + 4 * day)).toBe(morning + 3 * day)
})

test('does not wait for a future time from before the clock was set back', async () => {
  await note(morning + 100 * day)
  expect(await before(morning)).toBeNull()
  await note(morning)
  expect(await before(morning + day)).toBe(morning)
})

test('suppresses nobody while it is unknown whether mail was delivered', async () => {
  await note(morning)
  await db.write([
    {
      sql: `insert into event (seq, id, account_id, message_id, recipient_id, type, sandbox, data, created_at)
            values (:seq, 'evt_1', 'acc_2', 'em_1', 'rcp_2', 'email.queued', 0, '{}', 0)`,
      params: { seq: maxBehind + 1 },
    },
  ])
  expect(await before(morning + day)).toBeNull()
})
