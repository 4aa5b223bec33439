import { useState } from 'preact/hooks'
import { useApi } from '../api/cache.ts'
import { call } from '../api/client.ts'
import type { Webhook, WebhookTest } from '../api/types.ts'
import { duration, fullTime } from '../format.ts'
import { Answer } from '../parts/answer.tsx'
import { ActionButton } from '../parts/controls.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Note, Page } from '../parts/page.tsx'
import { State } from '../parts/state.tsx'
import { WebhookDeliveries } from '../parts/webhook-deliveries.tsx'
import { LastAnswer, SuccessRate } from '../parts/webhook-facts.tsx'
import { WebhookDialog } from '../parts/webhook-form.tsx'
import { EnableAndReplay, ReplayFailed } from '../parts/webhook-replay.tsx'
import { WebhookSecret } from '../parts/webhook-secret.tsx'
import { mayChange } from '../rights.ts'
import { navigate, type PageProps } from '../router.tsx'
import { t } from '../texts/texts.ts'

export default function WebhookPage({ params, query }: PageProps) {
  const webhook = useApi<Webhook>(`/api/webhooks/${encodeURIComponent(params['id'] ?? '')}`, { everyMs: 15_000 })
  const crumb = { href: '/webhooks', text: t.nav.webhooks }
  if (webhook.data) return <Shown webhook={webhook.data} reload={webhook.reload} query={query} />
  const isMissing = webhook.error?.status === 404
  return (
    <Page title={t.nav.webhooks} heading={isMissing ? t.webhooks.notFound : ''} crumb={crumb}>
      {!isMissing && <Answer of={webhook}>{() => null}</Answer>}
    </Page>
  )
}

type Asked = 'edit' | 'remove' | 'replay' | 'enable' | null

function Shown({ webhook, reload, query }: { webhook: Webhook; reload(): Promise<void>; query: URLSearchParams }) {
  const [asked, setAsked] = useState<Asked>(null)
  const [tested, setTested] = useState<WebhookTest | null>(null)
  const path = `/api/webhooks/${webhook.id}`
  const isEnabled = webhook.status === 'enabled'
  const set = (status: string): Promise<unknown> => call(path, { method: 'PATCH', body: { status } }).then(reload)
  const test = async (): Promise<void> =>
    setTested(await call<WebhookTest>(`${path}/test`, { method: 'POST', body: { type: webhook.events[0] } }))
  return (
    <Page
      heading={webhook.url}
      crumb={{ href: '/webhooks', text: t.nav.webhooks }}
      sub={<Facts webhook={webhook} />}
      actions={
        mayChange() && (
          <>
            {isEnabled && <Ask text={t.webhooks.replayAll} onClick={() => setAsked('replay')} />}
            <ActionButton text={t.common.sendTest} main={isEnabled} run={test} />
            {!isEnabled && webhook.failing_since === null && <ActionButton main text={t.webhooks.enable} run={() => set('enabled')} />}
            {!isEnabled && webhook.failing_since !== null && (
              <button class="btn main" type="button" onClick={() => setAsked('enable')}>
                {t.webhooks.enableAndReplay}
              </button>
            )}
          </>
        )
      }
    >
      <Failing webhook={webhook} />
      {tested && <Tested tested={tested} />}
      <WebhookDeliveries webhook={webhook} query={query} />
      {webhook.signing_secret !== undefined && <WebhookSecret webhook={webhook} secret={webhook.signing_secret} onRotated={reload} />}
      {mayChange() && (
        <div class="acts">
          <Ask text={t.webhooks.edit} onClick={() => setAsked('edit')} />
          {isEnabled && <ActionButton text={t.webhooks.disable} run={() => set('disabled')} />}
          <Ask text={t.common.remove} onClick={() => setAsked('remove')} />
        </div>
      )}
      <Dialogs asked={asked} webhook={webhook} reload={reload} onClose={() => setAsked(null)} />
    </Page>
  )
}

const Ask = ({ text, onClick }: { text: string; onClick(): void }) => (
  <button class="btn" type="button" onClick={onClick}>
    {text}
  </button>
)

const Facts = ({ webhook }: { webhook: Webhook }) => (
  <>
    <State of={webhook.status} />
    <span>
      {t.webhooks.accepted} <SuccessRate stats={webhook.stats} />
    </span>
    <span>
      {t.webhooks.lastAnswer} <LastAnswer stats={webhook.stats} />
    </span>
    {webhook.description !== null && <span>{webhook.description}</span>}
  </>
)

/** Why nothing arrives, and since when. */
function Failing({ webhook: { status, disabled_reason: reason, failing_since: since } }: { webhook: Webhook }) {
  if (reason !== 'failures' && (status === 'disabled' || since === null)) return null
  return (
    <Note tone={reason === 'failures' ? 'bad' : 'wait'}>
      <p>
        <b>{reason === 'failures' ? t.webhooks.failed : t.webhooks.failing}</b> {since !== null && t.webhooks.failingSince(fullTime(since))}
      </p>
      <p>{reason === 'failures' ? t.webhooks.failedHow : t.webhooks.failingHow}</p>
    </Note>
  )
}

interface WebhookDialogs {
  asked: Asked
  webhook: Webhook
  reload(): Promise<void>
  onClose(): void
}

function Dialogs({ asked, webhook, reload, onClose }: WebhookDialogs) {
  const remove = async (): Promise<void> => {
    await call(`/api/webhooks/${webhook.id}`, { method: 'DELETE' })
    navigate('/webhooks')
  }
  const common = { webhook, onDone: reload, onClose }
  if (asked === 'edit') return <WebhookDialog webhook={webhook} onSaved={() => void reload()} onClose={onClose} />
  if (asked === 'replay') return <ReplayFailed {...common} />
  if (asked === 'enable' && webhook.failing_since !== null) return <EnableAndReplay {...common} since={webhook.failing_since} />
  if (asked !== 'remove') return null
  return (
    <Dialog heading={t.common.remove} button={t.common.remove} run={remove} onClose={onClose}>
      <p>{t.webhooks.removeText}</p>
    </Dialog>
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
