import { expect, test } from 'vitest'
import { AuditLog } from '../../../src/senders/account/audit-log.ts'
import { analyticsReader } from '../../../src/readers/analytics/rollup.ts'
import { sweepDomainReports } from '../../../src/mail-back/domain-report/domain-report-store.ts'
import { ReturnedMailStore } from '../../../src/mail-back/feedback/returned-mail-store.ts'
import { ReturnedMailBudget } from '../../../src/mail-back/feedback/returned-mail-budget.ts'
import { silentLog } from '../../../src/platform/log.ts'
import { Retention } from '../../../src/mail/message/retention.ts'
import { sweepSuppressions } from '../../../src/mail/suppression/remove-suppressions.ts'
import { settableClock } from '../../support/settable-clock.ts'
import { statementRecorder } from '../../support/statement-recorder.ts'
import { testDatabase } from '../../support/test-database.ts'

const day = 86_400_000

test('the jobs of every minute scan no table', async () => {
  const plain = await testDatabase()
  const { listenTo, executed } = statementRecorder()
  const db = listenTo(plain)
  const clock = settableClock()
  await plain.write([
    {
      sql: `insert into event (id, account_id, message_id, type, sandbox, created_at, data)
            values ('evt_1', 'acc_1', 'em_1', 'email.sent', 0, 0, '{}')`,
    },
  ])
  await analyticsReader({ db, log: silentLog }).keepUp()
  await new Retention(db, { contentMs: day, eventMs: day }).sweep(clock.now())
  await new ReturnedMailStore({ db, clock, budget: new ReturnedMailBudget(clock, 1_000_000) }).sweep({ contentMs: day, eventMs: day })
  await sweepDomainReports(db, clock.now())
  await sweepSuppressions(db, clock.now(), day)
  await new AuditLog({ db, clock }).sweep(clock.now())
  const statements = executed.flat()
  expect(statements.length).toBeGreaterThan(20)
  const scans: string[] = []
  for (const { sql, params = {} } of statements) {
    const plan = await plain.slowRead<{ detail: string }>(`explain query plan ${sql}`, params)
    scans.push(...plan.filter(({ detail }) => looksThrough(detail)).map(({ detail }) => `${detail}: ${sql}`))
  }
  expect(scans).toEqual([])
})

/** True of a step over all rows, or over all whose number is below another: rows have their numbers in the order in which they came. */
function looksThrough(detail: string): boolean {
  // What is kept of reports is counted by its index; that is bounded by its size. Spans of time are three.
  if (/^SCAN (?:piece|constant|spans|returned_mail_content USING COVERING INDEX)/i.test(detail)) return false
  return /^SCAN \w+/.test(detail) || detail.includes('INTEGER PRIMARY KEY (rowid<?)')
}
