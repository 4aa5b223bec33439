import { expect, test } from 'vitest'
import { MailQuotas } from '../../../src/senders/account/mail-quotas.ts'
import { calendarOf } from '../../../src/senders/account/quota-calendar.ts'
import { mailQuota, type OwnQuota } from '../../../src/senders/account/account-policy.ts'
import { createLog } from '../../../src/platform/log.ts'
import { accountPolicies } from '../../support/account-policies.ts'
import { settableClock } from '../../support/settable-clock.ts'
import { countMail } from '../../support/count-mail.ts'
import { testDatabase } from '../../support/test-database.ts'

const noon = Date.UTC(2026, 10, 30, 12)

async function start(settings = { daily: {} as Record<string, number>, monthly: {} as Record<string, number> }) {
  const db = await testDatabase()
  const clock = settableClock(noon)
  const lines: Record<string, unknown>[] = []
  const log = createLog('warn', (line) => lines.push(JSON.parse(line) as Record<string, unknown>))
  const open = async () => {
    const policies = accountPolicies(db, { quotas: settings }, 'free')
    await policies.load()
    const quotas = new MailQuotas({ db, clock, log, policies })
    const change = (ownerId: string, limits: Partial<OwnQuota>) => policies.change(mailQuota, ownerId, limits)
    return Object.assign(quotas, { change })
  }
  const quotas = await open()
  const send = (recipients: number, domain = 'dom_1', by = quotas) =>
    countMail(by, db, { accountId: 'acc_1', byDomain: new Map([[domain, recipients]]) })
  const used = async (id = 'acc_1') => Object.values(await quotas.useOf(id)).map((use) => use.used)
  return { db, clock, lines, quotas, open, send, used }
}

test.each([
  [0, 0, 86_400_000, 0, Date.UTC(1970, 1, 1)],
  [noon, 20_787, Date.UTC(2026, 11, 1), 56 * 12 + 10, Date.UTC(2026, 11, 1)],
  [Date.UTC(2026, 11, 31, 23, 59, 59, 999), 20_818, Date.UTC(2027, 0, 1), 56 * 12 + 11, Date.UTC(2027, 0, 1)],
  [Date.UTC(2028, 1, 29), 21_243, Date.UTC(2028, 2, 1), 58 * 12 + 1, Date.UTC(2028, 2, 1)],
])('the calendar of %d', (at, day, dayEnds, month, monthEnds) => {
  expect(calendarOf(at)).toEqual({ day: { number: day, endsAt: dayEnds }, month: { number: month, endsAt: monthEnds } })
})

test('what is accepted is counted for the account and its domain, and begins anew with the day and the month', async () => {
  const { clock, send, used, quotas } = await start({ daily: {}, monthly: { free: 100 } })
  for (const id of ['dom_1', 'dom_2']) await quotas.change(id, { day: 100 })
  await send(3)
  await send(2, 'dom_2')
  expect([await used(), await used('dom_1'), await used('dom_2')]).toEqual([
    [5, 5],
    [3, 3],
    [2, 2],
  ])
  clock.advance(86_400_000)
  expect([await used(), await used('dom_1')]).toEqual([
    [0, 0],
    [0, 0],
  ])
  await send(1)
  clock.advance(86_400_000)
  await send(4)
  expect(await used()).toEqual([4, 5])
})

test('a quota is never exceeded, however many send at once, and what is refused is not counted', async () => {
  const { send, used, quotas } = await start()
  await quotas.change('acc_1', { day: 10 })
  const sent = await Promise.allSettled(Array.from({ length: 30 }, () => send(3)))
  expect(sent.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
  expect(await used()).toEqual([9, 9])
  await send(1)
  await expect(send(1)).rejects.toMatchObject({
    code: 'daily_quota_exceeded',
    retryAfter: 12 * 3600,
    message: expect.stringContaining('may mail 10 recipients a day and has mailed 10, so 1 more recipient cannot be taken'),
  })
})

test('more than the whole quota is refused at the first message too', async () => {
  const { send, used, quotas } = await start()
  await quotas.change('acc_1', { month: 5 })
  await expect(send(6)).rejects.toMatchObject({ code: 'monthly_quota_exceeded' })
  await quotas.change('acc_1', { day: 0 })
  await expect(send(1)).rejects.toMatchObject({ code: 'daily_quota_exceeded' })
  expect(await used()).toEqual([0, 0])
})

test('without a quota nothing is counted', async () => {
  const { db, send, used } = await start()
  await send(3)
  expect([await used(), await used('dom_1')]).toEqual([
    [null, null],
    [null, null],
  ])
  expect(await db.read('select owner_id from mail_usage')).toEqual([])
})

test('the quota of a domain counts besides that of its account', async () => {
  const { send, used, quotas } = await start()
  await quotas.change('acc_1', { month: 100 })
  await quotas.change('dom_1', { day: 2 })
  await expect(send(3)).rejects.toMatchObject({ code: 'daily_quota_exceeded', message: expect.stringMatching(/^This domain/) })
  expect(await used()).toEqual([0, 0])
  await send(3, 'dom_2')
  await send(2)
  expect(await used()).toEqual([5, 5])
})

test('a plan has a quota, which an account can have another for, or none; both are there after a restart', async () => {
  const { send, quotas, open } = await start({ daily: { free: 2 }, monthly: {} })
  expect(quotas.quotaOf('acc_1')).toEqual({ day: 2, month: null })
  await expect(send(3)).rejects.toMatchObject({ code: 'daily_quota_exceeded' })
  await quotas.change('acc_1', { day: 'unlimited', month: 7 })
  await send(3)
  const again = await open()
  expect(again.quotaOf('acc_1')).toEqual({ day: null, month: 7 })
  await expect(send(5, 'dom_1', again)).rejects.toMatchObject({ code: 'monthly_quota_exceeded' })
  await again.change('acc_1', { day: null })
  expect(again.quotaOf('acc_1')).toEqual({ day: 2, month: 7 })
})

test('the log tells once of a quota that is nearly used up', async () => {
  const { send, quotas, lines } = await start()
  await quotas.change('acc_1', { day: 10 })
  for (let i = 0; i < 10; i++) await send(1)
  expect(lines).toMatchObject([{ message: 'a mail quota is nearly used up', accountId: 'acc_1', period: 'day', used: 8, limit: 10 }])
})
