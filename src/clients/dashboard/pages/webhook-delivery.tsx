import { useApi } from '../api/cache.ts'
import { call } from '../api/client.ts'
import type { WebhookDeliveryDetail } from '../api/types.ts'
import { duration, fullTime } from '../format.ts'
import { ObjectPage } from '../parts/answer.tsx'
import { ActionButton } from '../parts/button.tsx'
import { Page, Panel } from '../parts/page.tsx'
import { Ago } from '../parts/time.tsx'
import { Answered, DeliveryState } from '../parts/webhook-facts.tsx'
import { mayChange } from '../rights.ts'
import { Link, navigate, type PageProps } from '../router.tsx'
import { t } from '../texts/texts.ts'

export default function WebhookDeliveryPage({ params }: PageProps) {
  const id = params['id'] ?? ''
  const path = `/api/webhooks/${encodeURIComponent(id)}/deliveries/${encodeURIComponent(params['delivery'] ?? '')}`
  const delivery = useApi<WebhookDeliveryDetail>(path, { everyMs: 5_000 })
  const crumb = { href: `/webhooks/${id}`, text: t.webhooks.one }
  return (
    <ObjectPage of={delivery} title={t.nav.webhooks} crumb={crumb} missing={t.webhooks.deliveryNotFound}>
      {(found) => <Shown delivery={found} path={path} webhookId={id} />}
    </ObjectPage>
  )
}

function Shown({ delivery, path, webhookId }: { delivery: WebhookDeliveryDetail; path: string; webhookId: string }) {
  const isFinal = delivery.status !== 'pending' && delivery.status !== 'attempting'
  const replay = async (): Promise<void> => {
    const { delivery_id: id } = await call<{ delivery_id: string }>(`${path}/replay`, { method: 'POST' })
    navigate(`/webhooks/${webhookId}/deliveries/${id}`)
  }
  return (
    <Page
      heading={t.webhooks.ofEvent(delivery.type)}
      crumb={{ href: `/webhooks/${webhookId}`, text: t.webhooks.one }}
      sub={
        <>
          <DeliveryState of={delivery.status} />
          {delivery.to !== null && delivery.email_id !== null && <Link href={`/emails/${delivery.email_id}`}>{delivery.to}</Link>}
          <span>
            <Ago of={delivery.created_at} />
          </span>
          {delivery.next_attempt_at !== null && <span>{t.webhooks.nextAttempt(fullTime(delivery.next_attempt_at))}</span>}
        </>
      }
      actions={mayChange() && isFinal && <ActionButton text={t.webhooks.replay} icon="redo" look="main" run={replay} />}
    >
      <Panel heading={t.webhooks.attempts}>
        {delivery.attempts.length === 0 ? (
          <p class="body muted">{t.webhooks.noAttempt}</p>
        ) : (
          <ol class="versions">
            {delivery.attempts.map(({ id, http_status_code: code, sent_at: at, duration_ms: ms, response, error }, place) => (
              <li key={id}>
                <div>
                  <p>
                    <b>{t.webhooks.attempt(place + 1)}</b> <Answered code={code} />{' '}
                    <span class="muted" title={at}>
                      {t.webhooks.attemptAt(fullTime(at), duration(ms))}
                    </span>
                  </p>
                  {(error ?? response) !== null && (error ?? response) !== '' && <pre class="code plain">{error ?? response}</pre>}
                </div>
              </li>
            ))}
          </ol>
        )}
      </Panel>
      <Panel heading={t.webhooks.payload} text={t.webhooks.payloadHow}>
        <div class="body">
          <pre class="code plain">{JSON.stringify(delivery.payload, null, 2)}</pre>
        </div>
      </Panel>
    </Page>
  )
}
