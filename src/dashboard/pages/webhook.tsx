import { useState } from 'preact/hooks'
import { useApi } from '../api/cache.ts'
import { call } from '../api/client.ts'
import type { List, Webhook, WebhookDelivery, WebhookTest } from '../api/types.ts'
import { Answer, Empty } from '../parts/answer.tsx'
import { ActionButton, CopyValue } from '../parts/controls.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Note, Page, Panel } from '../parts/page.tsx'
import { Rows, type Column } from '../parts/rows.tsx'
import { State } from '../parts/state.tsx'
import { Age } from '../parts/time.tsx'
import { mayChange } from '../rights.ts'
import { navigate, type PageProps } from '../router.tsx'
import { duration } from '../format.ts'
import { t } from '../texts/texts.ts'

export default function WebhookPage({ params }: PageProps) {
  const path = `/api/webhooks/${encodeURIComponent(params['id'] ?? '')}`
  const webhook = useApi<Webhook>(path)
  const crumb = { href: '/webhooks', text: t.webhooks.title }
  if (webhook.data) return <Shown webhook={webhook.data} path={path} reload={webhook.reload} />
  const isMissing = webhook.error?.status === 404
  return (
    <Page title={t.webhooks.title} heading={isMissing ? t.webhooks.notFound : ''} crumb={crumb}>
      {!isMissing && <Answer of={webhook}>{() => null}</Answer>}
    </Page>
  )
}

function Shown({ webhook, path, reload }: { webhook: Webhook; path: string; reload(): Promise<void> }) {
  const [isRemoving, setRemoving] = useState(false)
  const [tested, setTested] = useState<WebhookTest | null>(null)
  const deliveries = useApi<List<WebhookDelivery>>(`${path}/deliveries?limit=50`, { everyMs: 5_000 })
  const isEnabled = webhook.status === 'enabled'
  const set = (status: string): Promise<unknown> => call(path, { method: 'PATCH', body: { status } }).then(reload)
  const remove = async (): Promise<void> => {
    await call(path, { method: 'DELETE' })
    navigate('/webhooks')
  }
  const replay = (id: string): Promise<unknown> => call(`${path}/deliveries/${id}/replay`, { method: 'POST' }).then(deliveries.reload)
  const test = async (): Promise<void> => setTested(await call<WebhookTest>(`${path}/test`, { method: 'POST' }))
  return (
    <Page
      heading={webhook.url}
      crumb={{ href: '/webhooks', text: t.webhooks.title }}
      sub={<State of={webhook.status} />}
      actions={
        mayChange() && (
          <>
            <ActionButton text={t.webhooks.test} run={test} />
            {!isEnabled && <ActionButton main text={t.webhooks.enable} run={() => set('enabled')} />}
            {isEnabled && <ActionButton text={t.webhooks.disable} run={() => set('disabled')} />}
            <button class="btn" type="button" onClick={() => setRemoving(true)}>
              {t.common.remove}
            </button>
          </>
        )
      }
    >
      {webhook.disabled_reason === 'failures' && (
        <Note tone="bad">
          <p>
            <b>{t.webhooks.failed}</b>
          </p>
          <p>{t.webhooks.failedHow}</p>
        </Note>
      )}
      {tested && <Tested tested={tested} />}
      {webhook.signing_secret !== undefined && (
        <Panel heading={t.webhooks.secret} text={t.webhooks.secretText}>
          <div class="body">
            <CopyValue value={webhook.signing_secret} name={t.webhooks.secret} oneLine />
          </div>
        </Panel>
      )}
      <Panel heading={t.webhooks.deliveries}>
        <Answer of={deliveries}>
          {({ data }) =>
            data.length === 0 ? (
              <Empty text={t.webhooks.noDelivery} />
            ) : (
              <Rows rows={data} columns={columnsWith(mayChange() ? replay : null)} keyOf={({ id }) => id} />
            )
          }
        </Answer>
      </Panel>
      {isRemoving && (
        <Dialog heading={t.common.remove} button={t.common.remove} run={remove} onClose={() => setRemoving(false)}>
          <p>{t.webhooks.removeText}</p>
        </Dialog>
      )}
    </Page>
  )
}

const Tested = ({ tested }: { tested: WebhookTest }) => (
  <Note tone={tested.delivered ? 'ok' : 'bad'}>
    <p role="status">
      <b>{tested.delivered ? t.webhooks.testTaken : t.webhooks.testRefused}</b>
    </p>
    <p>{t.webhooks.testAnswer(tested.http_status_code, duration(tested.duration_ms))}</p>
    {(tested.error ?? tested.response) !== null && <pre class="code plain">{tested.error ?? tested.response}</pre>}
  </Note>
)

const columnsWith = (replay: ((id: string) => Promise<unknown>) | null): Column<WebhookDelivery>[] => [
  { head: t.common.status, cell: ({ status }) => <State of={status} {...(status === 'pending' ? { word: t.webhooks.pending } : {})} /> },
  { head: t.webhooks.event, kind: 'title', cell: ({ type }) => t.email.events[type] ?? type },
  { head: t.webhooks.attempts, kind: 'number', cell: ({ attempt_count: count }) => count },
  { head: t.webhooks.when, kind: 'number', cell: ({ created_at: at }) => <Age of={at} /> },
  ...(replay === null
    ? []
    : [
        {
          head: '',
          kind: 'number' as const,
          cell: ({ id }: WebhookDelivery) => <ActionButton small text={t.webhooks.replay} icon="redo" run={() => replay(id)} />,
        },
      ]),
]
