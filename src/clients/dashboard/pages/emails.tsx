import { useEffect, useRef, useState } from 'preact/hooks'
import { fullPage, useAll, useApi } from '../api/cache.ts'
import { liveState, onEmailChange } from '../api/live.ts'
import type { Domain, EmailItem, List } from '../api/types.ts'
import { askedBy, isDay } from '../days.ts'
import { fullTime } from '../format.ts'
import { Answer, Empty, NoMatch } from '../parts/answer.tsx'
import { Tabs } from '../parts/controls.tsx'
import { EmailTable } from '../parts/email-rows.tsx'
import { EmailsCsv } from '../parts/emails-csv.tsx'
import { Choice, Field, type FieldType } from '../parts/fields.tsx'
import { FilterForm } from '../parts/form.tsx'
import { Live, Page } from '../parts/page.tsx'
import { mayChange } from '../rights.ts'
import { Link, setQuery, type PageProps } from '../router.tsx'
import { t } from '../texts/texts.ts'

const mostCounted = 1_000
/** What stands behind a tab: a status of the API, or none. */
const tabs: Record<string, string | null> = {
  all: null,
  waiting: 'queued,processing',
  failed: 'bounced,failed,partially_delivered',
  scheduled: 'scheduled',
}
const filters = ['status', 'to', 'from', 'subject', 'message_id', 'domain_id', 'tag', 'since', 'until'] as const
const statuses: EmailItem['status'][] = [
  'queued',
  'processing',
  'delivered',
  'partially_delivered',
  'bounced',
  'complained',
  'suppressed',
  'failed',
  'canceled',
  'scheduled',
]

export default function Emails({ query }: PageProps) {
  const asked = askedBy(query, filters, fullPage)
  const isFirstPage = !query.has('after')
  const list = useApi<List<EmailItem>>(`/api/emails?${asked}`, {
    follow: 'search',
    everyMs: isFirstPage && liveState.value === 'polling' ? 15_000 : null,
  })
  const arrived = useArrivals(isFirstPage, list.data?.data[0]?.id ?? '', list.reload)
  const isFiltered = filters.some((name) => query.has(name))
  const currentTab = Object.entries(tabs).find(([, status]) => status === query.get('status'))?.[0] ?? ''
  return (
    <Page heading={t.emails.title} sub={<Live />}>
      <section class="panel" aria-label={t.emails.title}>
        <Tabs
          name={t.common.status}
          tabs={Object.keys(tabs).map((tab) => [tab, t.emails.tabs[tab] ?? tab])}
          current={currentTab}
          onTab={(tab) => setQuery({ status: tabs[tab] ?? null, after: null })}
        />
        <Filters query={query} />
        {arrived.count > 0 && (
          <button class="new-rows" type="button" onClick={arrived.show}>
            {t.emails.arrived(arrived.count)}
          </button>
        )}
        <Answer of={list} rows={10} unfit={<NoEmail isFiltered />}>
          {({ data, has_more: hasMore, stopped_at: stoppedAt }) => (
            <>
              {data.length > 0 && <EmailTable emails={data} id="emails" />}
              {data.length === 0 && !stoppedAt && <NoEmail isFiltered={isFiltered || !isFirstPage} />}
              {stoppedAt && (
                <p class="body muted" role="status">
                  {t.emails.lookedBackTo(fullTime(stoppedAt.created_at))}
                </p>
              )}
              <div class="paging">
                {!isFirstPage && (
                  <button class="btn small" type="button" onClick={() => setQuery({ after: null })}>
                    {t.common.newest}
                  </button>
                )}
                {hasMore && (
                  <button class="btn small" type="button" onClick={() => setQuery({ after: stoppedAt?.id ?? data.at(-1)?.id ?? null })}>
                    {stoppedAt ? t.emails.lookFurther : t.common.older}
                  </button>
                )}
                {data.length > 0 && <EmailsCsv key={String(asked)} asked={asked} />}
              </div>
            </>
          )}
        </Answer>
      </section>
    </Page>
  )
}

/**
 * Counts the emails that arrive while the list is scrolled, so that nothing moves under the pointer; an unscrolled list follows by
 * itself. Ids sort by time, so newer emails have higher ones than `newestId`.
 */
function useArrivals(isFollowed: boolean, newestId: string, reload: () => Promise<void>) {
  const [arrived, setArrived] = useState<ReadonlySet<string>>(new Set())
  const newest = useRef(newestId)
  newest.current = newestId
  useEffect(() => {
    if (!isFollowed) return
    return onEmailChange(({ email_ids: ids }) => {
      if (scrollY <= 200) return void reload()
      const later = ids.filter((id) => id > newest.current)
      if (later.length > 0) setArrived((known) => new Set([...known, ...later].slice(-mostCounted)))
    })
  }, [isFollowed])
  const show = (): void => {
    setArrived(new Set())
    scrollTo(0, 0)
    void reload()
  }
  return { count: arrived.size, show }
}

const NoEmail = ({ isFiltered }: { isFiltered: boolean }) =>
  isFiltered ? (
    <NoMatch text={t.emails.noMatch} filters={filters} />
  ) : (
    <Empty text={t.emails.none}>
      {mayChange() && (
        <Link class="btn" href="/keys">
          {t.overview.makeKey}
        </Link>
      )}
    </Empty>
  )

function Filters({ query }: { query: URLSearchParams }) {
  const domains = useAll<Domain>('/api/domains')
  const [typed, setTyped] = useState<Record<string, string>>({})
  const valueOf = (name: string): string => typed[name] ?? query.get(name) ?? ''
  const apply = (): void => {
    setQuery({ ...trimmed(typed), after: null })
    setTyped({})
  }
  const text = (name: string, label: string, type: FieldType = 'text') => (
    <Field
      label={label}
      type={type}
      maxLength={500}
      value={valueOf(name)}
      onValue={(value) => setTyped({ ...typed, [name]: value })}
      onChange={apply}
    />
  )
  return (
    <details class="filtering" open={matchMedia('(min-width: 48.01rem)').matches || filters.some((name) => query.has(name))}>
      <summary>{t.emails.filter}</summary>
      <FilterForm onApply={apply}>
        {text('to', t.emails.recipient)}
        {text('from', t.emails.from)}
        {text('subject', t.emails.subject)}
        {query.has('message_id') && text('message_id', t.email.messageId)}
        {text('tag', t.emails.tag)}
        <Choice
          label={t.common.status}
          value={query.get('status') ?? ''}
          options={[
            ...severalStatuses(query.get('status') ?? ''),
            ...statuses.map((status): [string, string] => [status, t.status[status] ?? status]),
          ]}
          onValue={(status) => setQuery({ status, after: null })}
        />
        <Choice
          label={t.emails.domain}
          value={query.get('domain_id') ?? ''}
          options={[['', t.emails.anyDomain], ...(domains.data?.data ?? []).map(({ id, name }): [string, string] => [id, name])]}
          onValue={(id) => setQuery({ domain_id: id, after: null })}
        />
        {text('since', t.emails.since, isDay(query.get('since')) ? 'date' : 'text')}
        {text('until', t.emails.until, isDay(query.get('until')) ? 'date' : 'text')}
        <p class="muted">{t.emails.parts}</p>
      </FilterForm>
    </details>
  )
}

/** Without the blanks that come along when something is pasted. */
const trimmed = (typed: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(typed).map(([name, value]) => [name, value.trim()]))

/** Any status, or the several ones that a tab stands for. */
const severalStatuses = (asked: string): [string, string][] => [
  ['', t.emails.anyStatus],
  ...(asked.includes(',')
    ? ([
        [
          asked,
          asked
            .split(',')
            .map((status) => t.status[status] ?? status)
            .join(', '),
        ],
      ] as [string, string][])
    : []),
]
