import type { MetricDeclaration } from '../../src/platform/metrics/metric-declaration.ts'
import { buildInfo, metricTable } from '../../src/platform/metrics/metric-table.ts'

/** docs/metrics.md */
export function metricsPage(): string {
  return [
    '# Metrics',
    '',
    '<!-- Generated from src/platform/metrics/metric-table.ts by `npm run docs`; edit that file. -->',
    '',
    'What `GET /metrics` returns, in the Prometheus text format. How to scrape it, a dashboard and alert rules:',
    '[monitoring.md](monitoring.md#metrics). Times are in seconds and sizes in bytes. Counters start at 0 with each process. Labels',
    "have only the values below: addresses, domains and strangers' words are never among them. If a figure cannot be read at",
    'the moment, it is left out, and `sterna_scrape_part_up` is 0 for its part. Of several nodes each has its own figures: their sum is that of',
    'all, unless the metric says otherwise. Times, and whether something is so, are those of the node.',
    '',
    ...entryOf({ ...buildInfo, kind: 'gauge', labels: buildInfo.labels.map((name) => [name, []]), bounds: [] }),
    ...Object.values<MetricDeclaration>(metricTable).flatMap(entryOf),
  ].join('\n')
}

const entryOf = ({ name, help, kind, labels, bounds }: MetricDeclaration): string[] => [
  `## ${name}`,
  '',
  help,
  '',
  `- Type: ${kind}`,
  ...labels.map(
    ([label, values]) => `- Label \`${label}\`${values.length === 0 ? '' : `: ${values.map((value) => `\`${value}\``).join(', ')}`}`,
  ),
  ...(bounds.length === 0 ? [] : [`- Buckets up to: ${bounds.join(', ')}`]),
  '',
]
