import fc from 'fast-check'
import { expect, test } from 'vitest'
import { newId } from '../../../src/platform/id.ts'
import type { Statement } from '../../../src/platform/store/database.ts'
import { searchDeliveries, type DeliveryFilter } from '../../../src/notify/webhook/delivery-search.ts'
import { deliveryStates, type DeliveryState } from '../../../src/notify/webhook/delivery-state.ts'
import { testDatabase } from '../../support/test-database.ts'
import { cases } from '../../support/cases.ts'

const types = ['email.sent', 'email.delivered', 'email.bounced', 'email.complained'] as const
const events = ['evt_1', 'evt_2', 'evt_3', 'evt_4', 'evt_5']
/** An event has one type, and several deliveries where it was replayed. */
const typeOf = (event: string) => types[events.indexOf(event) % types.length] ?? 'email.sent'

const arbitraryDelivery = fc.record({ event: fc.constantFrom(...events), state: fc.constantFrom<DeliveryState>(...deliveryStates) })
const orNone = <T>(...values: T[]) => fc.option(fc.constantFrom(...values), { freq: 2 })

const insert = (webhookId: string, { id, event, state }: { id: string; event: string; state: DeliveryState }): Statement => ({
  sql: `insert into webhook_delivery (id, webhook_id, event_id, event_type, body, state, owner, next_attempt_at, created_at)
        values (:id, :webhookId, :event, :type, '', :state, :owner, :nextAttemptAt, 0)`,
  params: {
    id,
    webhookId,
    event,
    type: typeOf(event),
    state,
    owner: state === 'attempting' ? 'node_1' : null,
    nextAttemptAt: state === 'pending' ? 1 : null,
  },
})

const insertWebhook = (id: string): Statement => ({
  sql: `insert into webhook (id, account_id, url, events, payload, sandbox, status, secret, after_seq, created_at, updated_at)
        values (:id, 'acc_1', '', '', 'standard', 0, 'enabled', :secret, 0, 0, 0)`,
  params: { id, secret: Buffer.alloc(1) },
})

test('lists of deliveries and events are exact for every filter', async () => {
  const db = await testDatabase()
  await db.write([{ sql: "insert into account (id, name, plan, status, created_at) values ('acc_1', 'a', 'free', 'active', 0)" }])
  let runs = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(arbitraryDelivery, { minLength: 5, maxLength: 20 }),
      fc.record({ state: orNone(...deliveryStates), type: orNone<string>(...types), eventId: fc.option(fc.constantFrom(...events)) }),
      fc.record({
        few: fc.constantFrom(0, 1_000),
        limit: fc.integer({ min: 1, max: 4 }),
        isUpward: fc.boolean(),
        edge: fc.nat({ max: 19 }),
      }),
      async (made, filter: DeliveryFilter, { few, limit, isUpward, edge }) => {
        const webhookId = `wh_${runs++}`
        const deliveries = made.map((delivery, place) => ({ ...delivery, id: newId('whd', place) }))
        await db.write([insertWebhook(webhookId), ...deliveries.map((delivery) => insert(webhookId, delivery))])
        for (const key of ['id', 'event_id'] as const) {
          const keyOf = ({ id, event }: { id: string; event: string }): string => (key === 'id' ? id : event)
          const meant = deliveries
            .filter(({ state }) => filter.state === null || filter.state === state)
            .filter(({ event }) => filter.type === null || filter.type === typeOf(event))
            .filter(({ event }) => filter.eventId === null || filter.eventId === event)
            .filter((one) => key === 'id' || !deliveries.some((other) => other.event === one.event && other.id > one.id))
            .map(keyOf)
            .toSorted()
          const at = keyOf(deliveries[edge % deliveries.length]!)
          const page = { limit, after: isUpward ? null : at, before: isUpward ? at : null }
          const listed = isUpward ? meant.filter((each) => each > at) : meant.filter((each) => each < at).toReversed()
          const rows = await searchDeliveries<{ key: string }>(
            db,
            { columns: `d.${key} as key`, key, webhookId, filter, page },
            { few, piece: 2 },
          )
          expect(
            rows.map((row) => row.key),
            JSON.stringify({ key, filter, page }),
          ).toEqual(listed.slice(0, limit + 1))
        }
      },
    ),
    { numRuns: cases(60) },
  )
})
