import type { Label, MetricDeclaration } from './metric-declaration.ts'
import { buildInfo, metricTable } from './metric-table.ts'
import { seriesOf, widthOf } from './metrics.ts'

/** The Prometheus text format. */
export const expositionType = 'text/plain; version=0.0.4; charset=utf-8'

/** All metrics in the Prometheus text format 0.0.4, summed over all threads. */
export function exposition(cellsOfThreads: readonly SharedArrayBuffer[], build: Record<(typeof buildInfo.labels)[number], string>): string {
  const numbers = sumOf(cellsOfThreads)
  const pairs = buildInfo.labels.map((name) => pairOf(name, build[name]))
  const lines = [...headOf({ ...buildInfo, kind: 'gauge' }), `${buildInfo.name}{${pairs.join(',')}} 1`]
  let place = 0
  for (const declared of Object.values<MetricDeclaration>(metricTable)) {
    lines.push(...headOf(declared))
    for (const labels of labelTexts(declared.labels)) {
      lines.push(...samplesOf(declared, labels, numbers.subarray(place, place + widthOf(declared))))
      place += widthOf(declared)
    }
  }
  return `${lines.join('\n')}\n`
}

function sumOf(cellsOfThreads: readonly SharedArrayBuffer[]): Float64Array {
  const count = Object.values<MetricDeclaration>(metricTable).reduce((sum, each) => sum + widthOf(each) * seriesOf(each), 0)
  const numbers = new Float64Array(count)
  for (const cells of cellsOfThreads)
    new Float64Array(cells).forEach((number, place) => (numbers[place] = (numbers[place] as number) + number))
  return numbers
}

const headOf = ({ name, help, kind }: Pick<MetricDeclaration, 'name' | 'help' | 'kind'>): string[] => [
  `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`,
  `# TYPE ${name} ${kind}`,
]

/** The text between the braces, in the order of the cells. */
const labelTexts = (labels: readonly Label[]): string[] =>
  labels.reduce<string[]>(
    (before, [name, values]) =>
      before.flatMap((text) => values.map((value) => (text === '' ? pairOf(name, value) : `${text},${pairOf(name, value)}`))),
    [''],
  )

const pairOf = (name: string, value: string): string =>
  `${name}="${value.replace(/[\\"\n]/g, (char) => (char === '\n' ? '\\n' : `\\${char}`))}"`

function samplesOf({ kind, name, bounds }: MetricDeclaration, labels: string, numbers: Float64Array): string[] {
  if (kind !== 'histogram') return Number.isNaN(numbers[0]) ? [] : [sample(name, labels, numbers[0] as number)]
  const lines: string[] = []
  let count = 0
  for (const [place, bound] of [...bounds, '+Inf'].entries()) {
    count += numbers[place] as number
    lines.push(sample(`${name}_bucket`, labels === '' ? `le="${bound}"` : `${labels},le="${bound}"`, count))
  }
  lines.push(sample(`${name}_sum`, labels, numbers[bounds.length + 1] as number), sample(`${name}_count`, labels, count))
  return lines
}

const sample = (name: string, labels: string, value: number): string => (labels === '' ? `${name} ${value}` : `${name}{${labels}} ${value}`)
