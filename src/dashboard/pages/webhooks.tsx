import { useState } from 'preact/hooks'
import { useApi } from '../api/cache.ts'
import { call } from '../api/client.ts'
import type { List, Webhook } from '../api/types.ts'
import { Answer, Empty } from '../parts/answer.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Field, Switch } from '../parts/fields.tsx'
import { Page } from '../parts/page.tsx'
import { Rows, type Column } from '../parts/rows.tsx'
import { State } from '../parts/state.tsx'
import { Age } from '../parts/time.tsx'
import { mayChange } from '../rights.ts'
import { Link, navigate } from '../router.tsx'
import { t } from '../texts/texts.ts'

const eventTypes = [
  'email.sent',
  'email.delivered',
  'email.bounced',
  'email.complained',
  'email.opened',
  'email.clicked',
  'email.unsubscribed',
]

export default function Webhooks() {
  const webhooks = useApi<List<Webhook>>('/api/webhooks?limit=100')
  const [isAdding, setAdding] = useState(false)
  const add = mayChange() && (
    <button class="btn main" type="button" onClick={() => setAdding(true)}>
      {t.webhooks.add}
    </button>
  )
  return (
    <Page title={t.webhooks.title} heading={t.webhooks.heading} actions={add}>
      <section class="panel" aria-label={t.webhooks.title}>
        <Answer of={webhooks}>
          {({ data }) =>
            data.length === 0 ? (
              <Empty text={t.webhooks.none}>{add}</Empty>
            ) : (
              <Rows rows={data} columns={columns()} keyOf={({ id }) => id} />
            )
          }
        </Answer>
      </section>
      {isAdding && <AddWebhook onClose={() => setAdding(false)} />}
    </Page>
  )
}

const columns = (): Column<Webhook>[] => [
  {
    head: t.webhooks.url,
    kind: 'title',
    cell: ({ id, url }) => (
      <Link class="row" href={`/webhooks/${id}`}>
        {url}
      </Link>
    ),
  },
  { head: t.common.status, cell: ({ status }) => <State of={status} /> },
  { head: t.webhooks.events, kind: 'quiet', cell: ({ events }) => events.map((event) => t.email.events[event] ?? event).join(', ') },
  { head: t.webhooks.added, kind: 'number', cell: ({ created_at: at }) => <Age of={at} /> },
]

function AddWebhook({ onClose }: { onClose(): void }) {
  const [url, setUrl] = useState('')
  const [events, setEvents] = useState(eventTypes.slice(1, 4))
  const add = async (): Promise<void> => {
    const { id } = await call<Webhook>('/api/webhooks', { method: 'POST', body: { url, events } })
    navigate(`/webhooks/${id}`)
  }
  const toggle = (event: string, on: boolean): void => setEvents(on ? [...events, event] : events.filter((each) => each !== event))
  return (
    <Dialog heading={t.webhooks.add} button={t.common.add} run={add} onClose={onClose} disabled={url.trim() === '' || events.length === 0}>
      <Field label={t.webhooks.url} type="url" value={url} onValue={setUrl} autocomplete="off" />
      <div>
        {eventTypes.map((event) => (
          <Switch key={event} label={t.email.events[event] ?? event} on={events.includes(event)} onChange={(on) => toggle(event, on)} />
        ))}
      </div>
    </Dialog>
  )
}
