import { useState } from 'preact/hooks'
import { useApi } from '../api/cache.ts'
import { session } from '../api/client.ts'
import type { QueueDetail, QueuedRecipient } from '../api/types.ts'
import { dayAndTime, number } from '../format.ts'
import { Answer, Empty } from '../parts/answer.tsx'
import { ButtonLink } from '../parts/button.tsx'
import { Explain } from '../parts/explain.tsx'
import { Note, Page, Panel, Facts, Fact } from '../parts/page.tsx'
import { QueueActions } from '../parts/queue-actions.tsx'
import { Rows, type Column } from '../parts/rows.tsx'
import { State } from '../parts/state.tsx'
import { Age } from '../parts/time.tsx'
import { Link, type PageProps } from '../router.tsx'
import { t } from '../texts/texts.ts'

export default function QueueDestination({ params, query }: PageProps) {
  const domain = params['domain'] ?? ''
  const queue = useApi<QueueDetail>(`/api/queue/${encodeURIComponent(domain)}`, { everyMs: 5_000 })
  const [changed, setChanged] = useState<number | null>(null)
  // What it showed last is of no use once nothing waits any more.
  const isEmpty = queue.error?.status === 404
  const data = isEmpty ? undefined : queue.data
  const onDone = async (recipients: number): Promise<void> => {
    await queue.reload()
    setChanged(recipients)
  }
  return (
    <Page
      title={domain}
      heading={isEmpty ? t.queue.nothingFor(domain) : data ? t.queue.waitFor(data.waiting, domain) : domain}
      crumb={{ href: '/queue', text: t.nav.queue }}
      actions={data && <QueueActions queue={data} onDone={onDone} />}
    >
      {changed !== null && (
        <Note tone="ok">
          <p role="status">{t.queue.changed(changed)}</p>
        </Note>
      )}
      {isEmpty ? (
        <section class="panel" aria-label={domain}>
          <Empty text={t.queue.none}>
            <ButtonLink text={t.queue.all} href="/queue" />
          </Empty>
        </section>
      ) : (
        <Answer of={queue}>{(detail) => <Detail queue={detail} />}</Answer>
      )}
      <Explain address={query.get('explain') ?? ''} />
    </Page>
  )
}

const Detail = ({ queue }: { queue: QueueDetail }) => (
  <>
    <Panel heading={t.email.facts}>
      <div class="body">
        <Facts>
          <Fact name={t.queue.due}>{number(queue.due)}</Fact>
          <Fact name={t.queue.inHand}>{number(queue.in_hand)}</Fact>
          <Fact name={t.queue.held}>{number(queue.held)}</Fact>
          <Fact name={t.queue.oldest}>
            <Age of={queue.oldest_at} />
          </Fact>
          <Fact name={t.common.nextAttempt}>{queue.next_attempt_at === null ? '—' : dayAndTime(queue.next_attempt_at)}</Fact>
          <Fact name={t.queue.answer}>
            <code>{queue.last_response ?? t.queue.notTried}</code>
          </Fact>
        </Facts>
      </div>
    </Panel>
    <Panel
      heading={t.common.recipients}
      text={queue.waiting > queue.recipients.length ? t.queue.first(queue.recipients.length) : undefined}
    >
      <Rows rows={queue.recipients} columns={columns()} />
    </Panel>
  </>
)

const columns = (): Column<QueuedRecipient>[] => [
  {
    head: t.common.recipients,
    kind: 'title',
    // Of other accounts, operators see that mail waits, not what it says.
    cell: ({ to, email_id: id, account_id: account }) =>
      account === session.value?.user.account_id ? <Link href={`/emails/${id}`}>{to}</Link> : to,
  },
  { head: t.common.status, cell: ({ status, held }) => <State of={held ? 'held' : status} /> },
  { head: t.webhooks.attempts, kind: 'number', cell: ({ attempts }) => (attempts === 0 ? '—' : number(attempts)) },
  { head: t.common.nextAttempt, kind: 'quiet', cell: ({ next_attempt_at: at, held }) => (at === null || held ? '—' : dayAndTime(at)) },
  { head: t.queue.until, kind: 'quiet', cell: ({ expires_at: at }) => dayAndTime(at) },
  { head: t.queue.answer, kind: 'title', cell: ({ last_response: answer }) => <code class="muted">{answer ?? t.queue.notTried}</code> },
]
