import { useState } from 'preact/hooks'
import { useApi } from '../api/cache.ts'
import { call } from '../api/client.ts'
import type { List, QueueDestination } from '../api/types.ts'
import { Answer, Empty } from '../parts/answer.tsx'
import { ActionButton } from '../parts/controls.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { number } from '../format.ts'
import { Page } from '../parts/page.tsx'
import { Rows, type Column } from '../parts/rows.tsx'
import { Age } from '../parts/time.tsx'
import { isOperator } from '../rights.ts'
import { t } from '../texts/texts.ts'

export default function Queue() {
  const queue = useApi<List<QueueDestination>>(isOperator() ? '/api/queue?limit=100' : null, { everyMs: 5_000 })
  const [asked, setAsked] = useState<QueueDestination | null>(null)
  if (!isOperator()) return <Page title={t.queue.title} heading={t.common.notAllowed(t.common.operators)} />
  const change = (verb: string, { destination }: QueueDestination): Promise<unknown> =>
    call(`/api/queue/${encodeURIComponent(destination)}/${verb}`, { method: 'POST' }).then(queue.reload)
  const waiting = queue.data?.data.reduce((sum, destination) => sum + destination.waiting, 0)
  const heading = waiting === undefined ? t.queue.title : t.queue.heading(waiting)
  return (
    <Page title={t.queue.title} heading={heading}>
      <section class="panel" aria-label={t.queue.title}>
        <Answer of={queue}>
          {({ data }) =>
            data.length === 0 ? (
              <Empty text={t.queue.none} />
            ) : (
              <Rows
                rows={data.toSorted((one, other) => other.waiting - one.waiting)}
                columns={columnsWith(change, setAsked)}
                keyOf={({ destination }) => destination}
              />
            )
          }
        </Answer>
      </section>
      {asked && (
        <Dialog
          heading={t.queue.bounce}
          button={t.queue.bounce}
          run={() => change('bounce', asked)}
          onClose={() => setAsked(null)}
          typed={asked.destination}
        >
          <p>{t.queue.bounceText(asked.waiting)}</p>
        </Dialog>
      )}
    </Page>
  )
}

const columnsWith = (
  change: (verb: string, destination: QueueDestination) => Promise<unknown>,
  onBounce: (destination: QueueDestination) => void,
): Column<QueueDestination>[] => [
  { head: t.queue.destination, kind: 'title', cell: ({ destination }) => <b>{destination}</b> },
  { head: t.queue.waiting, kind: 'number', cell: ({ waiting }) => number(waiting) },
  { head: t.queue.held, kind: 'number', cell: ({ held }) => (held === 0 ? '—' : number(held)) },
  { head: t.queue.oldest, kind: 'quiet', cell: ({ oldest_at: at }) => <Age of={at} /> },
  { head: t.queue.answer, kind: 'title', cell: ({ last_response: answer }) => <code class="muted">{answer ?? t.queue.notTried}</code> },
  {
    head: '',
    kind: 'number',
    cell: (destination) => (
      <div class="acts">
        <ActionButton small text={t.queue.retry} run={() => change('retry', destination)} />
        {destination.held > 0 ? (
          <ActionButton small text={t.queue.release} run={() => change('release', destination)} />
        ) : (
          <ActionButton small text={t.queue.hold} run={() => change('hold', destination)} />
        )}
        <button class="btn small" type="button" onClick={() => onBounce(destination)}>
          {t.queue.bounce}
        </button>
      </div>
    ),
  },
]
