import type { MetricDeclaration } from './metric-declaration.ts'
import { buildInfo, metricTable } from './metric-table.ts'

/** docs/metrics.md */
export function metricsPage(): string {
  return [
    '# Metrics',
    '',
    '<!-- Generated from src/metrics/metric-table.ts by `npm run docs`; change it there. -->',
    '',
    'What `GET /metrics` answers, in the text format of Prometheus. How to have it scraped, a dashboard and alert rules:',
    '[operations.md](operations.md#metrics). Times are in seconds and sizes in bytes. Counters begin at 0 with the process. No label',
    'has values but those below: addresses, domains and what others say are never among them. A figure that cannot be read at',
    'the moment is left out, and `sterna_scrape_part_up` is 0 for its part.',
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
