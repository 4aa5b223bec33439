import { useEffect, useState } from 'preact/hooks'
import { useApi } from '../api/cache.ts'
import { onEmailChange } from '../api/live.ts'
import type { EmailItem, Latency, List, Metrics } from '../api/types.ts'
import { duration, number, percent } from '../format.ts'
import { Answer, Empty } from '../parts/answer.tsx'
import { Attention } from '../parts/attention.tsx'
import { Segments } from '../parts/controls.tsx'
import { EmailTable } from '../parts/email-rows.tsx'
import { ByProvider, Causes } from '../parts/mail-breakdowns.tsx'
import { Live, Page, Panel } from '../parts/page.tsx'
import { VolumeChart } from '../parts/volume-chart.tsx'
import { Link, setQuery, type PageProps } from '../router.tsx'
import { t } from '../texts/texts.ts'

const hourMs = 3_600_000
const periods: Record<string, number> = { '24h': 24 * hourMs, '7d': 7 * 24 * hourMs, '30d': 30 * 24 * hourMs }

/** How often the figures are fetched again; the latest emails are live. */
const figuresMs = 15_000
const counts = 'sent,delivered,bounced,bounced_permanent,bounced_transient,complained,failed,delivery_rate,bounce_rate,complaint_rate'

export default function Overview({ query }: PageProps) {
  const period = Object.hasOwn(periods, query.get('period') ?? '') ? (query.get('period') as string) : '24h'
  const ranges = useRanges(period)
  const isDay = period === '24h'
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
  const granularity = isDay ? 'hourly' : 'daily'
  const volume = useApi<Metrics>(
    `/api/analytics?${ranges.current}&granularity=${granularity}&timezone=${encodeURIComponent(zone)}&dimensions=period&metrics=${counts}`,
    { everyMs: figuresMs },
  )
  const before = useApi<Metrics>(`/api/analytics?${ranges.before}&metrics=sent`)
  const latency = useApi<Latency>(`/api/analytics/latency?${ranges.current}`, { everyMs: figuresMs })
  const latest = useApi<List<EmailItem>>('/api/emails?limit=7', { everyMs: 60_000 })
  useEffect(() => onEmailChange(() => void latest.reload()), [])
  const totals = volume.data?.totals
  const latestRows = latest.data?.data
  return (
    <Page
      title={t.overview.title}
      heading={verdict(totals, latestRows)}
      sub={
        <>
          <Live />
          {totals && <span>{t.overview.summary(totals.sent ?? 0, t.overview.periods[period] ?? period)}</span>}
        </>
      }
      actions={
        <Segments
          name={t.overview.period}
          options={Object.keys(periods).map((each) => [each, t.overview.periods[each] ?? each])}
          current={period}
          onChoice={(chosen) => setQuery({ period: chosen === '24h' ? null : chosen })}
        />
      }
    >
      <Attention complaintRate={totals?.complaint_rate ?? 0} complaints={totals?.complained ?? 0} />
      <section class="panel" aria-label={t.overview.figures}>
        <Answer of={volume} rows={2}>
          {(metrics) => <Figures totals={metrics.totals} before={before.data?.totals.sent} latency={latency.data} period={period} />}
        </Answer>
      </section>
      {volume.data?.data && <VolumeChart rows={volume.data.data} steps={{ granularity, isLong: !isDay }} />}
      <div class="cols">
        <ByProvider range={ranges.current} latency={latency.data} plain />
        <Causes range={ranges.current} plain />
      </div>
      <Panel heading={t.overview.latest} aside={<Link href="/emails">{t.overview.allEmails}</Link>}>
        <Answer of={latest} rows={7}>
          {({ data }) => (data.length === 0 ? <NoEmail /> : <EmailTable emails={data} id="latest" />)}
        </Answer>
      </Panel>
    </Page>
  )
}

const NoEmail = () => (
  <Empty text={t.overview.noEmail}>
    <Link class="btn" href="/keys">
      {t.overview.makeKey}
    </Link>
  </Empty>
)

/** The period and the one before it, from when the page was opened. */
function useRanges(period: string): { current: string; before: string } {
  const [openedAt] = useState(Date.now)
  const length = periods[period] as number
  const range = (from: number, to: number | null): string => {
    const start = `start_date=${new Date(from).toISOString()}`
    return to === null ? start : `${start}&end_date=${new Date(to).toISOString()}`
  }
  return { current: range(openedAt - length, null), before: range(openedAt - 2 * length, openedAt - length) }
}

function verdict(totals: Metrics['totals'] | undefined, latest: EmailItem[] | undefined): string {
  if (!totals || !latest) return t.overview.title
  if (latest.length === 0) return t.overview.nothingSent
  const { sent = 0, delivered = 0 } = totals
  const waiting = latest.filter(({ status }) => status === 'processing' || status === 'queued').length
  if (sent === 0) return waiting > 0 ? t.overview.someWaits : t.overview.nothingInPeriod
  if (delivered === 0) return t.overview.nothingOut
  return waiting > latest.length / 2 ? t.overview.someWaits : t.overview.gettingOut
}

interface FiguresFrame {
  totals: Metrics['totals']
  before: number | undefined
  latency: Latency | undefined
  period: string
}

function Figures({ totals, before, latency, period }: FiguresFrame) {
  const count = (name: keyof Metrics['totals']): number => totals[name] ?? 0
  const share = (name: keyof Metrics['totals']): string => (count('sent') === 0 ? '—' : percent(count(name)))
  const { p50_ms: median = null, p95_ms: slow = null } = latency?.totals ?? {}
  const figures: [string, string, string][] = [
    [
      t.overview.sent,
      number(count('sent')),
      before === undefined ? '' : t.overview.sentBefore(number(before), t.overview.before[period] ?? ''),
    ],
    [t.overview.delivered, share('delivery_rate'), t.overview.recipients(count('delivered'))],
    [t.overview.bounced, share('bounce_rate'), t.overview.bounces(count('bounced_permanent'), count('bounced_transient'))],
    [t.overview.complained, share('complaint_rate'), t.overview.complaints(count('complained'))],
    [
      t.overview.latency,
      median === null ? '—' : duration(median),
      slow === null ? t.overview.noDelivery : t.overview.within(duration(slow)),
    ],
  ]
  return (
    <dl class="figs">
      {figures.map(([name, value, detail]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd class="v">{value}</dd>
          <dd class="d">{detail}</dd>
        </div>
      ))}
    </dl>
  )
}
