import { useApi } from '../api/cache.ts'
import type { List, QueueDestination, QueueTotals } from '../api/types.ts'
import { number } from '../format.ts'
import { Explain } from '../parts/explain.tsx'
import { ListPage } from '../parts/list-page.tsx'
import { QueueActions } from '../parts/queue-actions.tsx'
import { type Column, linked } from '../parts/rows.tsx'
import { Age, Ago } from '../parts/time.tsx'
import type { PageProps } from '../router.tsx'
import { t } from '../texts/texts.ts'

const maxShown = 100

export default function Queue({ query }: PageProps) {
  const live = { everyMs: 5_000 }
  const queue = useApi<List<QueueDestination>>(`/api/queue?order=waiting&limit=${maxShown}`, live)
  const totals = useApi<QueueTotals>('/api/queue/totals', live)
  const reload = (): Promise<unknown> => Promise.all([queue.reload(), totals.reload()])
  return (
    <ListPage
      title={t.nav.queue}
      heading={totals.data ? t.queue.heading(totals.data.waiting) : t.nav.queue}
      sub={totals.data && totals.data.waiting > 0 && <Summary totals={totals.data} />}
      name={t.nav.queue}
      list={queue}
      columns={columnsWith(reload)}
      keyOf={({ destination }) => destination}
      none={t.queue.none}
      bottom={queue.data?.has_more && <footer>{t.queue.longest(maxShown)}</footer>}
    >
      <Explain address={query.get('explain') ?? ''} />
    </ListPage>
  )
}

const Summary = ({ totals: { due, held, oldest_at: oldest } }: { totals: QueueTotals }) => (
  <span>
    {t.queue.summary(due, held)} {oldest !== null && t.queue.oldestSince} {oldest !== null && <Ago of={oldest} />}
  </span>
)

const columnsWith = (onDone: () => Promise<unknown>): Column<QueueDestination>[] => [
  linked(t.queue.destination, ({ destination }) => [`/queue/${destination}`, destination]),
  { head: t.queue.waiting, kind: 'number', cell: ({ waiting }) => number(waiting) },
  { head: t.queue.due, kind: 'number', cell: ({ due }) => (due === 0 ? '—' : number(due)) },
  { head: t.queue.held, kind: 'number', cell: ({ held }) => (held === 0 ? '—' : number(held)) },
  { head: t.queue.oldest, kind: 'quiet', cell: ({ oldest_at: at }) => <Age of={at} /> },
  { head: t.queue.answer, kind: 'title', cell: ({ last_response: answer }) => <code class="muted">{answer ?? t.queue.notTried}</code> },
  { head: '', kind: 'number', cell: (queue) => <QueueActions look="small" queue={queue} onDone={onDone} /> },
]
