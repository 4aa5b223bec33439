import type { Label, MetricDeclaration } from './metric-declaration.ts'
import { metricTable, type MetricTable } from './metric-table.ts'

export class Gauge {
  protected readonly numbers: Float64Array
  protected readonly place: number

  constructor(numbers: Float64Array, place: number) {
    this.numbers = numbers
    this.place = place
  }

  /** NaN if unknown; then a gauge is omitted. A counter is set where its total is counted elsewhere. */
  set(value: number): void {
    this.numbers[this.place] = value
  }
}

/** A number that only goes up. */
export class Counter extends Gauge {
  add(count = 1): void {
    this.numbers[this.place] = (this.numbers[this.place] as number) + count
  }
}

/** One count per bucket (not cumulative), the last one unbounded, followed by the sum. */
class Histogram {
  readonly #numbers: Float64Array
  readonly #place: number
  readonly #bounds: readonly number[]

  constructor(numbers: Float64Array, place: number, bounds: readonly number[]) {
    this.#numbers = numbers
    this.#place = place
    this.#bounds = bounds
  }

  observe(value: number): void {
    let bucket = 0
    while (bucket < this.#bounds.length && value > (this.#bounds[bucket] as number)) bucket++
    const place = this.#place + bucket
    const sum = this.#place + this.#bounds.length + 1
    this.#numbers[place] = (this.#numbers[place] as number) + 1
    this.#numbers[sum] = (this.#numbers[sum] as number) + value
  }
}

interface Kinds {
  counter: Counter
  gauge: Gauge
  histogram: Histogram
}

/** The shape of the metrics in code: `attempts.delivered.google` for a metric with two labels. */
type Cells<Cell, Labels extends readonly Label[]> = Labels extends readonly [
  readonly [string, readonly (infer Value extends string)[]],
  ...infer Rest extends readonly Label[],
]
  ? Readonly<Record<Value, Cells<Cell, Rest>>>
  : Cell

export type Metrics = {
  readonly [Key in keyof MetricTable]: MetricTable[Key] extends MetricDeclaration<infer Kind, infer Labels>
    ? Cells<Kinds[Kind], Labels>
    : never
}

/** Numbers per set of label values. */
export const widthOf = ({ kind, bounds }: MetricDeclaration): number => (kind === 'histogram' ? bounds.length + 2 : 1)

/** Sets of label values. */
export const seriesOf = ({ labels }: MetricDeclaration): number => labels.reduce((product, [, values]) => product * values.length, 1)

/** bytes */
const sharedCellsBytes = Object.values<MetricDeclaration>(metricTable).reduce((sum, each) => sum + 8 * widthOf(each) * seriesOf(each), 0)

/**
 * The numbers of one thread, in table order, in shared memory. Each thread counts in its own cells, and a scrape sums them. Writes are
 * atomic, so a number may be read while it changes.
 */
export const newSharedCells = (): SharedArrayBuffer => new SharedArrayBuffer(sharedCellsBytes)

/** A thread's metrics. All cells are created here, so counting needs no look-up by text and allocates nothing. */
export function metricsOf(sharedCells: SharedArrayBuffer = newSharedCells()): Metrics {
  const numbers = new Float64Array(sharedCells)
  const metrics: Record<string, unknown> = {}
  let place = 0
  for (const [key, declared] of Object.entries<MetricDeclaration>(metricTable)) {
    const nextCell = (): Counter | Gauge | Histogram => {
      const cell = cellAt(declared, numbers, place)
      place += widthOf(declared)
      return cell
    }
    metrics[key] = cellsOf(declared.labels, nextCell)
  }
  return metrics as Metrics
}

function cellAt({ kind, bounds }: MetricDeclaration, numbers: Float64Array, place: number): Counter | Gauge | Histogram {
  if (kind === 'histogram') return new Histogram(numbers, place, bounds)
  return kind === 'counter' ? new Counter(numbers, place) : new Gauge(numbers, place)
}

function cellsOf([first, ...rest]: readonly Label[], nextCell: () => unknown): unknown {
  return first ? Object.fromEntries(first[1].map((value) => [value, cellsOf(rest, nextCell)])) : nextCell()
}
