import { useAll } from '../api/cache.ts'
import type { Webhook } from '../api/types.ts'
import { ListPage } from '../parts/list-page.tsx'
import { type Column, linked } from '../parts/rows.tsx'
import { State } from '../parts/state.tsx'
import { LastAnswer, SuccessRate } from '../parts/webhook-facts.tsx'
import { WebhookDialog } from '../parts/webhook-form.tsx'
import { mayChange } from '../rights.ts'
import { navigate } from '../router.tsx'
import { t } from '../texts/texts.ts'

export default function Webhooks() {
  return (
    <ListPage
      heading={t.nav.webhooks}
      list={useAll<Webhook>('/api/webhooks')}
      columns={columns()}
      none={t.webhooks.none}
      add={
        mayChange() && {
          text: t.webhooks.add,
          dialog: (close) => <WebhookDialog onSaved={({ id }) => navigate(`/webhooks/${id}`)} onClose={close} />,
        }
      }
    />
  )
}

const columns = (): Column<Webhook>[] => [
  linked(t.webhooks.url, ({ id, url }) => [`/webhooks/${id}`, url]),
  { head: t.common.status, cell: ({ status }) => <State of={status} /> },
  { head: t.common.events, kind: 'quiet', cell: ({ events }) => events.map((event) => t.email.events[event] ?? event).join(', ') },
  { head: t.webhooks.accepted, cell: ({ stats }) => <SuccessRate stats={stats} /> },
  { head: t.webhooks.lastAnswer, cell: ({ stats }) => <LastAnswer stats={stats} /> },
]
