import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '../../../src/platform/id.ts'
import { emailStatuses } from '../../../src/mail/message/email-status.ts'
import { everyMessage, type MessageFilter } from '../../../src/mail/message/message-filter.ts'
import { MessageReader } from '../../../src/mail/message/message-reader.ts'
import type { Database, Row } from '../../../src/platform/store/database.ts'
import { testDatabase } from '../../support/test-database.ts'

const db = await testDatabase(afterAll)
const scope = { accountId: 'acc_1', sandbox: false }
const times = [1_000, 2_000, 3_000, 4_000, 5_000, 6_000]
/** An id is older than the time at which its message was accepted. */
const mail = times.map((at) => ({ id: newId('em', at - 600), at }))
const newestFirst = mail.toReversed()

beforeAll(() =>
  db.write([
    { sql: "insert into account (id, name, plan, status, created_at) values ('acc_1', 'acc_1', 'free', 'active', 0)" },
    ...mail.map(({ id, at }) => ({
      sql: `insert into message (id, account_id, source, sandbox, header_from, header_to, header_cc, reply_to, subject,
                                 message_id_header, size, body_type, smtputf8, tags, metadata, created_at)
            values (:id, 'acc_1', 'api', 0, '', '[]', '[]', '[]', '', '', 0, '7bit', 0, '[]', '{}', :at)`,
      params: { id, at },
    })),
  ]),
)

const edges = [null, ...mail.map(({ id }) => id)]
const pages = [...edges.map((after) => ({ after, before: null })), ...edges.map((before) => ({ after: null, before }))]

test('a page is within its filter of time and behind or before its edge, whichever is narrower', async () => {
  const reader = new MessageReader(db)
  for (const since of [null, 2_000, 4_500]) {
    for (const until of [null, 3_000, 5_500]) {
      for (const { after, before } of pages) {
        const rows = await reader.list(scope, { ...everyMessage, since, until }, { limit: 2, after, before })
        const wanted = newestFirst.filter(
          ({ id, at }) =>
            at >= (since ?? 0) && at < (until ?? 10_000) && (after === null || id < after) && (before === null || id > before),
        )
        const inOrder = before === null ? wanted : wanted.toReversed()
        expect(
          rows.map(({ id }) => id),
          JSON.stringify({ since, until, after, before }),
        ).toEqual(inOrder.slice(0, 3).map(({ id }) => id))
      }
    }
  }
})

test('filters together make some hundred statements, since each stays prepared', async () => {
  const texts = new Set<string>()
  const slowRead: Database['slowRead'] = async <R extends Row>(sql: string): Promise<R[]> => {
    texts.add(sql)
    return []
  }
  const reader = new MessageReader({ slowRead })
  const eitherOf = <K extends keyof MessageFilter>(filters: MessageFilter[], name: K, ...values: MessageFilter[K][]): MessageFilter[] =>
    filters.flatMap((filter) => [filter, ...values.map((value) => ({ ...filter, [name]: value }))])
  let filters = eitherOf([everyMessage], 'status', ...emailStatuses.map((status) => [status]))
  filters = eitherOf(filters, 'to', { address: 'ann@example.com' }, { pattern: '%ann%' })
  filters = eitherOf(filters, 'from', { address: 'ann@example.com' }, { pattern: '%ann%' })
  filters = eitherOf(filters, 'domainId', 'dom_1')
  filters = eitherOf(filters, 'tag', { name: 'a', value: null }, { name: 'a', value: 'b' })
  filters = eitherOf(filters, 'since', 1_000)
  filters = eitherOf(filters, 'until', 5_000)
  for (const filter of filters) for (const { after, before } of pages) await reader.list(scope, filter, { limit: 2, after, before })
  expect(texts.size).toBeLessThan(600)
})
