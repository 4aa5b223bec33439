import { expect, test } from 'vitest'
import { deriveStatus, emailStatuses, lastEventOf, markedMessages, statusCondition } from '../../../src/mail/message/email-status.ts'
import { testDatabase } from '../../support/test-database.ts'

const states = ['scheduled', 'queued', 'sent', 'deferred', 'delivered', 'bounced', 'complained', 'suppressed', 'failed', 'canceled']

test.each([
  [['scheduled'], 'scheduled'],
  [['queued'], 'queued'],
  [['queued', 'suppressed'], 'queued'],
  [['scheduled', 'suppressed'], 'scheduled'],
  [['deferred'], 'processing'],
  [['sent'], 'processing'],
  [['queued', 'delivered'], 'processing'],
  [['bounced', 'deferred'], 'processing'],
  [['delivered', 'delivered'], 'delivered'],
  [['delivered', 'complained'], 'complained'],
  [['delivered', 'bounced'], 'partially_delivered'],
  [['complained', 'bounced'], 'partially_delivered'],
  [['delivered', 'suppressed'], 'partially_delivered'],
  [['delivered', 'canceled'], 'partially_delivered'],
  [['bounced', 'failed', 'suppressed'], 'bounced'],
  [['failed', 'suppressed'], 'failed'],
  [['suppressed', 'suppressed'], 'suppressed'],
  [['canceled', 'suppressed'], 'canceled'],
  [[], 'processing'],
  [['a state of a later version'], 'processing'],
])('recipients %j make an email %s', (given, status) => {
  expect(deriveStatus(given)).toBe(status)
})

test('the SQL condition finds exactly the emails of each status, whatever states their recipients have', async () => {
  const db = await testDatabase()
  await db.write([{ sql: "insert into account (id, name, plan, status, created_at) values ('acc_1', 'a', 'free', 'active', 0)" }])
  const expected = new Map<string, string[]>(emailStatuses.map((status) => [status, []]))
  const written: Promise<unknown>[] = []
  for (let set = 1; set < 2 ** states.length; set++) {
    const present = states.filter((_, place) => set & (1 << place))
    const id = `em_${String(set).padStart(4, '0')}`
    expected.get(deriveStatus(present))?.push(id)
    written.push(
      db.write([
        {
          sql: `insert into message (id, account_id, source, sandbox, header_from, header_to, header_cc, reply_to, subject,
                message_id_header, size, body_type, smtputf8, tags, metadata, created_at)
              values (:id, 'acc_1', 'api', 0, '', '[]', '[]', '[]', '', '', 1, '7bit', 0, '[]', '{}', 0)`,
          params: { id },
        },
        ...present.map((state) => ({
          sql: `insert into recipient (id, message_id, account_id, forward_path, destination, type, state, expires_at)
              values (:recipientId, :id, 'acc_1', 'a@b.example', 'b.example', 'to', :state, 0)`,
          params: { id, recipientId: `${id}-${state}`, state },
        })),
      ]),
    )
  }
  await Promise.all(written)
  for (const status of emailStatuses) {
    const rows = await db.slowRead<{ id: string }>(`select id from message where ${statusCondition(status)} order by id`)
    expect(
      rows.map(({ id }) => id),
      status,
    ).toEqual(expected.get(status))
    if (status === 'delivered') continue
    // The indexes lead to them all.
    const params = { accountId: 'acc_1', first: '', end: 'em_~' }
    const marked = await db.slowRead<{ id: string }>(
      `select id from message where id in (${markedMessages(status)}) and ${statusCondition(status)} order by id`,
      params,
    )
    expect(marked, status).toEqual(rows)
  }
})

test.each([
  [undefined, 'queued', 'queued'],
  [{ type: 'email.queued', data: {} }, 'scheduled', 'scheduled'],
  [{ type: 'email.queued', data: {} }, 'queued', 'queued'],
  [{ type: 'email.sent', data: {} }, 'processing', 'sent'],
  [{ type: 'email.deferred', data: {} }, 'processing', 'delivery_delayed'],
  [{ type: 'email.bounced', data: { bounce_category: 'policy' } }, 'bounced', 'bounced'],
  [{ type: 'email.bounced', data: { bounce_category: 'suppressed' } }, 'suppressed', 'suppressed'],
  [{ type: 'email.bounced', data: { bounce_category: 'internal_error' } }, 'failed', 'failed'],
  [{ type: 'email.clicked', data: {} }, 'delivered', 'clicked'],
] as const)('the newest event %j of a %s email is told as %s', (event, status, told) => {
  expect(lastEventOf(event, status)).toBe(told)
})
