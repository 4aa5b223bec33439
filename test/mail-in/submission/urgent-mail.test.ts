import { expect, test } from 'vitest'
import { UrgentMail } from '../../../src/mail-in/submission/urgent-mail.ts'
import type { Submission } from '../../../src/mail/message/submission.ts'
import { silentLog } from '../../../src/platform/log.ts'
import { aloneWithLimits } from '../../../src/platform/store/local-windows.ts'
import { accountPolicies } from '../../support/account-policies.ts'
import { settableClock } from '../../support/settable-clock.ts'
import { submissionTo } from '../../support/submission-fixture.ts'
import { testDatabase } from '../../support/test-database.ts'

/** Mail of an account with 60 urgent recipients a minute: whether it is taken as urgent. */
async function startUrgentMail() {
  const db = await testDatabase()
  const clock = settableClock()
  const limitShares = aloneWithLimits({ db, clock })
  const urgentMail = new UrgentMail({ limitShares, policies: accountPolicies(db), log: silentLog })
  const isTaken = async (recipients: number, { sandbox = false, scheduledAt = null as number | null } = {}): Promise<boolean> => {
    const { submitter, ...rest } = submissionTo(Array.from({ length: recipients }, (_, i) => `user${i}@rcpt.example`))
    const options = { ...rest.options, scheduledAt, transfer: { priority: 4 } }
    const submission: Submission = { ...rest, options, submitter: { ...submitter, sandbox } }
    const ranked = await urgentMail.ranked(submission)
    expect(ranked.options.transfer).toEqual({ priority: ranked.isLowered ? 0 : 4 })
    return !ranked.isLowered
  }
  return { clock, isTaken }
}

test('mail with more recipients than are left in this minute is usual mail, and uses up nothing', async () => {
  const { clock, isTaken } = await startUrgentMail()
  expect(await isTaken(20)).toBe(true)
  expect(await isTaken(50)).toBe(false)
  expect(await Promise.all([isTaken(39), isTaken(39), isTaken(1)])).toEqual([true, false, true])
  expect(await isTaken(1)).toBe(false)
  clock.advance(60_000)
  expect(await isTaken(60)).toBe(true)
})

test('mail that is scheduled is usual mail, and counts no more than that in the sandbox', async () => {
  const { clock, isTaken } = await startUrgentMail()
  expect(await isTaken(60, { scheduledAt: clock.now() + 1_000 })).toBe(false)
  expect([await isTaken(60, { sandbox: true }), await isTaken(1, { sandbox: true })]).toEqual([true, false])
  expect([await isTaken(60), await isTaken(1)]).toEqual([true, false])
})
