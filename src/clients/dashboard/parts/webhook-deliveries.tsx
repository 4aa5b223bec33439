import { webhookEventTypes } from '../../../mail/event/event-type.ts'
import { deliveryStates } from '../../../notify/webhook/delivery-state.ts'
import { call } from '../api/client.ts'
import type { Webhook, WebhookDelivery } from '../api/types.ts'
import { duration } from '../format.ts'
import { mayChange } from '../rights.ts'
import { Link } from '../router.tsx'
import { t } from '../texts/texts.ts'
import { ActionButton } from './button.tsx'
import type { Filter } from './filters.tsx'
import { ListRows, useList } from './list-page.tsx'
import { Panel } from './page.tsx'
import { type Column, linked } from './rows.tsx'
import { Age } from './time.tsx'
import { Answered, DeliveryState } from './webhook-facts.tsx'

const filters = (): Filter[] => [
  {
    name: 'status',
    label: t.common.status,
    kind: [
      ['', t.common.anyStatus],
      ...deliveryStates
        .filter((each) => each !== 'attempting')
        .map((each): [string, string] => [each, t.webhooks.states[each] ?? t.status[each]]),
    ],
  },
  {
    name: 'type',
    label: t.webhooks.event,
    kind: [['', t.webhooks.anyEvent], ...webhookEventTypes.map((each): [string, string] => [each, each])],
  },
]

/** What was posted to a webhook, newest first; filters and place are in the address. */
export function WebhookDeliveries({ webhook, query }: { webhook: Webhook; query: URLSearchParams }) {
  const path = `/api/webhooks/${webhook.id}/deliveries`
  const deliveries = useList<WebhookDelivery>(path, query, filters(), 5_000)
  const replay = (id: string): Promise<unknown> => call(`${path}/${id}/replay`, { method: 'POST' }).then(deliveries.reload)
  return (
    <Panel heading={t.webhooks.deliveries}>
      <ListRows
        list={deliveries}
        query={query}
        filters={filters()}
        columns={columnsWith(webhook.id, mayChange() ? replay : null)}
        none={t.webhooks.noDelivery}
        noMatch={t.webhooks.noMatch}
      />
    </Panel>
  )
}

const columnsWith = (webhookId: string, replay: ((id: string) => Promise<unknown>) | null): Column<WebhookDelivery>[] => [
  linked(t.webhooks.event, ({ id, type }) => [`/webhooks/${webhookId}/deliveries/${id}`, type]),
  { head: t.common.status, cell: ({ status }) => <DeliveryState of={status} /> },
  {
    head: t.common.recipient,
    cell: ({ to, email_id: emailId }) => (emailId === null || to === null ? (to ?? '') : <Link href={`/emails/${emailId}`}>{to}</Link>),
  },
  { head: t.webhooks.answer, cell: ({ attempt_count: count, last_status_code: code }) => count > 0 && <Answered code={code} /> },
  { head: t.webhooks.took, kind: 'number', cell: ({ last_duration_ms: ms }) => ms !== null && duration(ms) },
  { head: t.common.when, kind: 'number', cell: ({ created_at: at }) => <Age of={at} /> },
  ...(replay === null
    ? []
    : [
        {
          head: '',
          kind: 'number' as const,
          cell: ({ id, status }: WebhookDelivery) =>
            status !== 'pending' &&
            status !== 'attempting' && <ActionButton look="small" text={t.webhooks.replay} icon="redo" run={() => replay(id)} />,
        },
      ]),
]
