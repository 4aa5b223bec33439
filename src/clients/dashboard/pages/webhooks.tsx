import { useState } from 'preact/hooks'
import { useAll } from '../api/cache.ts'
import type { Webhook } from '../api/types.ts'
import { Answer, Empty } from '../parts/answer.tsx'
import { Page } from '../parts/page.tsx'
import { Rows, type Column } from '../parts/rows.tsx'
import { State } from '../parts/state.tsx'
import { LastAnswer, SuccessRate } from '../parts/webhook-facts.tsx'
import { WebhookDialog } from '../parts/webhook-form.tsx'
import { mayChange } from '../rights.ts'
import { Link, navigate } from '../router.tsx'
import { t } from '../texts/texts.ts'

export default function Webhooks() {
  const webhooks = useAll<Webhook>('/api/webhooks')
  const [isAdding, setAdding] = useState(false)
  const add = mayChange() && (
    <button class="btn main" type="button" onClick={() => setAdding(true)}>
      {t.webhooks.add}
    </button>
  )
  return (
    <Page heading={t.webhooks.title} actions={add}>
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
      {isAdding && <WebhookDialog onSaved={({ id }) => navigate(`/webhooks/${id}`)} onClose={() => setAdding(false)} />}
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
  { head: t.webhooks.accepted, cell: ({ stats }) => <SuccessRate stats={stats} /> },
  { head: t.webhooks.lastAnswer, cell: ({ stats }) => <LastAnswer stats={stats} /> },
]
