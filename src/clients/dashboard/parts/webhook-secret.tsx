import { useState } from 'preact/hooks'
import { call } from '../api/client.ts'
import type { Webhook } from '../api/types.ts'
import { dayAndTime } from '../format.ts'
import { t } from '../texts/texts.ts'
import { webhookSnippets } from '../webhook-snippets.ts'
import { Button, AskButton } from './button.tsx'
import { Code, CopyValue, Tabs } from './controls.tsx'
import { Dialog } from './dialog.tsx'
import { Choice, useFields } from './fields.tsx'
import { Panel } from './page.tsx'

type Language = keyof typeof webhookSnippets

/** The secret of a webhook, shown on request, and programs that check signatures with it. */
export function WebhookSecret({ webhook, secret, onRotated }: { webhook: Webhook; secret: string; onRotated(): Promise<unknown> }) {
  const [isShown, setShown] = useState(false)
  const [language, setLanguage] = useState<Language>('Node')
  const { previous_secret_expires_at: expiresAt } = webhook
  const isOverlapping = expiresAt !== null && Date.parse(expiresAt) > Date.now()
  const rotated = async (): Promise<void> => {
    await onRotated()
    setShown(true)
  }
  return (
    <Panel heading={t.webhooks.secret} text={t.webhooks.secretText}>
      <div class="body stack">
        {isShown && <CopyValue value={secret} name={t.webhooks.secret} oneLine />}
        {isOverlapping && <p>{t.webhooks.overlap(dayAndTime(expiresAt))}</p>}
        <div class="acts">
          <Button
            text={isShown ? t.webhooks.hideSecret : t.webhooks.showSecret}
            aria-expanded={isShown}
            onClick={() => setShown(!isShown)}
          />
          <AskButton
            text={t.webhooks.rotate}
            dialog={(close) => <RotateSecret webhook={webhook} isOverlapping={isOverlapping} onDone={rotated} onClose={close} />}
          />
        </div>
      </div>
      <Tabs
        name={t.webhooks.snippets}
        options={Object.keys(webhookSnippets).map((each) => [each, each])}
        current={language}
        onChoice={(chosen) => setLanguage(chosen as Language)}
      />
      <div class="body">
        <p class="muted">{t.webhooks.snippetsHow}</p>
        <Code text={webhookSnippets[language]} name={t.webhooks.snippetIn(language)} />
      </div>
    </Panel>
  )
}

interface Rotation {
  webhook: Webhook
  /** Whether the secret before the present one is still used. */
  isOverlapping: boolean
  onDone(): Promise<unknown>
  onClose(): void
}

function RotateSecret({ webhook, isOverlapping, onDone, onClose }: Rotation) {
  const { values, field } = useFields({ overlap_seconds: '86400' })
  const rotate = async (): Promise<void> => {
    const body = { overlap_seconds: Number(values.overlap_seconds), force: isOverlapping }
    await call(`/api/webhooks/${webhook.id}/signing-secret/rotate`, { method: 'POST', body })
    await onDone()
  }
  return (
    <Dialog heading={t.webhooks.rotate} button={t.webhooks.rotate} run={rotate} onClose={onClose}>
      <p>{t.webhooks.rotateText}</p>
      {isOverlapping && <p>{t.webhooks.rotateAgain}</p>}
      <Choice {...field('overlap_seconds')} label={t.webhooks.overlapLabel} options={Object.entries(t.webhooks.overlaps)} />
    </Dialog>
  )
}
