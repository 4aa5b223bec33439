import { expect, test } from 'vitest'
import { errorTable } from '../../../src/platform/error-table.ts'
import type { MetricDeclaration } from '../../../src/platform/metrics/metric-declaration.ts'
import { metricTable } from '../../../src/platform/metrics/metric-table.ts'
import { seriesOf } from '../../../src/platform/metrics/metrics.ts'

const declared = Object.values<MetricDeclaration>(metricTable)
const valuesOf = (name: string, label: string): readonly string[] =>
  declared.find((each) => each.name === name)?.labels.find(([each]) => each === label)?.[1] ?? []

test('names follow the conventions of Prometheus', () => {
  for (const { name, kind, help, labels, bounds } of declared) {
    expect(name).toMatch(/^(?:sterna|process|nodejs)(?:_[a-z]+)+$/)
    expect([name, name.endsWith('_total')]).toEqual([name, kind === 'counter'])
    expect(name).not.toMatch(/_(?:ms|milliseconds|kb|mb)(?:_|$)/)
    expect(help).toMatch(/^[A-Z].*\.$/)
    for (const [label, values] of labels) {
      expect([label, ...values].join('')).toMatch(/^[a-z0-9_]+$/)
      expect(new Set(values).size).toBe(values.length)
    }
    expect(bounds).toEqual([...new Set(bounds)].toSorted((a, b) => a - b))
  }
  expect(new Set(declared.map(({ name }) => name)).size).toBe(declared.length)
})

test('every status of an error is a value of the label', () => {
  expect(valuesOf('sterna_http_requests_total', 'status')).toEqual(
    expect.arrayContaining(Object.values(errorTable).map(({ status }) => String(status))),
  )
})

test('there are few enough series to scrape every few seconds', () => {
  expect(declared.reduce((sum, each) => sum + seriesOf(each) * (each.kind === 'histogram' ? each.bounds.length + 3 : 1), 0)).toBeLessThan(
    1_000,
  )
})
