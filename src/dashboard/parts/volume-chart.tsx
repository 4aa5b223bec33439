import { useState } from 'preact/hooks'
import type { Metrics } from '../api/types.ts'
import { dayMonth, hourMinute, number } from '../format.ts'
import { t } from '../texts/texts.ts'
import { Icon } from './icon.tsx'
import { Scroll } from './page.tsx'

type Row = NonNullable<Metrics['data']>[number]

interface Bar {
  label: string
  delivered: number
  lost: number
}

const height = 250
/** Two scales, one below the other: a stacked bar would hide the few that did not arrive. */
const upper = { top: 8, bottom: 150 }
const lower = { top: 176, bottom: 224 }
const left = 40

/** Delivered per hour or day, and not delivered on a scale of its own; the same as a table. */
export function VolumeChart({ rows, isHourly }: { rows: Row[]; isHourly: boolean }) {
  const [isTable, setTable] = useState(false)
  const bars = rows.map(({ period = '', delivered = 0, bounced = 0, failed = 0 }): Bar => ({
    label: isHourly ? hourMinute(period) : dayMonth(`${period}T12:00:00`),
    delivered,
    lost: bounced + failed,
  }))
  const per = isHourly ? t.overview.perHour : t.overview.perDay
  return (
    <section class="panel" aria-label={per}>
      <header>
        <h2>{per}</h2>
        <p class="key">
          <span>
            <i />
            {t.overview.delivered}
          </span>
          <span>
            <i class="k-bad" />
            {t.overview.notDelivered}
          </span>
        </p>
        <button class="btn small plain" type="button" aria-pressed={isTable} onClick={() => setTable(!isTable)}>
          <Icon name="queue" />
          {t.common.table}
        </button>
      </header>
      {isTable ? (
        <Table bars={bars} name={per} />
      ) : (
        <div class="body chart">
          <Drawing bars={bars} width={760} className="only-wide" label={t.overview.chart(per)} />
          <Drawing bars={bars} width={340} className="only-narrow" label={t.overview.chart(per)} />
        </div>
      )}
    </section>
  )
}

const Table = ({ bars, name }: { bars: Bar[]; name: string }) => (
  <Scroll name={name}>
    <table class="tight">
      <thead>
        <tr>
          <th scope="col">{t.overview.when}</th>
          <th scope="col" class="num">
            {t.overview.delivered}
          </th>
          <th scope="col" class="num">
            {t.overview.notDelivered}
          </th>
        </tr>
      </thead>
      <tbody>
        {bars.map(({ label, delivered, lost }, place) => (
          <tr key={place}>
            <th scope="row">{label}</th>
            <td class="num">{number(delivered)}</td>
            <td class="num">{number(lost)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </Scroll>
)

function Drawing({ bars, width, className, label }: { bars: Bar[]; width: number; className: string; label: string }) {
  const right = width - 6
  const step = (right - left) / Math.max(1, bars.length)
  const ticks = ticksOf(Math.max(...bars.map(({ delivered }) => delivered), 0), 3)
  const lostTicks = ticksOf(Math.max(...bars.map(({ lost }) => lost), 0), 1)
  const every = Math.ceil(bars.length / (width / 110))
  const scale = (value: number, all: number[], { top, bottom }: typeof upper): number =>
    bottom - (value / (all.at(-1) || 1)) * (bottom - top)
  return (
    <svg class={className} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
      {ticks.map((tick) => (
        <Rule key={tick} tick={tick} y={scale(tick, ticks, upper)} right={right} />
      ))}
      {lostTicks.map((tick) => (
        <Rule key={`lost ${tick}`} tick={tick} y={scale(tick, lostTicks, lower)} right={right} />
      ))}
      {bars.map(({ label: when, delivered, lost }, place) => {
        const x = left + place * step + step * 0.17
        const okY = scale(delivered, ticks, upper)
        const badY = scale(lost, lostTicks, lower)
        return (
          <g key={place}>
            <title>{`${when}: ${number(delivered)} ${t.overview.delivered}, ${number(lost)} ${t.overview.notDelivered}`}</title>
            <rect class="bar-ok" x={x} y={okY} width={step * 0.66} height={upper.bottom - okY} rx="1.5" />
            <rect class="bar-bad" x={x} y={badY} width={step * 0.66} height={lower.bottom - badY} rx="1.5" />
            {place % every === 0 && (
              <text x={x + step * 0.33} y={height - 8} text-anchor="middle">
                {when}
              </text>
            )}
          </g>
        )
      })}
    </svg>
  )
}

const Rule = ({ tick, y, right }: { tick: number; y: number; right: number }) => (
  <>
    <line class={tick === 0 ? 'axis-l' : 'grid-l'} x1={left} x2={right} y1={y} y2={y} />
    <text x={left - 8} y={y + 4} text-anchor="end">
      {number(tick)}
    </text>
  </>
)

/** From 0 to at least `most`, in `count` round steps. */
function ticksOf(most: number, count: number): number[] {
  const raw = Math.max(1, most) / count
  const power = 10 ** Math.floor(Math.log10(raw))
  const step = Math.max(1, ([1, 2, 3, 5, 10].find((factor) => factor * power >= raw) ?? 10) * power)
  return Array.from({ length: count + 1 }, (_, place) => place * step)
}
