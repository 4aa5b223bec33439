import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import type { MetricDeclaration } from '../../../src/platform/metrics/metric-declaration.ts'
import { buildInfo, metricTable } from '../../../src/platform/metrics/metric-table.ts'

const read = (path: string): string => readFileSync(new URL(`../../../docs/${path}`, import.meta.url), 'utf8')

const declared = new Map<string, Pick<MetricDeclaration, 'kind' | 'labels'>>([
  [buildInfo.name, { kind: 'gauge', labels: buildInfo.labels.map((label) => [label, []] as const) }],
  ...Object.values<MetricDeclaration>(metricTable).map((metric) => [metric.name, metric] as const),
])

/** What is wrong with the metrics that a query names, and with the values of their labels that it asks for. */
function faultsOf(query: string): string[] {
  const faults: string[] = []
  for (const [, name = '', , selector = ''] of query.matchAll(/\b((?:sterna|process|nodejs)_[a-z_]+)(\{([^}]*)\})?/g)) {
    const base = declared.has(name) ? name : name.replace(/_(?:bucket|sum|count)$/, '')
    const metric = declared.get(base)
    if (!metric || (base !== name) !== (metric.kind === 'histogram')) {
      faults.push(`there is no ${name}`)
      continue
    }
    for (const [, label = '', operator = '', text = ''] of selector.matchAll(/(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g)) {
      if (label === 'job' || label === 'instance') continue
      const values = metric.labels.find(([each]) => each === label)?.[1]
      if (!values) faults.push(`${name} has no label ${label}`)
      const asked = operator.includes('~') ? text.split('|') : [text]
      for (const value of asked) if (values && !values.includes(value)) faults.push(`${label} of ${name} is never ${value}`)
    }
  }
  return faults
}

test('the query checker finds what is wrong with a query', () => {
  expect(faultsOf('rate(sterna_delivery_attempts_total{job=~"$job",outcome="delivered",provider!~"google|other"}[5m])')).toEqual([])
  expect(faultsOf('sterna_gone')).toEqual(['there is no sterna_gone'])
  expect(faultsOf('sterna_store_commit_seconds')).toEqual(['there is no sterna_store_commit_seconds'])
  expect(faultsOf('sterna_disk_free_bytes_bucket')).toEqual(['there is no sterna_disk_free_bytes_bucket'])
  expect(faultsOf('sterna_fault{name="x"} + sterna_fault{who="x"}')).toEqual([
    'name of sterna_fault is never x',
    'sterna_fault has no label who',
  ])
})

test('every query of the dashboard names existing metrics, and its data source is a variable', () => {
  const dashboard = JSON.parse(read('grafana-dashboard.json'))
  const targets: { expr: string; datasource: { uid: string } }[] = dashboard.panels.flatMap(
    (panel: { targets?: [] }) => panel.targets ?? [],
  )
  const queries = [
    ...targets.map(({ expr }) => expr),
    ...dashboard.templating.list.flatMap(({ definition }: { definition?: string }) => definition ?? []),
  ]
  expect(queries.length).toBeGreaterThan(40)
  expect(queries.flatMap(faultsOf)).toEqual([])
  expect(queries.filter((query) => !/\b(?:sterna|process|nodejs)_/.test(query))).toEqual([])
  expect(new Set(targets.map(({ datasource }) => datasource.uid))).toEqual(new Set(['${datasource}']))
  const ids = dashboard.panels.map(({ id }: { id: number }) => id)
  expect(new Set(ids).size).toBe(ids.length)
})

test('every metric of the server is on the dashboard', () => {
  const text = read('grafana-dashboard.json')
  const besides = ['process_start_time_seconds']
  expect([...declared.keys()].filter((name) => !text.includes(name) && !besides.includes(name))).toEqual([])
})

test('what every node counts of all is never added up over nodes', () => {
  const ofAll = Object.values<MetricDeclaration>(metricTable).filter(({ help }) => help.includes('maximum over nodes'))
  expect(ofAll.length).toBeGreaterThan(5)
  const text = read('grafana-dashboard.json') + read('alert-rules.yaml')
  const mentions = ofAll.flatMap(({ name }) => text.match(new RegExp(`.{0,30}\\b${name}\\b`, 'g')) ?? [])
  expect(mentions.length).toBeGreaterThan(10)
  expect(mentions.filter((mention) => !/\bmax(?: by \([a-z, ]+\) )?\(sterna_\w+$/.test(mention))).toEqual([])
})

test('every alert rule names existing metrics, and says what to do', () => {
  interface Rule {
    alert: string
    expr: string
    labels: { severity: string }
    annotations: { summary: string; description: string }
  }
  const rules: Rule[] = parse(read('alert-rules.yaml')).groups.flatMap(({ rules: ofGroup }: { rules: Rule[] }) => ofGroup)
  expect(rules.length).toBeGreaterThan(15)
  expect(rules.flatMap(({ expr }) => faultsOf(expr))).toEqual([])
  for (const { alert, labels, annotations } of rules) {
    expect(alert).toMatch(/^Sterna[A-Z][A-Za-z]+$/)
    expect(['warning', 'critical']).toContain(labels.severity)
    expect(annotations.summary.length).toBeGreaterThan(20)
    expect(annotations.description.length).toBeGreaterThan(60)
  }
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length)
})
