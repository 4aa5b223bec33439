import { useState } from 'preact/hooks'
import { webhookEventTypes } from '../../../mail/event/event-type.ts'
import { serviceNames } from '../../../notify/webhook/payload-kind.ts'
import { call } from '../api/client.ts'
import type { Webhook } from '../api/types.ts'
import { t } from '../texts/texts.ts'
import { Dialog } from './dialog.tsx'
import { Choice, Field, Group, Switch } from './fields.tsx'

const payloads: [string, string][] = [['standard', 'Sterna'], ...Object.entries(serviceNames)]

interface WebhookForm {
  /** The one to change; a new one without it. */
  webhook?: Webhook
  onSaved(webhook: Webhook): void
  onClose(): void
}

/** Where events are posted, which, and in whose words. */
export function WebhookDialog({ webhook, onSaved, onClose }: WebhookForm) {
  const [url, setUrl] = useState(webhook?.url ?? '')
  const [description, setDescription] = useState(webhook?.description ?? '')
  const [payload, setPayload] = useState<string>(webhook?.payload ?? 'standard')
  const [events, setEvents] = useState<string[]>(webhook?.events ?? ['email.delivered', 'email.bounced', 'email.complained'])
  const [includeBots, setIncludeBots] = useState(webhook?.include_bots ?? false)
  const shapes: [string, string][] = webhook?.payload === 'extended' ? [...payloads, ['extended', t.webhooks.extended]] : payloads
  const save = async (): Promise<void> => {
    const body = { url: url.trim(), events, payload, include_bots: includeBots, description: description.trim() || null }
    onSaved(
      webhook
        ? await call<Webhook>(`/api/webhooks/${webhook.id}`, { method: 'PATCH', body })
        : await call<Webhook>('/api/webhooks', { method: 'POST', body }),
    )
  }
  const toggle = (event: string, on: boolean): void => setEvents(on ? [...events, event] : events.filter((each) => each !== event))
  return (
    <Dialog
      heading={webhook ? t.webhooks.edit : t.webhooks.add}
      button={webhook ? t.common.save : t.common.add}
      run={save}
      onClose={onClose}
      disabled={url.trim() === '' || events.length === 0}
    >
      <Field name="url" label={t.webhooks.url} type="url" value={url} onValue={setUrl} autocomplete="off" />
      <Group name="events" label={t.common.events}>
        {webhookEventTypes.map((event) => (
          <Switch
            key={event}
            name={null}
            label={t.email.events[event] ?? event}
            on={events.includes(event)}
            onChange={(on) => toggle(event, on)}
          />
        ))}
      </Group>
      <Switch name="include_bots" label={t.webhooks.includeBots} on={includeBots} onChange={setIncludeBots} />
      <Choice name="payload" label={t.webhooks.shape} value={payload} options={shapes} onValue={setPayload} />
      <Field
        name="description"
        label={t.webhooks.description}
        value={description}
        onValue={setDescription}
        maxLength={500}
        autocomplete="off"
      />
    </Dialog>
  )
}
