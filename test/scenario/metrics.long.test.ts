import { expect, onTestFinished, test } from 'vitest'
import { startFakeMx } from '../support/fake-mx.ts'
import { histogramFaults, parseExposition, valueOf, type ParsedMetric } from '../support/parse-exposition.ts'
import { SmtpClient } from '../support/smtp-client.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'
import { startReceiver, status } from '../support/webhook-receiver.ts'

/** What is counted in the database is read anew after so long. */
const goodForMs = 10_000

/** A stranger's mail server, named as another's. */
const oddHost = 'aspmx.l.google.com.odd.example'

let relay: TestRelay
let keys: Record<'metrics' | 'operator' | 'full' | 'sandbox', string>

async function startRelay(settings: Record<string, string> = {}): Promise<void> {
  const host = '127.0.0.2'
  const mx = await startFakeMx({
    host,
    on: {
      rcpt: (address) =>
        address.startsWith('gone') ? '550 5.1.1 No such user' : address.startsWith('later') ? '451 4.7.1 Later' : undefined,
    },
  })
  onTestFinished(() => mx.close())
  relay = await startTestRelay(
    { delivery_port: String(mx.port), webhooks_allow_private_addresses: 'true', metrics_listen: '127.0.0.1:0', ...settings },
    {
      'rcpt.example': { mx: [[10, 'mx.rcpt.example']] },
      'mx.rcpt.example': { a: [host] },
      'big.example': { mx: [[10, 'aspmx.l.google.com']] },
      'aspmx.l.google.com': { a: [host] },
      'odd.example': { mx: [[10, oddHost]] },
      [oddHost]: { a: [host] },
    },
  )
  onTestFinished(() => relay.stop())
  const { accounts, apiKeys } = relay.relay.services
  const accountId = accounts.getAccount('test').id
  const key = async (permission: 'metrics' | 'operator' | 'full_access', sandbox = false) =>
    (await apiKeys.create({ accountId, name: 'test', permission, sandbox })).token
  keys = {
    metrics: await key('metrics'),
    operator: await key('operator'),
    full: await key('full_access'),
    sandbox: await key('metrics', true),
  }
}

const ask = (path: string, token?: string, method = 'GET') =>
  fetch(`${relay.baseUrl}${path}`, { method, ...(token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }) })

async function scrape(): Promise<Map<string, ParsedMetric>> {
  const response = await ask('/metrics', keys.metrics)
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
  return parseExposition(await response.text())
}

test('the file of the database and the room on its disk are measured', async () => {
  await startRelay()
  const metrics = await scrape()
  expect(valueOf(metrics, 'sterna_store_database_bytes')).toBeGreaterThan(0)
  expect(valueOf(metrics, 'sterna_disk_free_bytes')).toBeGreaterThan(0)
})

test('counters tell what happened, and nothing else', async () => {
  await startRelay()
  const receiver = await startReceiver(status(500))
  await relay.call('POST', '/api/webhooks', { url: receiver.url, events: ['email.bounced'] })
  for (const to of [
    'ann@rcpt.example',
    'ben@big.example',
    'cat@odd.example',
    'gone@rcpt.example',
    'later@rcpt.example',
    'dan@simulator.test',
  ])
    await relay.send(to)
  const refused = await relay.call('POST', '/api/send', { from: 'app@other.example', to: 'a@rcpt.example', subject: 'x', text: 'x' })
  expect(refused.status).toBe(403)
  const client = await SmtpClient.connect(relay.submissionPort)
  await client.command('EHLO client.example')
  await client.command('STARTTLS')
  await client.startTls()
  await expect(client.login('wrong')).resolves.toMatchObject({ code: 535 })
  await expect.poll(() => receiver.posts.length).toBe(1)

  let metrics = new Map<string, ParsedMetric>()
  await expect
    .poll(async () => {
      relay.clock.advance(goodForMs)
      metrics = await scrape()
      const sum = (name: string) => metrics.get(name)?.samples.reduce((total, { value }) => total + value, 0)
      return [
        sum('sterna_delivery_attempts_total'),
        valueOf(metrics, 'sterna_queue_recipients', { state: 'in_hand' }),
        valueOf(metrics, 'sterna_webhook_deliveries', { state: 'pending' }),
        sum('sterna_webhook_attempts_total'),
      ]
    })
    .toEqual([6, 0, 1, 1])
  const value = (name: string, labels: Record<string, string> = {}) => valueOf(metrics, name, labels)
  const attempts = metrics.get('sterna_delivery_attempts_total')?.samples.filter((sample) => sample.value > 0)
  expect(attempts?.map(({ labels, value: count }) => [labels['outcome'], labels['provider'], count])).toEqual([
    ['delivered', 'google', 1],
    ['delivered', 'simulator', 1],
    ['delivered', 'other', 2],
    ['deferred', 'other', 1],
    ['bounced', 'other', 1],
  ])
  expect(value('sterna_delivery_failures_total', { outcome: 'bounced', category: 'invalid_recipient' })).toBe(1)
  expect(value('sterna_recipients_settled_total', { result: 'delivered' })).toBe(4)
  expect(value('sterna_recipients_settled_total', { result: 'bounced' })).toBe(1)
  expect(value('sterna_first_attempt_delay_seconds_count')).toBe(5)
  expect(value('sterna_attempt_duration_seconds_count')).toBe(5)
  expect(value('sterna_delivery_delay_seconds_count', { provider: 'google' })).toBe(1)
  expect(value('sterna_webhook_attempts_total', { outcome: 'retry' })).toBe(1)
  expect(value('sterna_messages_accepted_total', { door: 'api' })).toBe(6)
  expect(value('sterna_messages_refused_total', { door: 'api', reason: 'permission' })).toBe(1)
  expect(value('sterna_messages_refused_total', { door: 'smtp', reason: 'authentication' })).toBe(1)
  expect(value('sterna_http_requests_total', { status: '403' })).toBe(1)
  expect(value('sterna_queue_recipients', { state: 'waiting' })).toBe(1)
  expect(value('sterna_queue_deferred_recipients')).toBe(1)
  expect(value('sterna_connections', { port: 'submission' })).toBe(1)
  expect(value('sterna_dns_lookups_total', { result: 'ok' })).toBeGreaterThan(0)
  expect(value('sterna_store_commit_seconds_count')).toBeGreaterThan(0)
  expect(value('process_resident_memory_bytes')).toBeGreaterThan(10_000_000)
  expect(value('sterna_build_info', { version: 'test', node: process.versions.node })).toBe(1)
  expect(metrics.get('sterna_scrape_part_up')?.samples.filter((sample) => sample.value !== 1)).toEqual([])
  expect(histogramFaults(metrics)).toEqual([])
  expect([...metrics.keys()].filter((name) => /sender|rcpt|odd|example/.test(name))).toEqual([])
  expect(await (await ask('/metrics', keys.metrics)).text()).not.toMatch(/example|127\.0\.0|acc_|sterna_[a-z0-9]{20}/)
  await client.close()
})

test('mail that is overdue, held and in fault is seen', async () => {
  await startRelay()
  const held = await relay.send('later@rcpt.example')
  await expect.poll(async () => (await relay.recipients(held))['later@rcpt.example']?.status).toBe('deferred')
  await relay.relay.services.queueAdmin.hold(held)
  relay.relay.services.health.report('disk_full')
  relay.clock.advance(goodForMs)
  const metrics = await scrape()
  expect(valueOf(metrics, 'sterna_queue_recipients', { state: 'held' })).toBe(1)
  expect(valueOf(metrics, 'sterna_fault', { name: 'disk_full' })).toBe(1)
  expect(valueOf(metrics, 'sterna_fault', { name: 'queue_stalled' })).toBe(0)
  expect(valueOf(metrics, 'sterna_queue_oldest_overdue_seconds')).toBe(0)
})

test('on the port of the API it takes the permission metrics or operator, and a live key', async () => {
  await startRelay()
  expect((await ask('/metrics')).status).toBe(401)
  expect((await ask('/metrics', 'wrong')).status).toBe(401)
  expect((await ask('/metrics/', 'wrong')).status).toBe(401)
  expect((await ask('/metrics', keys.full)).status).toBe(403)
  expect((await ask('/metrics', relay.token)).status).toBe(403)
  expect((await ask('/metrics', keys.sandbox)).status).toBe(403)
  expect((await ask('/metrics', keys.operator)).status).toBe(200)
  expect((await ask('/metrics', keys.metrics, 'HEAD')).status).toBe(200)
  expect((await ask('/metrics', keys.metrics, 'POST')).status).toBe(405)
  expect((await ask('/metrics')).headers.get('www-authenticate')).toBe('Bearer')
})

test('a key for metrics opens nothing else, and no key of an account makes one', async () => {
  await startRelay()
  for (const path of ['/api/emails', '/api/queue', '/api/api-keys', '/api/events', '/api/audit']) {
    expect([path, (await ask(path, keys.metrics)).status]).toEqual([path, 403])
  }
  const make = (authorization: string) => relay.call('POST', '/api/api-keys', { name: 'x', permission: 'metrics' }, { authorization })
  expect((await make(`Bearer ${keys.full}`)).status).toBe(403)
  expect((await make(`Bearer ${keys.operator}`)).status).toBe(201)
  const client = await SmtpClient.connect(relay.submissionPort)
  await client.command('EHLO client.example')
  await client.command('STARTTLS')
  await client.startTls()
  await expect(client.login(keys.metrics)).resolves.toMatchObject({ code: 535 })
  await client.close()
})

test('its own listener answers the metrics to anybody, and nothing else', async () => {
  await startRelay()
  const { port } = relay.relay.addresses.metrics[0] ?? {}
  const at = (path: string, method = 'GET') => fetch(`http://127.0.0.1:${port}${path}`, { method })
  const response = await at('/metrics')
  expect(response.status).toBe(200)
  expect(valueOf(parseExposition(await response.text()), 'sterna_queue_recipients', { state: 'due' })).toBe(0)
  for (const path of [
    '/',
    '/healthz',
    '/api/emails',
    '/docs',
    '/openapi.json',
    '/metrics/',
    '//metrics',
    '/metrics/..',
    '/u/x',
    '/Metrics',
  ]) {
    const other = await at(path)
    expect([path, other.status, await other.text()]).toEqual([path, 404, ''])
  }
  expect((await at('/metrics', 'POST')).status).toBe(405)
  expect(await (await at('/metrics', 'HEAD')).text()).toBe('')
  expect((await at('/metrics?collect[]=x')).status).toBe(200)
})

test('without the setting there is no listener', async () => {
  await startRelay({ metrics_listen: 'none' })
  expect(relay.relay.addresses.metrics).toEqual([])
})
