import { request } from 'node:http'
import { request as secureRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../bench/free-port.ts'
import { startHaproxy, type Haproxy } from '../support/haproxy.ts'
import { SmtpClient } from '../support/smtp-client.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

/**
 * HAProxy stands before every port, by both versions of the PROXY protocol, and once as a proxy of HTTP; clients come from addresses of
 * their own.
 */
const proxyHost = '127.0.3.20'
/** Where it calls us from. */
const proxySource = '127.0.3.21'
const versions = { v1: 'send-proxy', v2: 'send-proxy-v2', 'v2 with more': 'send-proxy-v2 proxy-v2-options crc32c,unique-id' }
const ports = new Map<string, number>()
let relay: TestRelay
let haproxy: Haproxy | undefined
let clients = 0
const newClient = (): string => `127.0.4.${++clients}`

beforeAll(async () => {
  relay = await startTestRelay({
    trusted_proxies: `${proxySource}/32`,
    http_tls_listen: '127.0.0.1:0',
    metrics_listen: '127.0.0.1:0',
    http_failed_authentications_per_minute: '1',
    submission_max_connections_per_address: '1',
    return_path_messages_per_minute: '1',
  })
  const configuration = await settingsOf(relay.relay.addresses)
  haproxy = await startHaproxy(configuration, { host: proxyHost, ports: ports.values() })
})

afterAll(async () => {
  await haproxy?.stop()
  await relay.stop()
})

/** A listener for each of our ports and each version, and one that speaks HTTP itself. Each asks now and then whether we are there. */
async function settingsOf({ http, submission, returnPath, metrics }: TestRelay['relay']['addresses']): Promise<string> {
  const ours = {
    http: http[0],
    https: http[1],
    submission: submission[0],
    submissions: submission[1],
    returnPath: returnPath[0],
    metrics: metrics[0],
  }
  const lines = [
    'global',
    'defaults',
    '  timeout connect 5s',
    '  timeout client 30s',
    '  timeout server 30s',
    '  unique-id-format %{+X}o%ci:%cp',
  ]
  const listen = async (name: string, mode: string, place: AddressInfo | undefined, words: string): Promise<void> => {
    ports.set(name, await freePort())
    lines.push(`listen ${name.replaceAll(' ', '_')}`, `  mode ${mode}`, `  bind ${proxyHost}:${ports.get(name)}`)
    if (mode === 'http') lines.push('  option forwardfor')
    lines.push(`  server sterna 127.0.0.1:${place?.port} source ${proxySource} ${words} check inter 200ms`)
  }
  for (const [port, place] of Object.entries(ours)) {
    for (const [version, words] of Object.entries(versions)) await listen(`${port} ${version}`, 'tcp', place, words)
  }
  await listen('http forwarded', 'http', ours.http, '')
  return `${lines.join('\n')}\n`
}

const portOf = (name: string): number => ports.get(name) ?? 0

async function smtp(name: string, localAddress: string, how: { tls?: boolean; greeting?: boolean } = {}): Promise<SmtpClient> {
  const client = await SmtpClient.connect(portOf(name), { host: proxyHost, localAddress, ...how })
  onTestFinished(() => client.close())
  return client
}

/** The status of a request without a key, or for the metrics. */
function get(name: string, localAddress: string, path: string): Promise<number | undefined> {
  const options = { host: proxyHost, port: portOf(name), path, localAddress, agent: false, rejectUnauthorized: false }
  return new Promise((resolve, reject) => {
    const sent = (name.startsWith('https') ? secureRequest : request)(options, (answer) => resolve(answer.resume().statusCode))
    sent.on('error', reject).end()
  })
}

test.each([...Object.keys(versions).flatMap((version) => [`http ${version}`, `https ${version}`]), 'http forwarded'])(
  'each client behind it has limits of its own: %s',
  async (name) => {
    const [one, other] = [newClient(), newClient()]
    expect(await get(name, one, '/api/emails')).toBe(401)
    expect(await get(name, one, '/api/emails')).toBe(429)
    expect(await get(name, other, '/api/emails')).toBe(401)
  },
)

test.each(Object.keys(versions))('each client behind it has connections of its own for submission: %s', async (version) => {
  for (const tls of [false, true]) {
    const name = `${tls ? 'submissions' : 'submission'} ${version}`
    const [one, other] = [newClient(), newClient()]
    await smtp(name, one, { tls })
    await smtp(name, other, { tls })
    const second = smtp(name, one, { tls, greeting: false }).then((client) => client.reply())
    await (tls ? expect(second).rejects.toThrow() : expect(second).resolves.toMatchObject({ code: 421 }))
  }
})

test.each(Object.keys(versions))('each client behind it has a rate of its own on the return path: %s', async (version) => {
  const begin = async (address: string): Promise<number> => {
    const client = await smtp(`returnPath ${version}`, address)
    await client.command('EHLO mx.example')
    return (await client.command('MAIL FROM:<>')).code
  }
  const [one, other] = [newClient(), newClient()]
  expect([await begin(one), await begin(one), await begin(other)]).toEqual([250, 451, 250])
})

test.each(Object.keys(versions))('the metrics are told through it: %s', async (version) => {
  expect(await get(`metrics ${version}`, newClient(), '/metrics')).toBe(200)
})

test('its health checks never failed', () => {
  expect(haproxy?.output()).not.toMatch(/is DOWN/)
})
