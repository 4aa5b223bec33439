import { expect, test } from 'vitest'
import { AuditLog } from '../../../src/senders/account/audit-log.ts'
import { EventSearch } from '../../../src/mail/event/event-search.ts'
import { publicEventTypes } from '../../../src/mail/event/event-type.ts'
import { returnPathPurposes } from '../../../src/platform/metrics/returned-mail-labels.ts'
import { ReturnedMailList } from '../../../src/mail-back/feedback/returned-mail-list.ts'
import { emailStatuses } from '../../../src/mail/message/email-status.ts'
import { everyMessage } from '../../../src/mail/message/message-filter.ts'
import { searchMessages } from '../../../src/mail/message/message-search.ts'
import { QueueAdmin } from '../../../src/mail-out/queue/queue-admin.ts'
import { aloneWithChanges } from '../../../src/platform/store/changes.ts'
import type { Database, Row } from '../../../src/platform/store/database.ts'
import type { Page } from '../../../src/platform/store/page-clause.ts'
import { SuppressionEntries } from '../../../src/mail/suppression/suppression-entries.ts'
import { searchDeliveries } from '../../../src/notify/webhook/delivery-search.ts'
import { deliveryStates } from '../../../src/notify/webhook/delivery-state.ts'
import { testDatabase } from '../../support/test-database.ts'

const scope = { accountId: 'acc_1', sandbox: false }
const clock = { now: () => 0, steady: () => 0, at: () => () => {} }
const idPages: Page[] = [
  { limit: 20, after: null, before: null },
  { limit: 20, after: null, before: 'em_1' },
]
/** Whichever way a search goes about it. */
const ways = [
  { few: -1, piece: 2_000 },
  { few: 1_000, piece: 2_000 },
]

/** What a statement makes for itself, with a row for what is found, and tables of a few rows. */
const passing = new Set(['found', 'candidate', 'queued', 'cursor', 'search_part', 'p'])

/** By what SQLite gets at the rows of each statement that is asked for: `table: index (columns)`. */
async function pathsOf(lists: (db: Database) => Promise<unknown>): Promise<string[]> {
  const db = await testDatabase()
  const paths = new Set<string>()
  const slowRead = async <R extends Row>(sql: string, params: Parameters<Database['slowRead']>[1]): Promise<R[]> => {
    for (const { detail } of await db.slowRead<{ detail: string }>(`explain query plan ${sql}`, params)) {
      const [, how, table = '', path] = /^(SEARCH|SCAN) (\w+)(?: EXISTS)?(?: USING (?:COVERING )?(?:INDEX )?(.+))?$/.exec(detail) ?? []
      if (how && !passing.has(table)) paths.add(how === 'SCAN' ? `${table}: all of ${path ?? 'it'}` : `${table}: ${path ?? 'its end'}`)
    }
    return db.slowRead<R>(sql, params)
  }
  await lists({ ...db, slowRead })
  return [...paths].toSorted()
}

test('every search for emails uses these indexes', async () => {
  const filters = [
    {},
    ...emailStatuses.map((status) => ({ status: [status] })),
    { status: ['queued' as const, 'processing' as const] },
    { to: { address: 'ann@a.example' } },
    { to: { pattern: '%ann%' } },
    { from: { address: 'ann@a.example' } },
    { from: { pattern: '%ann%' } },
    { subject: 'order' },
    { messageIdHeader: '<a@a.example>' },
    { domainId: 'dom_1' },
    { tag: { name: 'a', value: null } },
    { tag: { name: 'a', value: 'b' } },
    { since: 1, until: 2 },
  ]
  const paths = await pathsOf(async (db) => {
    for (const one of filters) {
      for (const other of filters) {
        for (const page of idPages) {
          for (const way of ways)
            await searchMessages(db, { columns: 'id, subject', scope, filter: { ...everyMessage, ...one, ...other }, page }, way)
        }
      }
    }
  })
  expect(paths).toEqual([
    'e: INTEGER PRIMARY KEY (rowid>? AND rowid<?)',
    'event: its end',
    'message: message_account (account_id=? AND sandbox=? AND id=?)',
    'message: message_account (account_id=? AND sandbox=? AND id>? AND id<?)',
    'message_tag: message_tag_message (message_id=?)',
    'message_tag: sqlite_autoindex_message_tag_1 (account_id=? AND name=? AND value=? AND message_id>? AND message_id<?)',
    'message_tag: sqlite_autoindex_message_tag_1 (account_id=? AND name=?)',
    'recipient: recipient_message (message_id=?)',
    'recipient: recipient_owned (owner>?)',
    'recipient: recipient_queued (account_id=? AND message_id>? AND message_id<?)',
    'recipient: recipient_state (account_id=? AND state=? AND message_id>? AND message_id<?)',
    's: PRIMARY KEY (part=? AND account_id=? AND sandbox=? AND term=? AND message_id>? AND message_id<?)',
    's: PRIMARY KEY (part=? AND account_id=? AND sandbox=? AND term>? AND term<?)',
  ])
})

test('every search for events uses an index', async () => {
  const none = { type: null, messageId: null, to: null, since: null, until: null }
  const filters = [
    {},
    ...publicEventTypes.map((type) => ({ type })),
    { messageId: 'em_1' },
    { to: 'ann@a.example' },
    { since: 1 },
    { until: 2 },
  ]
  const pages = [
    { limit: 20, after: null, before: null },
    { limit: 20, after: 7, before: null },
    { limit: 20, after: null, before: 7 },
  ]
  const paths = await pathsOf(async (db) => {
    for (const one of filters) {
      for (const other of filters) {
        for (const page of pages) {
          for (const order of ['asc', 'desc'] as const) {
            for (const way of ways) {
              const asked = { columns: 'seq, data', scope, filter: { ...none, ...one, ...other }, page: { ...page, order } }
              await new EventSearch(db, asked, way).page()
            }
          }
        }
      }
    }
  })
  expect(paths).toEqual([
    'e: INTEGER PRIMARY KEY (rowid>? AND rowid<?)',
    'event: event_feed (account_id=? AND sandbox=? AND seq>? AND seq<?)',
    'event: event_message (message_id=? AND rowid>? AND rowid<?)',
    'event: its end',
    'event_block: PRIMARY KEY (account_id=? AND sandbox=? AND type=? AND block>? AND block<?)',
    'recipient: sqlite_autoindex_recipient_1 (id=?)',
    's: PRIMARY KEY (part=? AND account_id=? AND sandbox=? AND term=? AND message_id>? AND message_id<?)',
  ])
})

test('every search for webhook deliveries uses an index; `d` is a temporary index over the few rows in hand', async () => {
  const none = { state: null, type: null, eventId: null }
  const filters = [{}, ...deliveryStates.map((state) => ({ state })), ...publicEventTypes.map((type) => ({ type })), { eventId: 'evt_1' }]
  const paths = await pathsOf(async (db) => {
    for (const one of filters) {
      for (const other of filters) {
        for (const key of ['id', 'event_id'] as const) {
          for (const page of idPages) {
            const asked = { columns: 'd.id, d.body', key, webhookId: 'wh_1', filter: { ...none, ...one, ...other }, page }
            for (const way of ways) await searchDeliveries(db, asked, way)
          }
        }
      }
    }
  })
  expect(paths).toEqual([
    'd: all of it',
    'd: webhook_delivery_event (webhook_id=? AND event_id=? AND id>? AND id<?)',
    'd: webhook_delivery_event (webhook_id=? AND event_id=?)',
    'd: webhook_delivery_event (webhook_id=? AND event_id>? AND event_id<?)',
    'd: webhook_delivery_state (webhook_id=? AND state=? AND id>? AND id<?)',
    'd: webhook_delivery_state_event (webhook_id=? AND state=? AND event_id>? AND event_id<?)',
    'd: webhook_delivery_type (webhook_id=? AND event_type=? AND id>? AND id<?)',
    'd: webhook_delivery_type_event (webhook_id=? AND event_type=? AND event_id>? AND event_id<?)',
    'd: webhook_delivery_webhook (webhook_id=? AND id>? AND id<?)',
    'n: webhook_delivery_event (webhook_id=? AND event_id=? AND id>?)',
    'webhook_delivery: webhook_delivery_due (webhook_id=? AND next_attempt_at>?)',
    'webhook_delivery: webhook_delivery_owned (webhook_id=? AND owner>?)',
  ])
})

test('the other lists use indexes', async () => {
  const paths = await pathsOf(async (db) => {
    for (const page of idPages) {
      for (const accountId of [null, 'acc_1']) {
        for (const purpose of [null, ...returnPathPurposes]) {
          for (const result of [null, 'bounced' as const])
            await new ReturnedMailList(db).page({ accountId, purpose, result, messageId: null }, page)
        }
        await new ReturnedMailList(db).page({ accountId, purpose: null, result: null, messageId: 'em_1' }, page)
        await new AuditLog({ db, clock }).page({ accountId, since: 1, until: 2 }, page)
      }
      for (const origin of [null, 'manual' as const])
        await new SuppressionEntries({ db, clock, erasedAddress: () => '' }).page(scope, origin === null ? {} : { origins: [origin] }, page)
    }
    const queue = new QueueAdmin({
      db,
      clock,
      changes: aloneWithChanges,
      health: { clear: () => {} },
      noteWaiting: () => {},
      tryNow: () => {},
    })
    await queue.list()
    await queue.page({ limit: 20, after: null, before: null })
  })
  expect(paths).toEqual([
    'audit: audit_account (account_id=? AND id>? AND id<?)',
    'audit: sqlite_autoindex_audit_1 (id>? AND id<?)',
    'i: all of returned_mail_listed',
    'i: all of sqlite_autoindex_returned_mail_1',
    'i: returned_mail_account (account_id=? AND id>?)',
    'i: returned_mail_account (account_id=?)',
    'i: returned_mail_message (message_id=?)',
    'i: sqlite_autoindex_returned_mail_1 (id>?)',
    'r: sqlite_autoindex_recipient_1 (id=?)',
    'recipient: all of recipient_due',
    'recipient: all of recipient_held',
    'recipient: recipient_expiry (destination>?)',
    'recipient: recipient_held (destination>?)',
    'recipient: recipient_owned (owner>?)',
    'suppression: suppression_listed (account_id=? AND sandbox=? AND id>?)',
    'suppression: suppression_listed (account_id=? AND sandbox=?)',
  ])
})
