import { useAll, useApi } from '../api/cache.ts'
import type { DmarcSummary, Domain, Feedback, List } from '../api/types.ts'
import { number, percent } from '../format.ts'
import { Answer, Empty } from '../parts/answer.tsx'
import { FeedbackReading } from '../parts/feedback-reading.tsx'
import { Choice } from '../parts/fields.tsx'
import { Page, Panel, Scroll } from '../parts/page.tsx'
import { Paging } from '../parts/paging.tsx'
import { Rows, type Column } from '../parts/rows.tsx'
import { ShownFirst } from '../parts/shown-first.tsx'
import { Age } from '../parts/time.tsx'
import { Link, setQuery, type PageProps } from '../router.tsx'
import { t } from '../texts/texts.ts'

export default function Reports({ query }: PageProps) {
  const domains = useAll<Domain>('/api/domains')
  return (
    <Page heading={t.reports.title}>
      <Panel heading={t.reports.domains} text={t.reports.domainsText}>
        <Answer of={domains}>
          {({ data }) =>
            data.length === 0 ? (
              <Empty text={t.domains.none}>
                <Link class="btn" href="/domains">
                  {t.domains.add}
                </Link>
              </Empty>
            ) : (
              <ShownFirst rows={data} most={mostShown}>
                {(shown) => <DomainTable domains={shown} />}
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
const mostShown = 50

const DomainTable = ({ domains }: { domains: readonly Domain[] }) => (
  <Scroll name={t.reports.domains}>
    <table class="tight">
      <thead>
        <tr>
          <th scope="col">{t.emails.domain}</th>
          <th scope="col">{t.reports.policy}</th>
          <th scope="col" class="num">
            {t.reports.messages}
          </th>
          <th scope="col" class="num">
            {t.reports.passed}
          </th>
          <th scope="col">{t.reports.next}</th>
        </tr>
      </thead>
      <tbody>
        {domains.map((domain) => (
          <DomainRow key={domain.id} domain={domain} />
        ))}
      </tbody>
    </table>
  </Scroll>
)

function DomainRow({ domain: { name } }: { domain: Domain }) {
  const { data } = useApi<DmarcSummary>(`/api/domains/${name}/dmarc`)
  return (
    <tr>
      <th scope="row">
        <Link class="row" href={`/reports/${name}`}>
          {name}
        </Link>
      </th>
      <td>{data && (t.reports.policies[data.policy ?? 'missing'] ?? data.policy)}</td>
      <td class="num">{data && (data.messages === 0 ? '—' : number(data.messages))}</td>
      <td class="num">{data && (data.messages === 0 ? '—' : percent(data.pass_rate))}</td>
      <td class="muted">{data && (t.reports.steps[data.advice.step] ?? data.advice.step)}</td>
    </tr>
  )
}

/** Returned mail: what it came for, and what followed. */
function FeedbackList({ query }: { query: URLSearchParams }) {
  const [purpose, after] = [query.get('purpose') ?? '', query.get('after')]
  const asked = new URLSearchParams({ limit: '50', ...(purpose === '' ? {} : { purpose }), ...(after === null ? {} : { after }) })
  const list = useApi<List<Feedback>>(`/api/feedback?${asked}`)
  return (
    <Panel heading={t.reports.feedback} text={t.reports.feedbackText}>
      <div class="filters">
        <Choice
          label={t.reports.purpose}
          value={purpose}
          options={[['', t.reports.anyPurpose], ...Object.entries(t.reports.purposes)]}
          onValue={(chosen) => setQuery({ purpose: chosen, after: null })}
        />
      </div>
      <Answer of={list}>
        {({ data, has_more: hasMore }) => (
          <>
            {data.length === 0 ? (
              <Empty text={purpose === '' ? t.reports.noFeedback : t.reports.noSuchFeedback} />
            ) : (
              <Rows rows={data} columns={columns()} keyOf={({ id }) => id} />
            )}
            <Paging isFirst={after === null} last={hasMore ? (data.at(-1)?.id ?? null) : null} />
          </>
        )}
      </Answer>
    </Panel>
  )
}

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
  { head: t.reports.from, kind: 'quiet', cell: ({ ehlo_name: name, remote_address: address }) => <code title={address}>{name}</code> },
  { head: t.emails.ago, kind: 'number', cell: ({ received_at: at }) => <Age of={at} /> },
]
