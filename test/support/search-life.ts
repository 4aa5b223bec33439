import { EventSearch, type EventFilter } from '../../src/mail/event/event-search.ts'
import { silentLog } from '../../src/platform/log.ts'
import { emailStatuses } from '../../src/mail/message/email-status.ts'
import { everyMessage, type MessageFilter } from '../../src/mail/message/message-filter.ts'
import { searchMessages } from '../../src/mail/message/message-search.ts'
import { searchIndex } from '../../src/readers/search/search-index.ts'
import type { Database } from '../../src/platform/store/database.ts'
import type { Page } from '../../src/platform/store/page-clause.ts'
import { searchDeliveries, type DeliveryFilter } from '../../src/notify/webhook/delivery-search.ts'
import { deliveryStates } from '../../src/notify/webhook/delivery-state.ts'

const mailFilters: Partial<MessageFilter>[] = [
  ...emailStatuses.map((status) => ({ status: [status] })),
  { status: ['queued', 'processing'] },
  { to: { address: 'ann@rcpt.example' } },
  { to: { pattern: '%ann%' } },
  { from: { address: 'app@sender.example' } },
  { from: { pattern: '%app%' } },
  { domainId: 'dom_1' },
  { tag: { name: 'kind', value: null } },
  { tag: { name: 'kind', value: 'opened' } },
]
const noEvent: EventFilter = { type: null, messageId: null, to: null, since: null, until: null }
const eventFilters: Partial<EventFilter>[] = [
  { type: 'email.bounced' },
  { to: 'ann@rcpt.example' },
  { since: 1 },
  { until: 1 },
  { messageId: 'em_1' },
  {},
]
const noDelivery: DeliveryFilter = { state: null, type: null, eventId: null }
const deliveryFilters: Partial<DeliveryFilter>[] = [
  ...deliveryStates.map((state) => ({ state })),
  { type: 'email.sent' },
  { type: 'email.bounced' },
  { eventId: 'evt_1' },
]

/** Whichever way a search goes about it. */
const ways = [
  { few: -1, piece: 2 },
  { few: 1_000, piece: 2 },
]
const pages: Page[] = [
  { limit: 1, after: null, before: null },
  { limit: 1, after: null, before: '' },
]

/** The log is read for searches, in parts, and all is searched for, in every way. */
export async function search(db: Database, { accountId, webhookId }: { accountId: string; webhookId: string }): Promise<void> {
  await searchIndex({ db, log: silentLog }, { firstEvents: 30, maxEvents: 30, partSize: 40, restFactor: 0 }).keepUp()
  const scope = { accountId, sandbox: false }
  for (const way of ways) {
    for (const page of pages) {
      for (const filter of mailFilters)
        await searchMessages(db, { columns: 'id', scope, filter: { ...everyMessage, ...filter }, page }, way)
      for (const filter of deliveryFilters) {
        for (const key of ['id', 'event_id'] as const) {
          await searchDeliveries(db, { columns: 'd.id', key, webhookId, filter: { ...noDelivery, ...filter }, page }, way)
        }
      }
      for (const filter of eventFilters) {
        const ofLog = { limit: 1, after: null, before: page.before === null ? null : 0, order: 'desc' as const }
        await new EventSearch(db, { columns: 'seq', scope, filter: { ...noEvent, ...filter }, page: ofLog }, way).page()
      }
    }
  }
}
