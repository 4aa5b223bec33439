import { useState } from 'preact/hooks'
import { useApi } from '../api/cache.ts'
import { call } from '../api/client.ts'
import type { Webhook, WebhookTest } from '../api/types.ts'
import { duration, fullTime } from '../format.ts'
import { ObjectPage } from '../parts/answer.tsx'
import { AskButton, ActionButton } from '../parts/button.tsx'
import { ConfirmButton } from '../parts/dialog.tsx'
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
  return (
    <ObjectPage of={webhook} title={t.nav.webhooks} crumb={crumb()} missing={t.webhooks.notFound}>
      {(found) => <Shown webhook={found} reload={webhook.reload} query={query} />}
    </ObjectPage>
  )
}

const crumb = () => ({ href: '/webhooks', text: t.nav.webhooks })

function Shown({ webhook, reload, query }: { webhook: Webhook; reload(): Promise<void>; query: URLSearchParams }) {
  const [tested, setTested] = useState<WebhookTest | null>(null)
  const path = `/api/webhooks/${webhook.id}`
  const { status, failing_since: failingSince } = webhook
  const isEnabled = status === 'enabled'
  const set = (next: string): Promise<unknown> => call(path, { method: 'PATCH', body: { status: next } }).then(reload)
  const test = async (): Promise<void> =>
    setTested(await call<WebhookTest>(`${path}/test`, { method: 'POST', body: { type: webhook.events[0] } }))
  const replay = (close: () => void) => <ReplayFailed webhook={webhook} onDone={reload} onClose={close} />
  return (
    <Page
      heading={webhook.url}
      crumb={crumb()}
      sub={<Summary webhook={webhook} />}
      actions={
        mayChange() && (
          <>
            {isEnabled && <AskButton text={t.webhooks.replayAll} dialog={replay} />}
            <ActionButton text={t.common.sendTest} look={isEnabled ? 'main' : undefined} run={test} />
            {!isEnabled && failingSince === null && <ActionButton look="main" text={t.webhooks.enable} run={() => set('enabled')} />}
            {!isEnabled && failingSince !== null && (
              <AskButton
                look="main"
                text={t.webhooks.enableAndReplay}
                dialog={(close) => <EnableAndReplay webhook={webhook} since={failingSince} onDone={reload} onClose={close} />}
              />
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
          <AskButton
            text={t.webhooks.edit}
            dialog={(close) => <WebhookDialog webhook={webhook} onSaved={() => void reload()} onClose={close} />}
          />
          {isEnabled && <ActionButton text={t.webhooks.disable} run={() => set('disabled')} />}
          <ConfirmButton text={t.common.remove} says={t.webhooks.removeText} run={() => remove(path)} />
        </div>
      )}
    </Page>
  )
}

async function remove(path: string): Promise<void> {
  await call(path, { method: 'DELETE' })
  navigate('/webhooks')
}

const Summary = ({ webhook }: { webhook: Webhook }) => (
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

const Tested = ({ tested }: { tested: WebhookTest }) => (
  <Note tone={tested.delivered ? 'ok' : 'bad'} role="status" says={tested.delivered ? t.webhooks.testTaken : t.webhooks.testRefused}>
    <p>{t.webhooks.testAnswer(tested.http_status_code, duration(tested.duration_ms))}</p>
    {(tested.error ?? tested.response) !== null && <pre class="code plain">{tested.error ?? tested.response}</pre>}
  </Note>
)
