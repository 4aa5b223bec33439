/**
 * What is counted; columns of the table `rollup`. `opened` and `clicked` count every hit, `bot_…` those by machines, and `unique_…`
 * recipients who opened or clicked, machines excluded. A click implies an open.
 */
const first = ['sent', 'delivered', 'opened', 'clicked', 'bot_opened', 'bot_clicked'] as const
const bounces = ['bounced_permanent', 'bounced_transient'] as const
const others = ['complained', 'unsubscribed', 'suppressed', 'failed', 'delivery_delayed', 'unique_opened', 'unique_clicked'] as const
export const countedMetrics = [...first, ...bounces, ...others] as const
export type CountedMetric = (typeof countedMetrics)[number]
export type Counts = Record<CountedMetric, number>

/** All metrics on request, in the order of the answer. */
export const metrics = [
  ...first,
  'bounced',
  ...bounces,
  ...others,
  'delivery_rate',
  'open_rate',
  'click_rate',
  'bounce_rate',
  'complaint_rate',
  'unsubscribe_rate',
] as const
export type Metric = (typeof metrics)[number]

export const noCounts = (): Counts => Object.fromEntries(countedMetrics.map((name) => [name, 0])) as Counts

const rate = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole)

/** Derives all metrics from the counts. Rates exclude opens and clicks by machines. */
export function metricsOf(counts: Counts): Record<Metric, number> {
  const { sent, delivered } = counts
  const bounced = counts.bounced_permanent + counts.bounced_transient
  return {
    ...counts,
    bounced,
    delivery_rate: rate(delivered, sent),
    open_rate: rate(counts.unique_opened, delivered),
    click_rate: rate(counts.unique_clicked, delivered),
    bounce_rate: rate(bounced, sent),
    complaint_rate: rate(counts.complained, delivered),
    unsubscribe_rate: rate(counts.unsubscribed, delivered),
  }
}
