import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../bench/free-port.ts'
import { createLog } from '../../src/platform/log.ts'
import { SmtpClient } from '../support/smtp-client.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'
import { waitForPort } from '../../bench/wait-for-port.ts'

const hosts = ['127.0.0.1', '::1']
const logged: string[] = []

async function relayOn(place: string, settings: Record<string, string> = {}): Promise<TestRelay> {
  const listen = { http_listen: place, submission_listen: place, submission_tls_listen: place, return_path_listen: place }
  const relay = await startTestRelay({ ...listen, ...settings }, {}, { log: createLog('debug', (line) => logged.push(line)) })
  onTestFinished(() => relay.stop())
  return relay
}

test('[::] takes IPv4 and IPv6 at every port', async () => {
  const { relay } = await relayOn('[::]:0', { http_tls_listen: '[::]:0', metrics_listen: '[::]:0' })
  const places = Object.values(relay.addresses).flat()
  expect(places).toHaveLength(6)
  for (const { port } of places) await Promise.all(hosts.map((host) => waitForPort(host, port)))
})

test('a client over IPv4 is shown and judged by its IPv4 address, wherever it comes in', async () => {
  const relay = await relayOn('[::]:0', { submission_trace_clients: 'true', http_failed_authentications_per_minute: '1' })
  await relay.call('POST', '/api/api-keys', { name: 'another' })
  const [entry] = await relay.relay.services.db.slowRead('select operation, address from audit order by id desc limit 1')
  expect(entry).toMatchObject({ operation: 'api_keys.create', address: '127.0.0.1' })

  const client = await SmtpClient.logIn(relay.submissionPort, relay.token)
  onTestFinished(() => client.close())
  for (const line of ['MAIL FROM:<app@sender.example>', 'RCPT TO:<delivered@simulator.test>', 'DATA']) await client.command(line)
  const { last } = await client.command('From: app@sender.example\r\nSubject: Hello\r\n\r\nHello\r\n.')
  expect(last).toMatch(/^250 /)
  const id = (await relay.call('GET', '/api/emails')).body.data[0].id
  const raw = await fetch(`${relay.baseUrl}/api/emails/${id}/source`, { headers: { authorization: `Bearer ${relay.token}` } })
  expect(await raw.text()).toMatch(/^Received: from \S+ \(\[127\.0\.0\.1\]\)/m)

  const stranger = await SmtpClient.connect(relay.returnPathPort)
  await stranger.command('EHLO mx.example')
  stranger.close()
  expect(logged.join('\n')).not.toContain('::ffff:')
})

test('an IPv4 address beside [::] for the same port listens by itself', async () => {
  const port = await freePort()
  const { relay } = await relayOn('[::]:0', { http_listen: `127.0.0.1:${port}, [::]:${port}` })
  expect(relay.addresses.http.map(({ address }) => address)).toEqual(['127.0.0.1', '::'])
  await Promise.all(hosts.map((host) => waitForPort(host, port)))
})

test('a listener on loopback of both families is open to neither from outside', async () => {
  const port = await freePort()
  const { relay } = await relayOn('[::]:0', { metrics_listen: `127.0.0.1:${port}, [::1]:${port}` })
  expect(relay.addresses.metrics.map(({ address }) => address)).toEqual(['127.0.0.1', '::1'])
  for (const host of ['127.0.0.1', '[::1]']) expect((await fetch(`http://${host}:${port}/metrics`)).status).toBe(200)
})
