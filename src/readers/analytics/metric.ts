/**
 * What is counted; columns of the table `rollup`. `opened` and `clicked` count every hit, `bot_…` those by machines, and `unique_…`
 * recipients who opened or clicked, machines excluded. A click implies an open. `delivered_encrypted` and `delivered_unencrypted` are what of
 * `delivered` left us over TLS and in plain text, as far as that was recorded.
 */
const first = ['sent', 'delivered', 'opened', 'clicked', 'bot_opened', 'bot_clicked'] as const
const bounces = ['bounced_permanent', 'bounced_transient'] as const
const transports = ['delivered_encrypted', 'delivered_unencrypted'] as const
const others = ['complained', 'unsubscribed', 'suppressed', 'failed', 'delivery_delayed', 'unique_opened', 'unique_clicked'] as const
export const countedMetrics = [...first, ...bounces, ...others, ...transports] as const
export type CountedMetric = (typeof countedMetrics)[number]
export type Counts = Record<CountedMetric, number>

/** All metrics on request, in the order of the answer. */
export const metrics = [
  ...first,
  'bounced',
  ...bounces,
  ...others,
  ...transports,
  'delivery_rate',
  'open_rate',
  'click_rate',
  'bounce_rate',
  'complaint_rate',
  'unsubscribe_rate',
  'encryption_rate',
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
    encryption_rate: rate(counts.delivered_encrypted, counts.delivered_encrypted + counts.delivered_unencrypted),
  }
}
