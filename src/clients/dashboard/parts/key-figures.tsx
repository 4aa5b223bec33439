import type { Latency, Metrics } from '../api/types.ts'
import { duration, number, percent } from '../format.ts'
import { t } from '../texts/texts.ts'

type Totals = Metrics['totals']

interface KeyFigure {
  name: string
  value: string
  detail: string
  /** In the period before; null where nothing was sent then. */
  before: string | null
}

/** Five figures of a period, each with what is behind it and the period before. `beforeName` names that, as in `the day before`. */
export function KeyFigures({ metrics, latency, beforeName }: { metrics: Metrics; latency: Latency | undefined; beforeName: string }) {
  return (
    <dl class="figs">
      {figuresOf(metrics, latency).map(({ name, value, detail, before }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd class="v">{value}</dd>
          <dd class="d">{detail}</dd>
          {before !== null && <dd class="d">{t.overview.valueBefore(before, beforeName)}</dd>}
        </div>
      ))}
    </dl>
  )
}

function figuresOf({ totals, previous }: Metrics, latency: Latency | undefined): KeyFigure[] {
  const before = previous?.totals
  const count = (name: keyof Totals): number => totals[name] ?? 0
  const rate = (name: keyof Totals): Pick<KeyFigure, 'value' | 'before'> => ({
    value: shareIn(totals, name) ?? '—',
    before: before ? shareIn(before, name) : null,
  })
  const { p50_ms: median = null, p95_ms: slow = null } = latency?.totals ?? {}
  const medianBefore = latency?.previous?.totals.p50_ms ?? null
  return [
    {
      name: t.status.sent,
      value: number(count('sent')),
      detail: t.common.recipients,
      before: before?.sent === undefined ? null : number(before.sent),
    },
    { name: t.status.delivered, ...rate('delivery_rate'), detail: t.overview.recipients(count('delivered')) },
    {
      name: t.status.bounced,
      ...rate('bounce_rate'),
      detail: t.overview.bounces(count('bounced_permanent'), count('bounced_transient')),
    },
    { name: t.overview.complained, ...rate('complaint_rate'), detail: t.overview.complaints(count('complained')) },
    {
      name: t.overview.latency,
      value: median === null ? '—' : duration(median),
      detail: slow === null ? t.overview.noDelivery : t.overview.within(duration(slow)),
      before: medianBefore === null ? null : duration(medianBefore),
    },
  ]
}

/** What was sent before midnight may be delivered after it, so that a share may seem to be more than all. */
const shareIn = (totals: Totals, name: keyof Totals): string | null =>
  (totals.sent ?? 0) === 0 ? null : percent(Math.min(1, totals[name] ?? 0))
