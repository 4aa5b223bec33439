import type { ComponentChildren } from 'preact'
import { useAll, useApi } from '../api/cache.ts'
import type { DmarcSummary, Domain, Feedback } from '../api/types.ts'
import { number, percent } from '../format.ts'
import { Answer, Empty } from '../parts/answer.tsx'
import { ButtonLink } from '../parts/button.tsx'
import { FeedbackReading } from '../parts/feedback-reading.tsx'
import type { Filter } from '../parts/filters.tsx'
import { ListRows, useList } from '../parts/list-page.tsx'
import { Page, Panel } from '../parts/page.tsx'
import { Figures, type Column, linked } from '../parts/rows.tsx'
import { ShownFirst } from '../parts/shown-first.tsx'
import { Age } from '../parts/time.tsx'
import { Link, type PageProps } from '../router.tsx'
import { t } from '../texts/texts.ts'

export default function Reports({ query }: PageProps) {
  const domains = useAll<Domain>('/api/domains')
  return (
    <Page heading={t.nav.reports}>
      <Panel heading={t.nav.domains} text={t.reports.domainsText}>
        <Answer of={domains}>
          {({ data }) =>
            data.length === 0 ? (
              <Empty text={t.domains.none}>
                <ButtonLink text={t.domains.add} href="/domains" />
              </Empty>
            ) : (
              <ShownFirst rows={data} most={maxShown}>
                {(shown) => <Figures name={t.nav.domains} rows={shown} columns={domainColumns()} />}
              </ShownFirst>
            )
          }
        </Answer>
      </Panel>
      <FeedbackList query={query} />
    </Page>
  )
}

/** Each asks for its own summary. */
const maxShown = 50

const domainColumns = (): Column<Domain>[] => [
  linked(t.common.domain, ({ name }) => [`/reports/${name}`, name]),
  summarized(t.reports.policy, ({ policy }) => t.reports.policies[policy ?? 'missing'] ?? policy),
  summarized(t.reports.messages, ({ messages }) => (messages === 0 ? '—' : number(messages)), 'number'),
  summarized(t.reports.passed, ({ messages, pass_rate: rate }) => (messages === 0 ? '—' : percent(rate)), 'number'),
  summarized(t.reports.next, ({ advice: { step } }) => t.reports.steps[step] ?? step, 'quiet'),
]

/** A column of what was reported about each domain. */
const summarized = (head: string, inWords: (summary: DmarcSummary) => ComponentChildren, kind?: 'number' | 'quiet'): Column<Domain> => ({
  head,
  ...(kind && { kind }),
  cell: ({ name }) => <Summary of={name} inWords={inWords} />,
})

function Summary({ of: name, inWords }: { of: string; inWords(summary: DmarcSummary): ComponentChildren }) {
  const { data } = useApi<DmarcSummary>(`/api/domains/${name}/dmarc`)
  return <>{data && inWords(data)}</>
}

const filters = (): Filter[] => [
  { name: 'purpose', label: t.reports.purpose, kind: [['', t.common.any], ...Object.entries(t.reports.purposes)] },
]

/** Returned mail: what it came for, and what followed. */
const FeedbackList = ({ query }: { query: URLSearchParams }) => (
  <Panel heading={t.reports.feedback} text={t.reports.feedbackText}>
    <ListRows
      list={useList<Feedback>('/api/feedback', query, filters())}
      query={query}
      filters={filters()}
      columns={columns()}
      none={t.reports.noFeedback}
      noMatch={t.reports.noSuchFeedback}
    />
  </Panel>
)

const columns = (): Column<Feedback>[] => [
  {
    head: t.reports.about,
    kind: 'title',
    cell: (row) => (
      <>
        {row.email_id === null ? (
          <b>{t.reports.purposes[row.purpose] ?? row.purpose}</b>
        ) : (
          <Link href={`/emails/${row.email_id}`}>{row.to ?? row.email_id}</Link>
        )}
        <FeedbackReading id={row.id} />
      </>
    ),
  },
  { head: t.reports.purpose, cell: ({ purpose }) => t.reports.purposes[purpose] ?? purpose },
  { head: t.reports.result, cell: ({ result }) => (result === null ? t.reports.waits : (t.reports.results[result] ?? result)) },
  { head: t.common.from, kind: 'quiet', cell: ({ ehlo_name: name, remote_address: address }) => <code title={address}>{name}</code> },
  { head: t.emails.ago, kind: 'number', cell: ({ received_at: at }) => <Age of={at} /> },
]
