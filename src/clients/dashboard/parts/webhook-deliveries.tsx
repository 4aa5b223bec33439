import { webhookEventTypes } from '../../../mail/event/event-type.ts'
import { useApi } from '../api/cache.ts'
import { call } from '../api/client.ts'
import type { List, Webhook, WebhookDelivery } from '../api/types.ts'
import { duration } from '../format.ts'
import { mayChange } from '../rights.ts'
import { Link, setQuery } from '../router.tsx'
import { t } from '../texts/texts.ts'
import { Answer, Empty, NoMatch } from './answer.tsx'
import { ActionButton } from './controls.tsx'
import { Choice } from './fields.tsx'
import { Panel } from './page.tsx'
import { Paging } from './paging.tsx'
import { Rows, type Column } from './rows.tsx'
import { State } from './state.tsx'
import { Age } from './time.tsx'
import { Answered } from './webhook-facts.tsx'

const states = ['pending', 'success', 'failed', 'canceled']

/** What was posted to a webhook, newest first; filters and place are in the address. */
export function WebhookDeliveries({ webhook, query }: { webhook: Webhook; query: URLSearchParams }) {
  const [status, type, after] = ['status', 'type', 'after'].map((name) => query.get(name) ?? '') as [string, string, string]
  const path = `/api/webhooks/${webhook.id}/deliveries`
  const asked = new URLSearchParams({ limit: '50' })
  for (const [name, value] of Object.entries({ status, type, after })) if (value !== '') asked.set(name, value)
  const deliveries = useApi<List<WebhookDelivery>>(`${path}?${asked.toString()}`, { everyMs: 5_000 })
  const replay = (id: string): Promise<unknown> => call(`${path}/${id}/replay`, { method: 'POST' }).then(deliveries.reload)
  const isFiltered = status !== '' || type !== ''
  return (
    <Panel heading={t.webhooks.deliveries}>
      <div class="filters">
        <Choice
          label={t.common.status}
          value={status}
          options={[
            ['', t.webhooks.anyStatus],
            ...states.map((each): [string, string] => [each, t.webhooks.states[each] ?? t.status[each] ?? each]),
          ]}
          onValue={(value) => setQuery({ status: value, after: null })}
        />
        <Choice
          label={t.webhooks.event}
          value={type}
          options={[['', t.webhooks.anyEvent], ...webhookEventTypes.map((each): [string, string] => [each, each])]}
          onValue={(value) => setQuery({ type: value, after: null })}
        />
      </div>
      <Answer of={deliveries}>
        {({ data, has_more: hasMore }) => (
          <>
            {data.length === 0 ? (
              <NoDelivery isFiltered={isFiltered} />
            ) : (
              <Rows rows={data} columns={columnsWith(webhook.id, mayChange() ? replay : null)} keyOf={({ id }) => id} />
            )}
            <Paging isFirst={after === ''} last={hasMore ? (data.at(-1)?.id ?? null) : null} />
          </>
        )}
      </Answer>
    </Panel>
  )
}

/** What became of a delivery, in a word. */
export const DeliveryState = ({ of: status }: { of: string }) => {
  const state = status === 'attempting' ? 'pending' : status
  const word = t.webhooks.states[state]
  return <State of={state} {...(word === undefined ? {} : { word })} />
}

const NoDelivery = ({ isFiltered }: { isFiltered: boolean }) =>
  isFiltered ? <NoMatch text={t.webhooks.noMatch} filters={['status', 'type']} /> : <Empty text={t.webhooks.noDelivery} />

const columnsWith = (webhookId: string, replay: ((id: string) => Promise<unknown>) | null): Column<WebhookDelivery>[] => [
  {
    head: t.webhooks.event,
    kind: 'title',
    cell: ({ id, type }) => (
      <Link class="row" href={`/webhooks/${webhookId}/deliveries/${id}`}>
        {type}
      </Link>
    ),
  },
  { head: t.common.status, cell: ({ status }) => <DeliveryState of={status} /> },
  {
    head: t.webhooks.recipient,
    cell: ({ to, email_id: emailId }) => (emailId === null || to === null ? (to ?? '') : <Link href={`/emails/${emailId}`}>{to}</Link>),
  },
  { head: t.webhooks.answer, cell: ({ attempt_count: count, last_status_code: code }) => count > 0 && <Answered code={code} /> },
  { head: t.webhooks.took, kind: 'number', cell: ({ last_duration_ms: ms }) => ms !== null && duration(ms) },
  { head: t.webhooks.when, kind: 'number', cell: ({ created_at: at }) => <Age of={at} /> },
  ...(replay === null
    ? []
    : [
        {
          head: '',
          kind: 'number' as const,
          cell: ({ id, status }: WebhookDelivery) =>
            status !== 'pending' &&
            status !== 'attempting' && <ActionButton small text={t.webhooks.replay} icon="redo" run={() => replay(id)} />,
        },
      ]),
]
