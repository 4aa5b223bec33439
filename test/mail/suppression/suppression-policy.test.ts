import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { SuppressionEntries } from '../../../src/mail/suppression/suppression-entries.ts'
import { sweepSuppressions } from '../../../src/mail/suppression/remove-suppressions.ts'
import { findSuppressed, noneSuppressed } from '../../../src/mail/suppression/suppression-list.ts'
import {
  noteDelivered,
  suppressAfterBounce,
  suppressAfterComplaint,
  type FinalFailure,
} from '../../../src/mail/suppression/suppression-policy.ts'
import { suppressionPolicy } from '../../../src/senders/account/account-policy.ts'
import { accountPolicies } from '../../support/account-policies.ts'
import { testDatabase } from '../../support/test-database.ts'
import { settableClock } from '../../support/settable-clock.ts'
import { suppressAtOnce } from '../../support/suppress-at-once.ts'
import { erasedAddress } from '../../support/erased-address.ts'

const day = 86_400_000
const db = await testDatabase(afterAll)
const clock = settableClock()
const scope = { accountId: 'acc_1', sandbox: false }
const entries = new SuppressionEntries({ db, clock, erasedAddress })
const ann = 'Ann@rcpt.example'
beforeEach(() => db.write([{ sql: 'delete from suppression' }, { sql: 'delete from soft_bounce' }]))

let mails = 0
const mail = (recipientId = `rcp_${++mails}`) => ({ address: ann, messageId: 'em_1', recipientId })
const full: FinalFailure = { hard: false, category: 'mailbox_full', smtpCode: 552, enhancedStatus: '5.2.2', reason: 'so it was told' }
const bounce = (policy: typeof suppressAtOnce, bounced: Partial<FinalFailure> & { recipientId?: string } = {}) => {
  const { recipientId, ...failure } = bounced
  return db.write(suppressAfterBounce(scope, { ...mail(recipientId), ...full, ...failure }, policy, clock.now()))
}
const deliver = (policy: typeof suppressAtOnce, recipientId?: string) =>
  db.write(noteDelivered(scope, mail(recipientId), policy, clock.now()))
const asked = () => ({ ...scope, erasedAddress, now: clock.now() })
const isSuppressed = async (): Promise<boolean> => (await findSuppressed(db, asked(), [ann]))(ann, null)

test('by default hard bounces and complaints suppress, soft bounces never do', async () => {
  for (let i = 0; i < 20; i++) await bounce(suppressAtOnce)
  expect(await isSuppressed()).toBe(false)
  await bounce(suppressAtOnce, { hard: true, category: 'invalid_recipient' })
  expect(await entries.find(scope, ann)).toMatchObject({
    address: 'ann@rcpt.example',
    origin: 'bounce',
    source_id: 'em_1',
    reason: 'so it was told',
    expires_at: null,
  })
  await db.write(suppressAfterComplaint(scope, { ...mail(), reason: 'spam' }, suppressAtOnce, clock.now()))
  expect((await entries.page(scope, { origins: ['complaint'] }, { limit: 10, after: null, before: null })).length).toBe(1)
})

test.each<[string, Partial<FinalFailure>]>([
  ['no such domain, as we saw', { category: 'domain_not_found', smtpCode: null, enhancedStatus: '5.1.2' }],
  ['no such domain, as another system reports', { category: 'domain_not_found', smtpCode: 550, enhancedStatus: '5.4.4' }],
  ['a null MX, as we saw', { category: 'invalid_recipient', smtpCode: null, enhancedStatus: '5.1.10' }],
  ['a null MX, as another system says', { category: 'invalid_recipient', smtpCode: 556, enhancedStatus: null }],
])('a hard bounce for %s suppresses nobody, because the DNS may be wrong', async (_, failure) => {
  await bounce(suppressAtOnce, { hard: true, ...failure })
  expect(await isSuppressed()).toBe(false)
})

test('what is turned off suppresses nobody', async () => {
  const never = { ...suppressAtOnce, hardBounces: false, complaints: false }
  await bounce(never, { hard: true, category: 'invalid_recipient' })
  await db.write(suppressAfterComplaint(scope, { ...mail(), reason: 'spam' }, never, clock.now()))
  expect(await isSuppressed()).toBe(false)
})

describe('if three soft bounces suppress', () => {
  const third = { ...suppressAtOnce, softBounces: 3 }

  test('the third one does', async () => {
    for (const suppressed of [false, false, true]) {
      await bounce(third)
      expect(await isSuppressed()).toBe(suppressed)
    }
  })

  test('a delivery in between resets the count', async () => {
    for (const _ of [1, 2]) {
      await bounce(third)
      await bounce(third)
      await deliver(third)
    }
    expect(await isSuppressed()).toBe(false)
  })

  test('a delivery followed by a bounce does not count', async () => {
    await bounce(third)
    for (const suppressed of [false, true]) {
      await deliver(third, 'rcp_taken_back')
      await bounce(third, { recipientId: 'rcp_taken_back' })
      expect(await isSuppressed()).toBe(suppressed)
    }
  })

  test.each(['invalid_recipient', 'mailbox_full', 'timeout', 'expired'] as const)('those of %s count', async (category) => {
    for (const _ of [1, 2, 3]) await bounce(third, { category })
    expect(await isSuppressed()).toBe(true)
  })

  test.each<[string, Partial<FinalFailure>]>([
    ['no such domain', { category: 'domain_not_found' }],
    ['mail that ran out of time while the DNS gave no answer', { category: 'expired', smtpCode: null, enhancedStatus: '4.4.3' }],
    ['mail that ran out of time while its domain was missing', { category: 'expired', smtpCode: null, enhancedStatus: '4.1.2' }],
  ])('soft bounces for %s do not count, because the DNS may be wrong', async (_, failure) => {
    for (const _time of [1, 2, 3]) await bounce(third, failure)
    expect(await isSuppressed()).toBe(false)
  })

  test('they count again once the suppression has expired', async () => {
    const monthly = { ...third, expiry: 30 * day }
    for (const _ of [1, 2, 3]) await bounce(monthly)
    clock.advance(30 * day)
    expect(await isSuppressed()).toBe(false)
    await bounce(monthly)
    expect(await isSuppressed()).toBe(true)
  })

  test('soft bounces that are not about the address do not count', async () => {
    for (const category of ['policy', 'reputation', 'content_rejected', 'internal_error', 'other'] as const)
      await bounce(third, { category })
    expect(await isSuppressed()).toBe(false)
  })
})

describe('if suppressions expire', () => {
  const monthly = { ...suppressAtOnce, expiry: 30 * day }
  const suppress = () => bounce(monthly, { hard: true, category: 'invalid_recipient' })

  test('one is in force until then, for the list, for new mail and for its owner', async () => {
    await suppress()
    clock.advance(30 * day - 1)
    expect(await isSuppressed()).toBe(true)
    await expect(db.write(noneSuppressed({ ...asked(), forms: 'plain' }, [{ addresses: [ann], topic: null }]))).rejects.toThrow()
    clock.advance(1)
    expect(await isSuppressed()).toBe(false)
    await db.write(noneSuppressed({ ...asked(), forms: 'plain' }, [{ addresses: [ann], topic: null }]))
    expect(await entries.find(scope, ann)).toBeUndefined()
    expect(await entries.page(scope, {}, { limit: 10, after: null, before: null })).toEqual([])
  })

  test('the next bounce after that suppresses again', async () => {
    await suppress()
    clock.advance(31 * day)
    await suppress()
    expect(await isSuppressed()).toBe(true)
    expect(await entries.find(scope, ann)).toMatchObject({ created_at: clock.now(), expires_at: clock.now() + 30 * day })
  })

  test('a complaint stays in force until somebody removes it', async () => {
    await db.write(suppressAfterComplaint(scope, { ...mail(), reason: 'spam' }, monthly, clock.now()))
    clock.advance(1_000 * day)
    expect(await isSuppressed()).toBe(true)
  })

  test('the sweep removes what no longer counts, and keeps the rest', async () => {
    await suppress()
    await db.write(
      suppressAfterBounce(
        scope,
        { ...mail(), address: 'late@rcpt.example', ...full, hard: true, category: 'invalid_recipient' },
        { ...monthly, expiry: 32 * day },
        clock.now(),
      ),
    )
    await entries.add(scope, ['bob@rcpt.example'], { reason: null })
    await bounce({ ...suppressAtOnce, softBounces: 3 })
    clock.advance(31 * day)
    await sweepSuppressions(db, clock.now(), 10 * day)
    expect(await db.read('select address from suppression order by address')).toEqual([
      { address: 'bob@rcpt.example' },
      { address: 'late@rcpt.example' },
    ])
    expect(await db.read('select address from soft_bounce')).toEqual([])
  })
})

test('an account may differ from the settings, even after a restart', async () => {
  await db.write([{ sql: "insert into account (id, name, plan, status, created_at) values ('acc_1', 'one', 'free', 'active', 0)" }])
  const policies = accountPolicies(db)
  await policies.change(suppressionPolicy, 'acc_1', { softBounces: 5, hardBounces: false })
  await policies.change(suppressionPolicy, 'acc_1', { expiry: day, hardBounces: null })
  const reopened = accountPolicies(db, { suppression: { ...suppressAtOnce, complaints: false } })
  await reopened.load()
  const own = { softBounces: 5, expiry: day }
  expect(policies.of(suppressionPolicy, 'acc_1')).toEqual({ ...suppressAtOnce, ...own })
  expect(reopened.of(suppressionPolicy, 'acc_1')).toEqual({ ...suppressAtOnce, complaints: false, ...own })
  expect(reopened.of(suppressionPolicy, 'acc_2')).toEqual({ ...suppressAtOnce, complaints: false })
})
