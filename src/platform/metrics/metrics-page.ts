import type { Clock } from '../clock.ts'
import { messageOf } from '../errors.ts'
import type { Log } from '../log.ts'
import { exposition } from './exposition.ts'
import { metricsOf, newSharedCells, type Gauge, type Metrics } from './metrics.ts'
import type { FigurePart } from './metric-table.ts'

/** Figures that are read on request. */
export interface Gauges {
  part: FigurePart
  /** Set to NaN if reading fails. */
  gauges: Gauge[]
  /** ms that the last reading stays valid; 0: read every time. */
  goodForMs: number
  read(): void | Promise<void>
}

interface MetricsPageServices {
  clock: Pick<Clock, 'steady'>
  log: Log
}

/** ms that a scrape waits for figures. Prometheus gives up after 10 s. */
const patienceMs = 1_000
/** ms; older figures are omitted */
const staleMs = 120_000
/** The largest share of time spent on reading, however long the queue is. */
const maxShareOfTime = 0.02

interface Source extends Gauges {
  /** On the steady clock. */
  readAt: number
  /** The duration of the reading, ms. */
  tookMs: number
  reading: Promise<void> | null
  isFailing: boolean
}

/** Builds the response to `GET /metrics`. */
export class MetricsPage {
  /** The main thread's metrics. */
  readonly metrics: Metrics
  readonly #services: MetricsPageServices
  readonly #sharedCells: SharedArrayBuffer[] = []
  readonly #sources: Source[] = []

  constructor(services: MetricsPageServices) {
    this.#services = services
    this.metrics = metricsOf(this.newCells())
  }

  /** Shared cells for one more thread. */
  newCells(): SharedArrayBuffer {
    const cells = newSharedCells()
    this.#sharedCells.push(cells)
    return cells
  }

  add(...figures: Gauges[]): void {
    for (const each of figures) this.#sources.push({ ...each, readAt: -Infinity, tookMs: 0, reading: null, isFailing: false })
  }

  /** Waits at most a second. Figures that are late keep their last value, and are omitted after two minutes. */
  async text(version: string): Promise<string> {
    await Promise.all(this.#sources.map((source) => this.#refresh(source)))
    return exposition(this.#sharedCells, { version, node: process.versions.node })
  }

  async #refresh(source: Source): Promise<void> {
    const { clock } = this.#services
    const age = clock.steady() - source.readAt
    if (age < Math.max(source.goodForMs, source.tookMs / maxShareOfTime)) return
    source.reading ??= this.#read(source).finally(() => (source.reading = null))
    let timer: NodeJS.Timeout | undefined
    const patience = new Promise<void>((resolve) => (timer = setTimeout(resolve, patienceMs)))
    await Promise.race([source.reading, patience])
    clearTimeout(timer)
    if (clock.steady() - source.readAt > staleMs) this.#leaveOut(source)
  }

  async #read(source: Source): Promise<void> {
    const { clock, log } = this.#services
    const startedAt = clock.steady()
    try {
      await source.read()
      source.readAt = clock.steady()
      source.tookMs = source.readAt - startedAt
      source.isFailing = false
      this.metrics.partUp[source.part].set(1)
    } catch (error) {
      if (!source.isFailing) log.warn({ part: source.part, error: messageOf(error) }, 'a part of the metrics cannot be read')
      source.isFailing = true
      this.#leaveOut(source)
    }
  }

  #leaveOut({ part, gauges }: Source): void {
    this.metrics.partUp[part].set(0)
    for (const gauge of gauges) gauge.set(Number.NaN)
  }
}
