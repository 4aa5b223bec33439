import { expect, test } from 'vitest'
import { deliveryNotices, mailQuota, retrySchedule, suppressionPolicy } from '../../../src/senders/account/account-policy.ts'
import { accountPolicies } from '../../support/account-policies.ts'
import { suppressAtOnce } from '../../support/suppress-at-once.ts'
import { testDatabase } from '../../support/test-database.ts'
import { textTypeOf } from '../../../src/senders/account/policy-text.ts'

test('what an account has of its own replaces the settings, value by value, and is there after a restart', async () => {
  const db = await testDatabase()
  const policies = accountPolicies(db)
  await policies.change(suppressionPolicy, 'acc_1', { softBounces: 3, hardBounces: false })
  await policies.change(suppressionPolicy, 'acc_1', { hardBounces: null })
  await policies.change(retrySchedule, 'acc_1', { delays: [1000, 2000] })
  const again = accountPolicies(db)
  await again.load()
  for (const each of [policies, again]) {
    expect(each.of(suppressionPolicy, 'acc_1')).toEqual({ ...suppressAtOnce, softBounces: 3 })
    expect(each.ownOf(suppressionPolicy, 'acc_1')).toEqual({ hardBounces: null, complaints: null, softBounces: 3, expiry: null })
    expect(each.of(retrySchedule, 'acc_1')).toEqual({ delays: [1000, 2000] })
    expect(each.of(retrySchedule, 'acc_2')).toEqual({ delays: [60_000] })
    expect(each.anywhere(retrySchedule)).toEqual([{ delays: [60_000] }, { delays: [1000, 2000] }])
  }
})

test('a plan has a quota, and a domain has none unless it has its own', async () => {
  const policies = accountPolicies(await testDatabase(), { quotas: { daily: { free: 5 }, monthly: {} } }, 'free')
  expect(policies.of(mailQuota, 'acc_1')).toEqual({ day: 5, month: 'unlimited' })
  expect(policies.of(mailQuota, 'dom_1')).toEqual({ day: 'unlimited', month: 'unlimited' })
  await policies.change(mailQuota, 'dom_1', { month: 0 })
  expect(policies.of(mailQuota, 'dom_1')).toEqual({ day: 'unlimited', month: 0 })
})

test('what is forgotten is gone from memory and from the database', async () => {
  const db = await testDatabase()
  const policies = accountPolicies(db)
  await policies.change(retrySchedule, 'acc_1', { delays: [1] })
  await policies.change(retrySchedule, 'acc_2', { delays: [2] })
  await policies.forget('acc_1')
  expect(policies.anywhere(retrySchedule)).toEqual([{ delays: [60_000] }, { delays: [2] }])
  expect(await db.read('select owner_id from account_policy')).toEqual([{ owner_id: 'acc_2' }])
})

test('a value is as old as its last change: setting it again does not renew it', async () => {
  const db = await testDatabase()
  const policies = accountPolicies(db)
  const since = async () => (await db.read('select value, since from account_policy')).map(({ value, since: seq }) => [value, Number(seq)])
  const happen = (seq: number) =>
    db.write([
      {
        sql: `insert into event (seq, id, account_id, message_id, recipient_id, type, sandbox, data, created_at)
              values (:seq, :id, 'acc_1', 'em_1', 'rcp_1', 'email.sent', 0, '{}', 0)`,
        params: { seq, id: `evt_${seq}` },
      },
    ])
  await policies.change(deliveryNotices, 'acc_1', { wanted: true })
  expect(await since()).toEqual([['true', 0]])
  await happen(7)
  await policies.change(deliveryNotices, 'acc_1', { wanted: true })
  expect(await since()).toEqual([['true', 0]])
  await policies.change(deliveryNotices, 'acc_1', { wanted: false })
  await happen(9)
  await policies.change(deliveryNotices, 'acc_1', { wanted: true })
  expect(await since()).toEqual([['true', 9]])
})

test('durations of a policy are whole seconds, as the API has them', () => {
  const { delays } = retrySchedule.fields
  expect(textTypeOf(delays).parse('1m,1.5m')).toEqual([60_000, 90_000])
  expect(() => textTypeOf(delays).parse('1m,1500ms')).toThrow('"1500ms" is not a whole number of seconds.')
})
