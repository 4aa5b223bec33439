import type { EmailDelivery, Webhook } from '../api/types.ts'
import { useAll } from '../api/cache.ts'
import { Link } from '../router.tsx'
import { t } from '../texts/texts.ts'
import { Panel } from './page.tsx'
import { Rows, type Column } from './rows.tsx'
import { Age } from './time.tsx'
import { Answered, DeliveryState } from './webhook-facts.tsx'

/** What webhooks were told of an email; nothing where there was nobody to tell. */
export function EmailWebhooks({ deliveries }: { deliveries: EmailDelivery[] }) {
  const webhooks = useAll<Webhook>(deliveries.length > 0 ? '/api/webhooks' : null)
  if (deliveries.length === 0) return null
  const urlOf = (id: string): string => webhooks.data?.data.find((webhook) => webhook.id === id)?.url ?? ''
  const columns: Column<EmailDelivery>[] = [
    {
      head: t.webhooks.event,
      kind: 'title',
      cell: ({ id, type, webhook_id: webhookId }) => (
        <>
          <Link href={`/webhooks/${webhookId}/deliveries/${id}`}>{type}</Link> <span class="muted">{urlOf(webhookId)}</span>
        </>
      ),
    },
    { head: t.common.status, cell: ({ status }) => <DeliveryState of={status} /> },
    { head: t.webhooks.answer, cell: ({ attempt_count: count, last_status_code: code }) => count > 0 && <Answered code={code} /> },
    { head: t.common.when, kind: 'number', cell: ({ created_at: at }) => <Age of={at} /> },
  ]
  return (
    <Panel heading={t.email.webhooksTold}>
      <Rows rows={deliveries} columns={columns} />
    </Panel>
  )
}
