import { useState } from 'preact/hooks'
import { webhookEventTypes } from '../../../mail/event/event-type.ts'
import { serviceNames } from '../../../notify/webhook/payload-kind.ts'
import { call } from '../api/client.ts'
import type { Webhook } from '../api/types.ts'
import { t } from '../texts/texts.ts'
import { Dialog } from './dialog.tsx'
import { Choice, Field, Group, Switch, useFields } from './fields.tsx'

const payloads: [string, string][] = [['standard', 'Sterna'], ...Object.entries(serviceNames)]

interface WebhookForm {
  /** The one to change; a new one without it. */
  webhook?: Webhook
  onSaved(webhook: Webhook): void
  onClose(): void
}

/** Where events are posted, which, and in whose words. */
export function WebhookDialog({ webhook, onSaved, onClose }: WebhookForm) {
  const { values, field } = useFields({
    url: webhook?.url ?? '',
    description: webhook?.description ?? '',
    payload: (webhook?.payload ?? 'standard') as string,
    include_bots: webhook?.include_bots ?? false,
  })
  const [events, setEvents] = useState<string[]>(webhook?.events ?? ['email.delivered', 'email.bounced', 'email.complained'])
  const shapes: [string, string][] = webhook?.payload === 'extended' ? [...payloads, ['extended', t.webhooks.extended]] : payloads
  const save = async (): Promise<void> => {
    const body = { ...values, events, url: values.url.trim(), description: values.description.trim() || null }
    const [path, method] = webhook ? ([`/api/webhooks/${webhook.id}`, 'PATCH'] as const) : (['/api/webhooks', 'POST'] as const)
    onSaved(await call<Webhook>(path, { method, body }))
  }
  const toggle = (event: string, on: boolean): void => setEvents(on ? [...events, event] : events.filter((each) => each !== event))
  return (
    <Dialog
      heading={webhook ? t.webhooks.edit : t.webhooks.add}
      button={webhook ? t.common.save : t.common.add}
      run={save}
      onClose={onClose}
      disabled={values.url.trim() === '' || events.length === 0}
    >
      <Field {...field('url')} label={t.webhooks.url} type="url" />
      <Group name="events" label={t.common.events}>
        {webhookEventTypes.map((event) => (
          <Switch
            key={event}
            name={null}
            label={t.email.events[event] ?? event}
            value={events.includes(event)}
            onValue={(on) => toggle(event, on)}
          />
        ))}
      </Group>
      <Switch {...field('include_bots')} label={t.webhooks.includeBots} />
      <Choice {...field('payload')} label={t.webhooks.shape} options={shapes} />
      <Field {...field('description')} label={t.webhooks.description} maxLength={500} />
    </Dialog>
  )
}
