import { useEffect, useRef, useState } from 'preact/hooks'
import { emailStatuses } from '../../../mail/message/email-status.ts'
import { fullPage, useApi, useRows } from '../api/cache.ts'
import { liveState, onEmailChange } from '../api/live.ts'
import type { Domain, EmailItem, List } from '../api/types.ts'
import { askedBy } from '../days.ts'
import { fullTime } from '../format.ts'
import { Answer, Empty, NoMatch } from '../parts/answer.tsx'
import { Button, ButtonLink } from '../parts/button.tsx'
import { Tabs } from '../parts/controls.tsx'
import { EmailTable } from '../parts/email-rows.tsx'
import { EmailsCsv } from '../parts/emails-csv.tsx'
import { optionsOf } from '../parts/fields.tsx'
import { Filters, isFilteredBy, type Filter } from '../parts/filters.tsx'
import { Live, Page } from '../parts/page.tsx'
import { mayChange } from '../rights.ts'
import { setQuery, type PageProps } from '../router.tsx'
import { t } from '../texts/texts.ts'

const maxCounted = 1_000
/** What stands behind a tab: a status of the API, or none. */
const tabs: Record<string, string | null> = {
  all: null,
  waiting: 'queued,processing',
  failed: 'bounced,failed,partially_delivered',
  scheduled: 'scheduled',
}

export default function Emails({ query }: PageProps) {
  const filters = useFilters(query)
  const names = filters.map(({ name }) => name)
  const asked = askedBy(query, names, fullPage)
  const isFirstPage = !query.has('after')
  const list = useApi<List<EmailItem>>(`/api/emails?${asked}`, {
    follow: 'search',
    everyMs: isFirstPage && liveState.value === 'polling' ? 15_000 : null,
  })
  const arrived = useArrivals(isFirstPage, list.data?.data[0]?.id ?? '', list.reload)
  const isFiltered = isFilteredBy(filters, query)
  const noEmail = (isSought: boolean) => (isSought ? <NoMatch text={t.emails.noMatch} filters={names} /> : <NoEmail />)
  const currentTab = Object.entries(tabs).find(([, status]) => status === query.get('status'))?.[0] ?? ''
  return (
    <Page heading={t.nav.emails} sub={<Live />}>
      <section class="panel" aria-label={t.nav.emails}>
        <Tabs
          name={t.common.status}
          options={Object.keys(tabs).map((tab) => [tab, t.emails.tabs[tab] ?? tab])}
          current={currentTab}
          onChoice={(tab) => setQuery({ status: tabs[tab] ?? null, after: null })}
        />
        <details class="filtering" open={isFiltered || matchMedia('(min-width: 48.01rem)').matches}>
          <summary>{t.emails.filter}</summary>
          <Filters filters={filters} query={query}>
            <p class="muted">{t.emails.parts}</p>
          </Filters>
        </details>
        {arrived.count > 0 && (
          <button class="new-rows" type="button" onClick={arrived.show}>
            {t.emails.arrived(arrived.count)}
          </button>
        )}
        <Answer of={list} rows={10} unfit={noEmail(true)}>
          {({ data, has_more: hasMore, stopped_at: stoppedAt }) => (
            <>
              {data.length > 0 && <EmailTable emails={data} id="emails" />}
              {data.length === 0 && !stoppedAt && noEmail(isFiltered || !isFirstPage)}
              {stoppedAt && (
                <p class="body muted" role="status">
                  {t.emails.lookedBackTo(fullTime(stoppedAt.created_at))}
                </p>
              )}
              <div class="paging">
                {!isFirstPage && <Button look="small" text={t.common.newest} onClick={() => setQuery({ after: null })} />}
                {hasMore && (
                  <Button
                    look="small"
                    text={stoppedAt ? t.emails.lookFurther : t.common.older}
                    onClick={() => setQuery({ after: stoppedAt?.id ?? data.at(-1)?.id ?? null })}
                  />
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
      if (later.length > 0) setArrived((known) => new Set([...known, ...later].slice(-maxCounted)))
    })
  }, [isFollowed])
  const show = (): void => {
    setArrived(new Set())
    scrollTo(0, 0)
    void reload()
  }
  return { count: arrived.size, show }
}

const NoEmail = () => <Empty text={t.emails.none}>{mayChange() && <ButtonLink text={t.keys.make} href="/keys" />}</Empty>

function useFilters(query: URLSearchParams): Filter[] {
  const domains = useRows<Domain>('/api/domains')
  const asked = query.get('status') ?? ''
  const wordOf = (status: string): string => t.status[status] ?? status
  // A tab may stand for several.
  const chosen: [string, string][] = [
    ['', t.common.anyStatus],
    ...(asked.includes(',') ? [[asked, asked.split(',').map(wordOf).join(', ')] satisfies [string, string]] : []),
    ...emailStatuses.map((status): [string, string] => [status, wordOf(status)]),
  ]
  const names: [string, string][] = [['', t.emails.anyDomain], ...optionsOf(domains)]
  return [
    { name: 'to', label: t.common.recipient },
    { name: 'from', label: t.common.from },
    { name: 'subject', label: t.common.subject },
    ...(query.has('message_id') ? [{ name: 'message_id', label: t.email.messageId }] : []),
    { name: 'tag', label: t.emails.tag },
    { name: 'status', label: t.common.status, kind: chosen },
    { name: 'domain_id', label: t.common.domain, kind: names },
    { name: 'since', label: t.emails.since, kind: 'day' },
    { name: 'until', label: t.common.until, kind: 'day' },
  ]
}
