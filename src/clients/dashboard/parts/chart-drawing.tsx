import { number } from '../format.ts'

export interface Series {
  /** As the API names it: a column of the CSV. */
  metric: string
  name: string
  tone: 'ok' | 'bad' | 'wait'
  /** One for each period; null where there is none. */
  values: readonly (number | null)[]
  /** Broken, so that two lines differ by more than colour. */
  dashed?: boolean
}

/** Series on one scale. A chart has one above the other, since a shared scale would hide the small ones. */
export interface Band {
  kind: 'bars' | 'lines'
  series: readonly Series[]
  /** How a value is written; a number if not given. */
  inWords?(value: number): string
  /** Lines across, at values that mean something. */
  limits?: readonly { value: number; name: string }[]
  /** The round step of the scale that is at least so much; of whole numbers if not given. */
  step?(least: number): number
}

/** Makes bands of bars, each for one metric of the rows. */
export const barsOf =
  <Row,>(rows: readonly Row[]) =>
  (metric: string, name: string, tone: Series['tone'], value: (row: Row) => number): Band => ({
    kind: 'bars',
    series: [{ metric, name, tone, values: rows.map(value) }],
  })

export interface Period {
  /** As the API names it. */
  name: string
  label: string
}

export const wordsOf =
  ({ inWords = number }: Band): ((value: number) => string) =>
  (value) =>
    inWords(value)

/** Room for the labels of a scale, such as “1.5 min”. */
const left = 58
/** A bar over a long period is no wall. */
const widestBar = 48
/** How many bars may have their values above them, and how much room each needs. */
const maxNumbered = 12
const numberedFrom = 28
const rightEdge = 6
const gap = 36

interface DrawingFrame {
  bands: readonly Band[]
  periods: readonly Period[]
  at: number | null
  onPoint(place: number): void
  width: number
  className: string
}

/** The bands of a chart, one above the other, over the same periods. */
export function Drawing({ bands, periods, at, onPoint, width, className }: DrawingFrame) {
  const right = width - rightEdge
  const step = (right - left) / Math.max(1, periods.length)
  const every = Math.max(1, Math.ceil((periods.length * 95) / (width - left)))
  const scales = scalesOf(bands)
  const bottom = scales.at(-1)?.bottom ?? 0
  const point = (event: PointerEvent): void => {
    const box = (event.currentTarget as SVGElement).getBoundingClientRect()
    const place = Math.floor((((event.clientX - box.left) / box.width) * width - left) / step)
    onPoint(Math.min(periods.length - 1, Math.max(0, place)))
  }
  return (
    <svg class={className} viewBox={`0 0 ${width} ${bottom + 26}`} aria-hidden="true" onPointerMove={point} onPointerDown={point}>
      {at !== null && <rect class="at" x={left + at * step} y={0} width={step} height={bottom} />}
      {scales.map((scale, place) => (
        <BandDrawing key={place} scale={scale} step={step} right={right} />
      ))}
      {periods.map(
        ({ name, label }, place) =>
          place % every === 0 && (
            <text key={name} x={left + (place + 0.5) * step} y={bottom + 18} text-anchor={anchorOf(left + (place + 0.5) * step, right)}>
              {label}
            </text>
          ),
      )}
    </svg>
  )
}

/** A label near an end would leave the drawing. */
function anchorOf(x: number, right: number): 'start' | 'middle' | 'end' {
  if (x < left + 20) return 'start'
  return x > right - 24 ? 'end' : 'middle'
}

interface Scale {
  band: Band
  ticks: number[]
  top: number
  bottom: number
}

/** The first band is the tallest; the others say what is beside it. */
function scalesOf(bands: readonly Band[]): Scale[] {
  let top = 28
  return bands.map((band, place) => {
    const isFirst = place === 0
    const values = [...band.series.flatMap((series) => series.values), ...(band.limits ?? []).map(({ value }) => value)]
    const most = Math.max(0, ...values.map((value) => value ?? 0))
    const scale = {
      band,
      ticks: ticksOf(most, isFirst ? [4, 3, 2, ...(most <= 1 ? [1] : [])] : [1], band.step),
      top,
      bottom: top + (isFirst ? 142 : 48),
    }
    top = scale.bottom + gap
    return scale
  })
}

function BandDrawing({ scale, step, right }: { scale: Scale; step: number; right: number }) {
  const { band, ticks } = scale
  const inWords = wordsOf(band)
  return (
    <>
      <text class="band" x={left} y={scale.top - 16}>
        {band.series.map(({ name }) => name).join(', ')}
      </text>
      {ticks.map((tick) => (
        <g key={tick}>
          <line class={tick === 0 ? 'axis-l' : 'grid-l'} x1={left} x2={right} y1={yOf(tick, scale)} y2={yOf(tick, scale)} />
          <text x={left - 8} y={yOf(tick, scale) + 4} text-anchor="end">
            {tick === 0 ? 0 : inWords(tick)}
          </text>
        </g>
      ))}
      {(band.limits ?? []).map(({ value, name }) => (
        <g key={name}>
          <line class="limit-l" x1={left} x2={right} y1={yOf(value, scale)} y2={yOf(value, scale)} />
          <text class="limit" x={right} y={yOf(value, scale) - 4} text-anchor="end">
            {name}
          </text>
        </g>
      ))}
      {band.series.map((series) =>
        band.kind === 'bars' ? (
          <Bars key={series.metric} series={series} scale={scale} step={step} />
        ) : (
          <path key={series.metric} class={`line ${series.tone}${series.dashed ? ' dashed' : ''}`} d={pathOf(series, scale, step)} />
        ),
      )}
    </>
  )
}

/** Few bars have their values above them, so that nobody need point at each. */
function Bars({ series: { values, tone }, scale, step }: { series: Series; scale: Scale; step: number }) {
  const inWords = wordsOf(scale.band)
  const width = Math.min(widestBar, step * 0.66)
  const isNumbered = step >= numberedFrom && values.filter((value) => value).length <= maxNumbered
  return (
    <>
      {values.map((value, place) => {
        if (!value) return null
        const middle = left + (place + 0.5) * step
        // The least of them is seen beside the greatest.
        const y = Math.min(yOf(value, scale), scale.bottom - 2)
        return (
          <g key={place}>
            <rect class={`bar ${tone}`} x={middle - width / 2} y={y} width={width} height={scale.bottom - y} rx="1.5" />
            {isNumbered && (
              <text class="value" x={middle} y={y - 4} text-anchor="middle">
                {inWords(value)}
              </text>
            )}
          </g>
        )
      })}
    </>
  )
}

/** A line through the values, broken where there is none; a value by itself is a short stroke. */
function pathOf({ values }: Series, scale: Scale, step: number): string {
  const x = (place: number): string => (left + (place + 0.5) * step).toFixed(1)
  return values
    .map((value, place) => {
      if (value === null) return ''
      const y = yOf(value, scale).toFixed(1)
      const isAlone = (values[place - 1] ?? null) === null && (values[place + 1] ?? null) === null
      const half = Math.min(widestBar, step * 0.5) / 2
      if (isAlone) return `M${left + (place + 0.5) * step - half} ${y}h${2 * half}`
      return `${(values[place - 1] ?? null) === null ? 'M' : 'L'}${x(place)} ${y}`
    })
    .join('')
}

const yOf = (value: number, { ticks, top, bottom }: Scale): number => bottom - (value / (ticks.at(-1) || 1)) * (bottom - top)

/** From 0 to at least `most`, in few round steps: as many as leave the least room above. */
function ticksOf(most: number, counts: readonly number[], step: Band['step'] = decimalStep): number[] {
  const scales = counts.map((count) => ({ count, size: step(most / count) }))
  const best = scales.reduce((one, other) => (other.count * other.size < one.count * one.size ? other : one))
  return Array.from({ length: best.count + 1 }, (_, place) => place * best.size)
}

/** The least of 1, 2, 3, 5, 10, 20 … that is enough. */
function decimalStep(least: number): number {
  const raw = Math.max(1, least)
  const power = 10 ** Math.floor(Math.log10(raw))
  return ([1, 2, 3, 5, 10].find((factor) => factor * power >= raw) ?? 10) * power
}
