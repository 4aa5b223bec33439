import { useState } from 'preact/hooks'
import { useApi, useRows } from '../api/cache.ts'
import type { Domain, Latency, Metrics, MetricsRow as Row } from '../api/types.ts'
import { number, percent } from '../format.ts'
import { Complaints, Engagement, Latencies } from '../parts/analytics-charts.tsx'
import { Answer, Empty, Fault, NoMatch } from '../parts/answer.tsx'
import { Breakdown, type Figure } from '../parts/breakdown.tsx'
import { Button } from '../parts/button.tsx'
import { periods, rangeOf, type Granularity, type Steps } from '../parts/chart-period.ts'
import { Segments } from '../parts/controls.tsx'
import { optionsOf } from '../parts/fields.tsx'
import { Filters, type Filter } from '../parts/filters.tsx'
import { ByProvider, Causes } from '../parts/mail-breakdowns.tsx'
import { Page } from '../parts/page.tsx'
import { VolumeChart } from '../parts/volume-chart.tsx'
import { Link, setQuery, type PageProps } from '../router.tsx'
import { t } from '../texts/texts.ts'

const usualPeriod = '30d'
const counts =
  'sent,delivered,bounced,failed,complained,delivery_rate,bounce_rate,complaint_rate,' +
  'unique_opened,unique_clicked,bot_opened,bot_clicked,open_rate,click_rate'

/** What the address asks for; a fault where it asks for what there is not. */
interface Asked {
  period: string
  granularity: Granularity
  domainId: string
  tag: string
  fault: string | null
}

function askedFor(query: URLSearchParams): Asked {
  const period = query.get('period') ?? usualPeriod
  const found = periods[period]
  const granularity = query.get('granularity') ?? found?.granularities[0] ?? ''
  const fault = !found
    ? t.analytics.noSuchPeriod(period)
    : found.granularities.every((each) => each !== granularity)
      ? t.analytics.noSuchGranularity(granularity)
      : null
  return { period, granularity: granularity as Granularity, domainId: query.get('domain') ?? '', tag: query.get('tag') ?? '', fault }
}

export default function Analytics({ query }: PageProps) {
  const asked = askedFor(query)
  const [openedAt] = useState(Date.now)
  const { fault, period, granularity, domainId, tag } = asked
  const range = fault === null ? `${rangeOf(period, openedAt)}${domainId === '' ? '' : `&domain_id=${encodeURIComponent(domainId)}`}` : null
  const byPeriod = `granularity=${granularity}&dimensions=period`
  const ofTag = tag === '' ? '' : `&tag=${encodeURIComponent(tag)}`
  const volume = useApi<Metrics>(range && `/api/analytics?${range}&${byPeriod}&metrics=${counts}&compare=previous${ofTag}`)
  const steps: Steps = { granularity, isLong: period !== '24h' }
  const filters = useFilters(period)
  return (
    <Page title={t.nav.analytics} heading={headingFor(volume.data)} sub={volume.data && <span>{comparison(volume.data)}</span>}>
      <section class="panel" aria-label={t.analytics.filters}>
        <Filters filters={filters} query={query}>
          {fault !== null && <Fault text={fault} />}
        </Filters>
      </section>
      {range !== null && (
        <Answer of={volume} rows={8}>
          {(metrics) =>
            metrics.totals.sent === 0 && metrics.totals.delivered === 0 ? (
              <Nothing isFiltered={domainId !== '' || tag !== ''} />
            ) : (
              <>
                <VolumeChart rows={metrics.data ?? []} steps={steps} />
                {tag === '' ? (
                  <Breakdowns range={range} byPeriod={byPeriod} steps={steps} domainId={domainId} />
                ) : (
                  <p class="muted">{t.analytics.notByTag}</p>
                )}
                <Engagement metrics={metrics} steps={steps} domainId={domainId} />
                <Complaints metrics={metrics} steps={steps} />
                {tag === '' && <Others range={range} />}
              </>
            )
          }
        </Answer>
      )}
    </Page>
  )
}

const headingFor = (metrics: Metrics | undefined): string => {
  if (!metrics) return t.nav.analytics
  const { sent = 0, delivery_rate: rate = 0 } = metrics.totals
  return sent === 0 ? t.verdicts.nothingInPeriod : t.analytics.arrived(percent(Math.min(1, rate)))
}

const comparison = ({ totals, previous }: Metrics): string =>
  t.analytics.comparison(totals.sent ?? 0, previous ? number(previous.totals.sent ?? 0) : null)

const Nothing = ({ isFiltered }: { isFiltered: boolean }) => (
  <section class="panel" aria-label={t.nav.analytics}>
    {isFiltered ? (
      <NoMatch text={t.analytics.noMatch} filters={['domain', 'tag']} />
    ) : (
      <Empty text={t.analytics.none}>
        <Button text={t.analytics.lookFurther} onClick={() => setQuery({ period: '365d', granularity: null })} />
      </Empty>
    )}
  </section>
)

function useFilters(period: string): Filter[] {
  const domains = useRows<Domain>('/api/domains')
  const granularities = periods[period]?.granularities ?? []
  return [
    {
      name: 'period',
      label: t.overview.period,
      kind: Object.keys(periods).map((each) => [each, t.analytics.periods[each] ?? each]),
      usual: usualPeriod,
      resets: 'granularity',
    },
    {
      name: 'granularity',
      label: t.analytics.granularity,
      kind: granularities.map((each) => [each, t.analytics.per[each] ?? each]),
      usual: granularities[0],
    },
    { name: 'domain', label: t.common.domain, kind: [['', t.emails.anyDomain], ...optionsOf(domains)] },
    { name: 'tag', label: t.emails.tag, hint: t.analytics.tagHint },
  ]
}

/** What is not counted for each tag: providers, causes and times. */
function Breakdowns({ range, byPeriod, steps, domainId }: { range: string; byPeriod: string; steps: Steps; domainId: string }) {
  const providers = useApi<Latency>(`/api/analytics/latency?${range}`)
  return (
    <>
      <div class="cols">
        <ByProvider range={range} latency={providers.data} />
        <Causes range={range} domainId={domainId} />
      </div>
      <Latencies path={`/api/analytics/latency?${range}&${byPeriod}`} steps={steps} />
    </>
  )
}

type Grouping = 'domain' | 'tag' | 'template'

const figures = (): Figure<Row>[] => [
  { metric: 'sent', head: t.status.sent, value: (row) => row.sent ?? 0 },
  { metric: 'delivered', head: t.status.delivered, value: (row) => row.delivered ?? 0 },
  { metric: 'delivery_rate', head: t.analytics.rate, value: (row) => (row.sent ? (row.delivery_rate ?? 0) : null), inWords: percent },
  { metric: 'bounced', head: t.status.bounced, value: (row) => row.bounced ?? 0 },
  { metric: 'complained', head: t.overview.complained, value: (row) => row.complained ?? 0 },
]

/** The same mail by domain, tag or template. */
function Others({ range }: { range: string }) {
  const [by, setBy] = useState<Grouping>('domain')
  const metrics = useApi<Metrics>(`/api/analytics?${range}&dimensions=${by}&metrics=sent,delivered,delivery_rate,bounced,complained`)
  const words: Record<Grouping, string> = { domain: t.common.domain, tag: t.emails.tag, template: t.email.template }
  return (
    <Answer of={metrics}>
      {({ data = [] }) => (
        <Breakdown
          heading={t.analytics.by}
          file={by}
          nameHead={words[by]}
          keyOf={(row) => row.domain_id ?? row.tag ?? row.template_id ?? ''}
          nameOf={(row) => <Name row={row} by={by} />}
          figures={figures()}
          rows={data.toSorted((one, other) => (other.sent ?? 0) - (one.sent ?? 0))}
          none={t.analytics.noneBy[by] ?? ''}
          aside={
            <Segments name={t.analytics.by} options={Object.entries(words)} current={by} onChoice={(chosen) => setBy(chosen as Grouping)} />
          }
        />
      )}
    </Answer>
  )
}

function Name({ row, by }: { row: Row; by: Grouping }) {
  const { domain_id: domainId, domain_name: domainName, tag = '', template_id: templateId = '', template_name: templateName } = row
  if (by === 'template') return <>{templateName ?? templateId}</>
  const word = by === 'tag' ? tag : (domainName ?? domainId ?? t.analytics.noDomain)
  const query = by === 'tag' ? `tag=${encodeURIComponent(tag)}` : `domain=${domainId ?? ''}`
  const isFilter = by === 'tag' ? tag !== '(other)' : Boolean(domainId)
  if (!isFilter) return <>{word}</>
  return (
    <Link class="row" href={`/analytics?${query}`}>
      {word}
    </Link>
  )
}
