/** A metric as somebody reads it who knows only the text format of Prometheus 0.0.4. */
export interface ParsedMetric {
  type: string
  help: string
  samples: { name: string; labels: Record<string, string>; value: number }[]
}

const metricName = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/
const labelName = /^[a-zA-Z_][a-zA-Z0-9_]*$/
const types = ['counter', 'gauge', 'histogram', 'summary', 'untyped']

/**
 * Reads an exposition, strictly: a metric is in one piece, with HELP and TYPE before its samples; none comes twice; every line ends
 * with a line feed.
 * @throws Error
 */
export function parseExposition(text: string): Map<string, ParsedMetric> {
  if (!text.endsWith('\n')) throw new Error('the last line has no end')
  const metrics = new Map<string, ParsedMetric>()
  const seen = new Set<string>()
  let current = ''
  for (const line of text.slice(0, -1).split('\n')) {
    const comment = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line)
    if (comment) {
      const [, what, name = '', rest = ''] = comment
      if (what === 'HELP') {
        if (metrics.has(name)) throw new Error(`${name} comes twice`)
        metrics.set(name, { type: '', help: rest, samples: [] })
        current = name
      } else {
        const metric = metrics.get(name)
        if (name !== current || !metric || metric.type !== '' || metric.samples.length > 0)
          throw new Error(`TYPE of ${name} is out of place`)
        if (!types.includes(rest)) throw new Error(`${rest} is no type`)
        metric.type = rest
      }
      continue
    }
    const sample = parseSample(line)
    const metric = metrics.get(current)
    if (!metric || metric.type === '' || !namesOf(current, metric.type).includes(sample.name)) throw new Error(`out of place: ${line}`)
    const key = line.slice(0, line.lastIndexOf(' '))
    if (seen.has(key)) throw new Error(`comes twice: ${key}`)
    seen.add(key)
    metric.samples.push(sample)
  }
  for (const [name, { type }] of metrics) if (type === '' || !metricName.test(name)) throw new Error(`${name} is no whole metric`)
  return metrics
}

const namesOf = (name: string, type: string): string[] =>
  type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name]

function parseSample(line: string): ParsedMetric['samples'][number] {
  const [, name = '', , body = '', number = ''] = /^([^\s{]+)(\{(.*)\})? (\S+)$/.exec(line) ?? []
  const value = number === '+Inf' ? Infinity : Number(number)
  if (!metricName.test(name) || number === '' || Number.isNaN(value)) throw new Error(`no sample: ${line}`)
  const labels: Record<string, string> = {}
  for (let rest = body; rest !== '';) {
    const [whole = '', label = '', text = '', comma] = /^([^=,{}"]+)="((?:[^"\\]|\\["\\n])*)"(,|$)/.exec(rest) ?? []
    if (!labelName.test(label) || label in labels || (comma === ',' && rest.length === whole.length)) throw new Error(`no labels: ${line}`)
    labels[label] = text.replace(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char))
    rest = rest.slice(whole.length)
  }
  return { name, labels, value }
}

/** The value of one sample; undefined where there is none with just these labels. */
export function valueOf(metrics: Map<string, ParsedMetric>, name: string, labels: Record<string, string> = {}): number | undefined {
  const family = metrics.get(name) ?? metrics.get(name.replace(/_(?:bucket|sum|count)$/, ''))
  const wanted = JSON.stringify(Object.entries(labels).toSorted())
  return family?.samples.find((sample) => sample.name === name && JSON.stringify(Object.entries(sample.labels).toSorted()) === wanted)
    ?.value
}

/** What is wrong with the histograms: buckets that fall, or a count that is not that of the last one. */
export function histogramFaults(metrics: Map<string, ParsedMetric>): string[] {
  const faults: string[] = []
  for (const [name, { samples }] of [...metrics].filter(([, { type }]) => type === 'histogram')) {
    const series = Map.groupBy(samples, ({ labels }) => JSON.stringify(Object.entries(labels).filter(([label]) => label !== 'le')))
    for (const [labels, ofSeries] of series) {
      const buckets = ofSeries.filter((sample) => sample.name === `${name}_bucket`)
      const bounds = buckets.map((sample) => (sample.labels['le'] === '+Inf' ? Infinity : Number(sample.labels['le'])))
      const isRising = (numbers: number[]) => numbers.every((number, place) => place === 0 || number >= (numbers[place - 1] as number))
      if (!isRising(bounds) || bounds.at(-1) !== Infinity) faults.push(`${name}${labels}: bounds`)
      if (!isRising(buckets.map(({ value }) => value))) faults.push(`${name}${labels}: not cumulative`)
      const [sum, count] = ['sum', 'count'].map((what) => ofSeries.find((sample) => sample.name === `${name}_${what}`)?.value)
      if (count !== buckets.at(-1)?.value || sum === undefined) faults.push(`${name}${labels}: count`)
    }
  }
  return faults
}
