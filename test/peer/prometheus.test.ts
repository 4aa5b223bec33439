import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { promtool, startPrometheus } from '../support/prometheus.ts'
import { startTestRelay } from '../support/start-relay.ts'

const docs = resolve(import.meta.dirname, '../../docs')
const rulesFile = join(docs, 'alert-rules.yaml')

test('Prometheus scrapes a relay by a key and at its own listener, and knows every rule and every query of the dashboard', async () => {
  const relay = await startTestRelay({ metrics_listen: '127.0.0.1:0' })
  onTestFinished(() => relay.stop())
  const { accounts, apiKeys } = relay.relay.services
  const { token } = await apiKeys.create({ accountId: accounts.getAccount('test').id, name: 'prometheus', permission: 'metrics' })
  for (const to of ['delivered@simulator.test', 'bounced@simulator.test']) await relay.send(to)
  const targets = (port: number | undefined) => [{ targets: [`127.0.0.1:${port}`] }]
  const prometheus = await startPrometheus({
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [rulesFile],
    scrape_configs: [
      { job_name: 'sterna', authorization: { credentials: token }, static_configs: targets(relay.relay.addresses.http[0]?.port) },
      { job_name: 'listener', static_configs: targets(relay.relay.addresses.metrics[0]?.port) },
    ],
  })
  onTestFinished(() => prometheus.stop())

  const accepted = async () =>
    (await prometheus.query('sterna_messages_accepted_total{door="api"}')).data.result.map(({ metric, value }) => [metric['job'], value[1]])
  await expect
    .poll(async () => (await accepted()).toSorted())
    .toEqual([
      ['listener', '2'],
      ['sterna', '2'],
    ])
  expect(
    (await prometheus.get('/api/v1/targets')).data.activeTargets.map(({ health, lastError }: Record<string, string>) => [
      health,
      lastError,
    ]),
  ).toEqual([
    ['up', ''],
    ['up', ''],
  ])

  const failing = async () => {
    const { data } = await prometheus.get('/api/v1/rules')
    return data.groups.flatMap(({ rules }: any) =>
      rules.filter(({ health }: any) => health !== 'ok').map(({ name, health, lastError }: any) => `${name} ${health} ${lastError}`),
    )
  }
  await expect.poll(failing).toEqual([])
  const { data } = await prometheus.get('/api/v1/metadata?limit_per_metric=1')
  expect([data['sterna_store_commit_seconds'][0].type, data['sterna_queue_recipients'][0].type]).toEqual(['histogram', 'gauge'])

  const dashboard = JSON.parse(readFileSync(join(docs, 'grafana-dashboard.json'), 'utf8'))
  const queries: string[] = dashboard.panels.flatMap(({ targets: ofPanel = [] }: { targets?: { expr: string }[] }) =>
    ofPanel.map(({ expr }) => expr),
  )
  for (const query of queries) {
    const asked = query.replaceAll('$__rate_interval', '1m').replaceAll(/\$(?:job|instance)/g, '.*')
    const { status, error } = await prometheus.query(asked)
    expect([query, status, error]).toEqual([query, 'success', undefined])
  }
})

test('promtool finds no fault with the rules and the metrics', async () => {
  expect(promtool(['check', 'rules', rulesFile])).toContain('SUCCESS')
  const relay = await startTestRelay({ metrics_listen: '127.0.0.1:0' })
  onTestFinished(() => relay.stop())
  const text = await (await fetch(`http://127.0.0.1:${relay.relay.addresses.metrics[0]?.port}/metrics`)).text()
  expect(promtool(['check', 'metrics'], text)).toBe('')
})
