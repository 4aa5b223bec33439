import { useState } from 'preact/hooks'
import { t } from '../texts/texts.ts'
import { Drawing, wordsOf, type Band, type Period, type Series } from './chart-drawing.tsx'
import { CsvButton } from './controls.tsx'
import { Icon } from './icon.tsx'
import { Figures, type Column } from './rows.tsx'

interface ChartFrame {
  heading: string
  /** Below the heading. */
  text?: string
  /** The name of the CSV file. */
  file: string
  periods: readonly Period[]
  bands: readonly Band[]
}

/** What happened over time: drawn, told by pointer and arrow keys, as a table, and as CSV. */
export function TimeChart({ heading, text, file, periods, bands }: ChartFrame) {
  const [isTable, setTable] = useState(false)
  const all = bands.flatMap((band) => band.series.map((series) => ({ ...series, kind: band.kind, inWords: wordsOf(band) })))
  const rows = (): string[][] => [
    ['period', ...all.map(({ metric }) => metric)],
    ...periods.map(({ name }, place) => [name, ...all.map(({ values }) => String(values[place] ?? ''))]),
  ]
  const placed = periods.map((period, place) => ({ ...period, place }))
  const figures = { rows: placed, columns: columnsOf(all), keyOf: ({ name }: Period) => name }
  return (
    <section class="panel" aria-label={heading}>
      <header>
        <h2>{heading}</h2>
        <p class="key">
          {all.map(({ metric, name, tone, kind, dashed = false }) => (
            <span key={metric}>
              <i class={`${tone}${kind === 'lines' ? ' k-line' : ''}${dashed ? ' k-dashed' : ''}`} />
              {name}
            </span>
          ))}
        </p>
        <div class="acts">
          <button class="btn small plain" type="button" aria-pressed={isTable} onClick={() => setTable(!isTable)}>
            <Icon name="queue" />
            {t.common.table}
          </button>
          <CsvButton name={file} rows={rows} />
        </div>
        {text && <p class="muted">{text}</p>}
      </header>
      {isTable ? (
        <Figures name={heading} {...figures} />
      ) : (
        <>
          <Plot heading={heading} periods={periods} bands={bands} series={all} />
          <div class="hidden">
            <Figures {...figures} />
          </div>
        </>
      )}
    </section>
  )
}

type WordedSeries = Series & { inWords(value: number): string }

const valueInWords = ({ values, inWords }: WordedSeries, place: number): string => {
  const value = values[place] ?? null
  return value === null ? '—' : inWords(value)
}

const columnsOf = (series: readonly WordedSeries[]): Column<PlacedPeriod>[] => [
  { head: t.common.when, kind: 'title', cell: ({ label }) => label },
  ...series.map((each): Column<PlacedPeriod> => ({ head: each.name, kind: 'number', cell: ({ place }) => valueInWords(each, place) })),
]

type PlacedPeriod = Period & { place: number }

interface PlotFrame extends Pick<ChartFrame, 'heading' | 'periods' | 'bands'> {
  series: readonly WordedSeries[]
}

const steps: Record<string, number> = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: 7, PageDown: -7 }

/** The drawing. A period is chosen by pointing at it, or by arrow keys; its values are told below. */
function Plot({ heading, periods, bands, series }: PlotFrame) {
  const [at, setAt] = useState<number | null>(null)
  const last = periods.length - 1
  const move = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') return setAt(null)
    const to =
      event.key === 'Home' ? 0 : event.key === 'End' ? last : (at ?? (steps[event.key] === 1 ? -1 : last + 1)) + (steps[event.key] ?? NaN)
    if (Number.isNaN(to)) return
    event.preventDefault()
    setAt(Math.min(last, Math.max(0, to)))
  }
  const told = at === null ? '' : series.map((each) => `${each.name} ${valueInWords(each, at)}`).join(', ')
  const when = at === null ? '' : (periods[at]?.label ?? '')
  return (
    <div class="body chart">
      <div
        role="slider"
        tabIndex={0}
        aria-label={t.common.valuesOf(heading)}
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={at ?? last}
        aria-valuetext={at === null ? t.common.arrowKeys : `${when}: ${told}`}
        onKeyDown={move}
        onBlur={() => setAt(null)}
        onPointerLeave={() => setAt(null)}
      >
        <Drawing bands={bands} periods={periods} at={at} onPoint={setAt} width={760} className="only-wide" />
        <Drawing bands={bands} periods={periods} at={at} onPoint={setAt} width={340} className="only-narrow" />
      </div>
      <p class="told" aria-hidden="true">
        {at !== null && (
          <>
            <b>{when}</b> {told}
          </>
        )}
      </p>
    </div>
  )
}
