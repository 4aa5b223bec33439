import { afterAll, expect, test } from 'vitest'
import { ConflictError } from '../../../src/platform/store/database.ts'
import type { RecipientState } from '../../../src/mail-out/queue/recipient-state.ts'
import { bounceLate, complainLate, type LateResult } from '../../../src/mail-out/queue/late-result.ts'
import { testDatabase } from '../../support/test-database.ts'

const db = await testDatabase(afterAll)
await db.write([
  { sql: "insert into account (id, name, plan, status, created_at) values ('acc_1', 'one', 'free', 'active', 0)" },
  {
    sql: `insert into message (id, account_id, source, sandbox, header_from, header_to, header_cc, reply_to, subject,
                               message_id_header, size, body_type, smtputf8, tags, metadata, created_at)
          values ('em_1', 'acc_1', 'api', 0, '', '[]', '[]', '[]', '', '', 0, '7bit', 0, '[]', '{}', 0)`,
  },
])

interface Stored {
  state: RecipientState
  delivered_at?: number | null
  complained_at?: number | null
}

/** The row after the result was written, or null where the result was refused. */
async function after(
  { state, delivered_at = null, complained_at = null }: Stored,
  { guard }: LateResult,
): Promise<Record<string, unknown> | null> {
  await db.write([
    { sql: 'delete from recipient' },
    {
      sql: `insert into recipient (id, message_id, account_id, forward_path, destination, type, state, delivered_at, complained_at, expires_at)
            values ('rcp_1', 'em_1', 'acc_1', 'ann@rcpt.example', 'rcpt.example', 'to', :state, :delivered_at, :complained_at, 0)`,
      params: { state, delivered_at, complained_at },
    },
  ])
  try {
    await db.write([guard])
  } catch (error) {
    expect(error).toBeInstanceOf(ConflictError)
    return null
  }
  const [row] = await db.read('select state, bounced_at, complained_at, last_response, smtp_code, enhanced_status from recipient')
  return row ?? null
}

const bounce = bounceLate(
  'rcp_1',
  { hard: true, category: 'mailbox_full', smtpCode: 552, enhancedStatus: '5.2.2', reason: '552 5.2.2 full' },
  7,
)
const complaint = complainLate('rcp_1', { feedbackType: 'abuse', reportedBy: null }, 7)

test.each(['delivered', 'sent'] as const)('%s mail bounces late, with what was said', async (state) => {
  expect(await after({ state }, bounce)).toEqual({
    state: 'bounced',
    bounced_at: 7,
    complained_at: null,
    last_response: '552 5.2.2 full',
    smtp_code: 552,
    enhanced_status: '5.2.2',
  })
})

test.each(['scheduled', 'queued', 'deferred', 'bounced', 'failed', 'suppressed', 'canceled', 'complained'] as const)(
  'what is %s meanwhile does not bounce',
  async (state) => {
    expect(await after({ state, delivered_at: 1 }, bounce)).toBeNull()
  },
)

test.each([
  [{ state: 'delivered', delivered_at: 1 }, 'complained'],
  [{ state: 'sent' }, 'complained'],
  [{ state: 'bounced', delivered_at: 1 }, 'bounced'],
] as const)('a complaint of %j makes it %s', async (stored, state) => {
  expect(await after(stored, complaint)).toMatchObject({ state, complained_at: 7 })
})

test.each([
  { state: 'bounced' },
  { state: 'bounced', delivered_at: 1, complained_at: 2 },
  { state: 'complained', delivered_at: 1, complained_at: 2 },
  { state: 'delivered', delivered_at: 1, complained_at: 2 },
  { state: 'queued' },
  { state: 'deferred' },
  { state: 'suppressed' },
] as const)('a complaint of %j is refused', async (stored) => {
  expect(await after(stored, complaint)).toBeNull()
})
