import { readFileSync, writeFileSync } from 'node:fs'
import { connect as connectTcp, type Socket } from 'node:net'
import { join } from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../bench/free-port.ts'
import { openAccount } from '../../src/platform/certificate/acme-account.ts'
import { acmeDirectory } from '../../src/platform/certificate/acme-certificates.ts'
import { AcmeSession } from '../../src/platform/certificate/acme-session.ts'
import { createLog, silentLog } from '../../src/platform/log.ts'
import { startFakeMx, type FakeMx } from '../support/fake-mx.ts'
import { startFakeDns, type FakeDns, type FakeZone } from '../support/fake-dns.ts'
import { startPebble, type Pebble } from '../support/pebble.ts'
import { settableClock } from '../support/settable-clock.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'
import { testDirectory } from '../support/temporary-directory.ts'

/**
 * A whole relay gets its certificates from Pebble. Port 80 of its hostname leads elsewhere, so HTTP-01 fails there and TLS-ALPN-01 must
 * do; the other names prove themselves by HTTP-01.
 */
const [server, web, tracking] = ['mail.relay.example', 'app.relay.example', 'links.sender.example']
const [httpHost, tlsOnlyHost, mxHost] = ['127.0.0.1', '127.0.0.2', '127.0.0.4']
const minute = 60_000
const day = 24 * 60 * minute
const clock = settableClock(Date.now())
const logged: Record<string, any>[] = []
const zone: FakeZone = {
  'rcpt.example': { mx: [[10, 'mx.rcpt.example']] },
  'mx.rcpt.example': { a: [mxHost] },
  [server]: { a: [tlsOnlyHost] },
  [web]: { a: [httpHost] },
}
let dns: FakeDns
let pebble: Pebble
let relay: TestRelay
let tlsPort = 0
let mx: FakeMx

beforeAll(async () => {
  const httpPort = await freePort()
  tlsPort = await freePort()
  dns = await startFakeDns(zone)
  mx = await startFakeMx({ host: mxHost })
  pebble = await startPebble({ nameServer: dns.server, httpPort, tlsPort })
  relay = await startTestRelay(
    {
      hostname: server,
      base_url: `https://${web}`,
      http_listen: `${httpHost}:${httpPort}`,
      http_tls_listen: `${httpHost}:${tlsPort},${tlsOnlyHost}:${tlsPort}`,
      dns_servers: dns.server,
      delivery_port: String(mx.port),
      acme_enabled: 'true',
      acme_directory: pebble.directory,
      acme_ca: pebble.ca,
      acme_email: 'operator@relay.example',
      // What is asked here over plain HTTP are names that no client could look up.
      http_redirect_to_https: 'false',
    },
    {},
    { clock, log: createLog('info', (line) => logged.push(JSON.parse(line))) },
  )
})

afterAll(async () => {
  await relay?.stop()
  await pebble?.stop()
  await mx?.close()
  await dns?.close()
})

/** A file of what the relay has of Pebble. */
const file = (name: string): string => join(acmeDirectory(relay.dataDir, pebble.directory), name)
const got = (name: string): string[] =>
  logged.filter((line) => line['message'] === 'got a certificate' && line['name'] === name).map((line) => line['fingerprint'])
const failed = (name: string) => logged.filter((line) => line['nextAttempt'] !== undefined && line['name'] === name)
/** What SIGHUP does. */
const reload = () => relay.relay.reload(relay.relay.services.config)
const health = async (): Promise<string[]> => (await relay.call('GET', '/healthz')).body.faults.map(({ message }: any) => message)

/** The fingerprint of the certificate, which must be valid for the name in the eyes of a client that trusts Pebble. */
function shown(socket: Socket, servername: string, expected = servername): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const secure: TLSSocket = connect({ socket, servername, ca: pebble.root, checkServerIdentity: () => undefined }, () => {
    const certificate = secure.getPeerX509Certificate()
    if (certificate?.checkHost(expected) === undefined) reject(new Error(`not for ${expected}: ${certificate?.subjectAltName}`))
    else resolve(certificate.fingerprint256)
    secure.destroy()
  })
  secure.on('error', reject)
  return promise
}

const atHttps = (name: string, expected = name): Promise<string> => shown(connectTcp({ host: httpHost, port: tlsPort }), name, expected)
const atSubmission = (name: string): Promise<string> =>
  shown(connectTcp({ host: httpHost, port: relay.relay.addresses.submission[1]?.port ?? 0 }), name)

async function afterStartTls(port: number, name: string): Promise<string> {
  const socket = connectTcp({ host: httpHost, port })
  for (const line of ['', 'EHLO client.example\r\n', 'STARTTLS\r\n']) {
    socket.write(line)
    await new Promise((resolve) => socket.once('data', resolve))
  }
  return shown(socket, name)
}

test('each name gets a certificate by the challenge that works; a failure is told with what to do, and backed off', async () => {
  await expect.poll(() => got(web)).toHaveLength(1)
  expect(await atHttps(web)).toBe(got(web)[0])
  expect(failed(server)).toEqual([expect.objectContaining({ level: 'warn', type: 'connection', challenge: 'http-01' })])
  expect(failed(server)[0]?.['message']).toMatch(/port 80 of this name must lead to http\.listen/)
  await expect.poll(health).toEqual([expect.stringMatching(/^There is no new certificate for mail\.relay\.example: .*port 80/)])
  expect((await relay.call('GET', '/healthz')).status).toBe(200)

  const before = pebble.posted.length
  await reload()
  await reload()
  expect(pebble.posted.length).toBe(before)

  clock.advance(2 * minute)
  await reload()
  await expect.poll(() => got(server)).toHaveLength(1)
  await expect.poll(health).toEqual([])
  const { submissionPort, returnPathPort } = relay
  const seen = [atHttps(server), atSubmission(server), afterStartTls(submissionPort, server), afterStartTls(returnPathPort, server)]
  expect(new Set(await Promise.all(seen))).toEqual(new Set(got(server)))
  expect(await atHttps(web)).toBe(got(web)[0])
})

test('a name that a stranger asks for gets the certificate of the server, and is never ordered', async () => {
  zone['stranger.example'] = { a: [httpHost] }
  const before = pebble.orders()
  expect(await atHttps('stranger.example', server)).toBe(got(server)[0])
  await reload()
  expect(pebble.orders()).toBe(before)
})

/** Where the link in a tracked mail leads, once it has arrived. */
async function trackedLink(): Promise<string | undefined> {
  const count = mx.messages.length
  await relay.send('ann@rcpt.example', { html: '<a href="https://shop.example/">Shop</a>', tracking: { clicks: true } })
  await expect.poll(() => mx.messages.length).toBe(count + 1)
  return /https:\/\/[a-z.]+\/t\/c/.exec(String(mx.messages.at(-1)?.data).replaceAll('=\r\n', ''))?.[0]
}

test('a tracking host gets one once its record is verified, and links lead there from then on', async () => {
  await relay.call('PATCH', '/api/domains/sender.example', { tracking_subdomain: 'links' })
  await reload()
  expect(relay.relay.services.sendingDomains.trackingHosts).toEqual([])
  zone[tracking] = { cname: web }
  const [domain] = relay.relay.services.sendingDomains.find('sender.example')
  for (const { name, type, value, priority } of relay.relay.services.sendingDomains.records(domain as NonNullable<typeof domain>)) {
    if (type === 'TXT') zone[name] = { ...(zone[name] as object), txt: [value] }
    if (type === 'MX') zone[name] = { ...(zone[name] as object), mx: [[priority ?? 0, value]] }
  }
  await relay.relay.services.sendingDomains.verify(domain?.id ?? '')
  expect(await trackedLink()).toBe(`https://${web}/t/c`)
  await reload()
  await expect.poll(() => got(tracking)).toHaveLength(1)
  expect(await atHttps(tracking)).toBe(got(tracking)[0])
  expect(await trackedLink()).toBe(`https://${tracking}/t/c`)
})

test('a restart keeps account and certificates; files that are damaged do not stop it and are replaced', async () => {
  const before = pebble.posted.length
  await relay.restart()
  await reload()
  expect([await atHttps(server), await atHttps(web), await atHttps(tracking)]).toEqual([got(server)[0], got(web)[0], got(tracking)[0]])
  expect(pebble.posted.length).toBe(before)

  await relay.restart(() => {
    writeFileSync(file(`${web}.pem`), readFileSync(file(`${web}.pem`), 'utf8').slice(0, 500))
    writeFileSync(file('account.json'), '')
  })
  await expect.poll(() => got(web)).toHaveLength(2)
  expect(await atHttps(web)).toBe(got(web)[1])
  expect(await atHttps(server)).toBe(got(server)[0])
})

test('a closed account is replaced by a new one', async () => {
  const { url, key } = JSON.parse(readFileSync(file('account.json'), 'utf8'))
  const authority = {
    directory: pebble.directory,
    ca: readFileSync(pebble.ca, 'utf8'),
    userAgent: 'test',
    signal: new AbortController().signal,
  }
  const session = new AcmeSession(authority, key)
  session.account = url
  expect((await session.post(url, { status: 'deactivated' })).body['status']).toBe('deactivated')
  await relay.restart(() => {
    writeFileSync(file(`${web}.pem`), '')
    writeFileSync(file('account.json'), JSON.stringify({ directory: pebble.directory, url, key, madeAt: 0 }))
  })
  await expect.poll(() => got(web)).toHaveLength(3)
  expect(JSON.parse(readFileSync(file('account.json'), 'utf8')).url).not.toBe(url)
})

test('a rate limit is waited for as long as the authority asks, and then all is renewed without a restart', async () => {
  const before = [server, web, tracking].map((name) => got(name).length)
  pebble.limit = { detail: 'too many new orders (300) from this account in the last 3h0m0s', retryAfter: '7200' }
  clock.advance(61 * day)
  const orders = pebble.orders()
  await reload()
  await expect.poll(() => failed(server).at(-1)).toMatchObject({ type: 'rateLimited' })
  expect(Date.parse(failed(server).at(-1)?.['nextAttempt'])).toBeGreaterThanOrEqual(clock.now() + 7200_000)
  // The others are not even asked for: the limit is the account's.
  expect(pebble.orders()).toBe(orders + 1)
  expect(await atHttps(server)).toBe(got(server)[0])
  clock.advance(60 * minute)
  await reload()
  expect(pebble.orders()).toBe(orders + 1)

  pebble.limit = null
  clock.advance(61 * minute)
  await reload()
  for (const [i, name] of [web, tracking].entries()) await expect.poll(() => got(name).length).toBeGreaterThan(before[i + 1] ?? 0)
  expect(got(server)).toHaveLength(2)
  expect(await afterStartTls(relay.submissionPort, server)).toBe(got(server)[1])
  expect(await atSubmission(server)).toBe(got(server)[1])
  expect(await atHttps(web)).toBe(got(web).at(-1))
})

test('an authority that requires external account binding accepts it, and refuses an account without it', async () => {
  const macKey = 'zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W'
  const strict = await startPebble({ nameServer: dns.server, httpPort: 1, tlsPort: 1, externalAccounts: { 'kid-1': macKey } })
  onTestFinished(() => strict.stop())
  const { signal } = new AbortController()
  const authority = { directory: strict.directory, ca: readFileSync(strict.ca, 'utf8'), userAgent: 'test', signal }
  const settings = { authority, directory: testDirectory(), email: null, log: silentLog, now: Date.now() }
  await expect(openAccount({ ...settings, externalAccount: null })).rejects.toMatchObject({ type: 'externalAccountRequired' })
  await expect(openAccount({ ...settings, externalAccount: { keyId: 'kid-1', macKey: 'AAAA' } })).rejects.toThrow()
  const { account } = await openAccount({ ...settings, externalAccount: { keyId: 'kid-1', macKey } })
  expect(account).toMatch(/^https:/)
  expect((await openAccount({ ...settings, externalAccount: null })).account).toBe(account)
})
