import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { connect as connectTcp, type Socket } from 'node:net'
import { join } from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../bench/free-port.ts'
import { openAccount } from '../../src/platform/certificate/acme-account.ts'
import { authorityName } from '../../src/platform/certificate/acme-certificates.ts'
import { AcmeState } from '../../src/platform/certificate/acme-state.ts'
import { certificateRows, issuedId, openRow, type CertificateRow } from '../../src/platform/certificate/certificate-rows.ts'
import { AcmeSession } from '../../src/platform/certificate/acme-session.ts'
import { createLog, silentLog } from '../../src/platform/log.ts'
import { startFakeMx, type FakeMx } from '../support/fake-mx.ts'
import { startFakeDns, type FakeDns, type FakeZone } from '../support/fake-dns.ts'
import { startPebble, type Pebble } from '../support/pebble.ts'
import { settableClock } from '../support/settable-clock.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'
import { certificateServices } from '../support/certificate-services.ts'
import { passTime, startTwoNodes, type TestNode } from '../support/two-nodes.ts'

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

const write = (sql: string, params = {}) => relay.relay.services.db.write([{ sql, params }])
const kept = () => new AcmeState(relay.relay.services, authorityName(pebble.directory))
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

test('a restart keeps account and certificates; what is damaged does not stop it and is replaced', async () => {
  const before = pebble.posted.length
  await relay.restart()
  await reload()
  expect([await atHttps(server), await atHttps(web), await atHttps(tracking)]).toEqual([got(server)[0], got(web)[0], got(tracking)[0]])
  expect(pebble.posted.length).toBe(before)

  await write('update certificate set chain = :chain where name = :web', { chain: '-----BEGIN CERTIFICATE-----', web })
  await write('update acme set account = :account', { account: Buffer.from('nonsense') })
  await relay.restart()
  await expect.poll(() => got(web)).toHaveLength(2)
  expect(await atHttps(web)).toBe(got(web)[1])
  expect(await atHttps(server)).toBe(got(server)[0])
})

test('files of an earlier version are taken into the database, and nothing is ordered for them', async () => {
  const { services } = relay.relay
  const [row] = await certificateRows(services.db, { authority: kept().authority, id: issuedId(kept().authority, web) })
  const { cert, key } = openRow(row as CertificateRow, services.secrets)
  const [account, attempts] = await Promise.all([kept().account(), kept().attempts()])
  const directory = join(relay.dataDir, 'tls', 'acme', authorityName(pebble.directory))
  await write('delete from certificate where name = :web', { web })
  await write('delete from acme')
  const before = pebble.orders()
  await relay.restart(() => {
    mkdirSync(directory, { recursive: true })
    writeFileSync(join(directory, `${web}.pem`), `${cert}\n${key}`)
    writeFileSync(join(directory, 'account.json'), JSON.stringify(account))
    writeFileSync(join(directory, 'attempts.json'), JSON.stringify(attempts))
    writeFileSync(join(directory, `${tracking}.pem`), '')
  })
  await reload()
  expect([await atHttps(web), pebble.orders()]).toEqual([got(web).at(-1), before])
  expect(await kept().account()).toEqual(account)
  // They stay for an earlier version, but for what cannot be used, until they are renewed.
  expect(readdirSync(directory)).toContain(`${web}.pem`)
})

test('a closed account is replaced by a new one', async () => {
  const { url = null, key = '' } = (await kept().account()) ?? {}
  const authority = {
    directory: pebble.directory,
    ca: readFileSync(pebble.ca, 'utf8'),
    userAgent: 'test',
    signal: new AbortController().signal,
  }
  const session = new AcmeSession(authority, key)
  session.account = url
  expect((await session.post(url ?? '', { status: 'deactivated' })).body['status']).toBe('deactivated')
  const count = got(web).length
  await write("update certificate set chain = '' where name = :web", { web })
  // It would be taken from there.
  rmSync(join(relay.dataDir, 'tls', 'acme'), { recursive: true, force: true })
  await kept().keepAccount({ directory: pebble.directory, url, key, madeAt: 0 })
  await relay.restart()
  await expect.poll(() => got(web)).toHaveLength(count + 1)
  expect((await kept().account())?.url).not.toBe(url)
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
  const state = new AcmeState(await certificateServices(), 'pebble')
  const settings = { authority, state, email: null, log: silentLog, now: Date.now() }
  await expect(openAccount({ ...settings, externalAccount: null })).rejects.toMatchObject({ type: 'externalAccountRequired' })
  await expect(openAccount({ ...settings, externalAccount: { keyId: 'kid-1', macKey: 'AAAA' } })).rejects.toThrow()
  const { account } = await openAccount({ ...settings, externalAccount: { keyId: 'kid-1', macKey } })
  expect(account).toMatch(/^https:/)
  expect((await openAccount({ ...settings, externalAccount: null })).account).toBe(account)
})

test('behind a balancer, the first order waits until it has seen that the node is there', async () => {
  const [name, host] = ['behind.relay.example', '127.0.0.8']
  const httpPort = await freePort()
  const ofProxied: FakeZone = {}
  const names = await startFakeDns(ofProxied)
  onTestFinished(() => names.close())
  const authority = await startPebble({ nameServer: names.server, httpPort, tlsPort: 1 })
  onTestFinished(() => authority.stop())
  const itsClock = settableClock(Date.now())
  const proxied = await startTestRelay(
    {
      hostname: name,
      http_listen: `${host}:${httpPort}`,
      dns_servers: names.server,
      trusted_proxies: '192.0.2.1/32',
      acme_enabled: 'true',
      acme_directory: authority.directory,
      acme_ca: authority.ca,
    },
    {},
    { clock: itsClock },
  )
  onTestFinished(() => proxied.stop())
  // An attempt by now would find no address, and be repeated after a minute.
  await proxied.relay.services.db.slowRead('select 1')
  ofProxied[name] = { a: [host] }
  itsClock.advance(5_000)
  await expect
    .poll(() => proxied.relay.services.db.read('select name from certificate where authority <> :own', { own: '' }))
    .toEqual([{ name }])
  expect(authority.orders()).toBe(1)
})

/** Two nodes; the authority asks the second one, wherever the order was placed. */
async function startPair(more: Record<string, string> = {}) {
  const [name, hostA, hostB] = ['pair.relay.example', '127.0.0.6', '127.0.0.7']
  const zone: FakeZone = {}
  const names = await startFakeDns(zone)
  onTestFinished(() => names.close())
  const [httpPort, secure] = [await freePort(), await freePort()]
  const authority = await startPebble({ nameServer: names.server, httpPort, tlsPort: secure })
  onTestFinished(() => authority.stop())
  const ports = (host: string) => ({ http_listen: `${host}:${httpPort}`, http_tls_listen: `${host}:${secure}` })
  const settings = {
    hostname: name,
    base_url: `https://${name}`,
    dns_servers: names.server,
    acme_enabled: 'true',
    acme_directory: authority.directory,
    acme_ca: authority.ca,
    // So that nothing is ordered before the second can be asked.
    trusted_proxies: '192.0.2.1/32',
    ...ports(hostA),
    ...more,
  }
  const now = Date.now()
  const { a, b } = await startTwoNodes(settings, {}, { a: now, b: now, ofB: ports(hostB) })
  zone[name] = { a: [hostB] }
  const shownAt = async (host: string): Promise<string | null> => {
    const socket = connectTcp({ host, port: secure })
    const seen = await new Promise<TLSSocket>((resolve, reject) => {
      const client = connect({ socket, servername: name, rejectUnauthorized: false }, () => resolve(client)).on('error', reject)
    })
    const certificate = seen.getPeerX509Certificate()
    seen.destroy()
    return certificate?.issuer.includes('Pebble') ? certificate.fingerprint256 : null
  }
  return { a, b, authority, atA: () => shownAt(hostA), atB: () => shownAt(hostB) }
}

const pass = (...nodes: TestNode[]): Promise<void> => passTime(500, ...nodes)

test.each(['http-01', 'tls-alpn-01'])('one of two nodes orders, the other answers %s, and both use the certificate', async (challenge) => {
  const { a, b, authority, atA, atB } = await startPair({ acme_challenges: challenge })
  await expect
    .poll(async () => {
      await pass(a, b)
      return atA()
    })
    .not.toBeNull()
  await expect
    .poll(async () => {
      await pass(a, b)
      return atB()
    })
    .toBe(await atA())
  expect(authority.orders()).toBe(1)
})

test('if the node dies that has placed an order, the other goes on with it', async () => {
  const { a, b, authority, atB } = await startPair()
  // It waits until the other has seen what to answer, whose time stands still from then on.
  await expect
    .poll(async () => {
      await pass(a, b)
      return authority.orders()
    })
    .toBe(1)
  await expect.poll(() => a.relay.services.db.read('select token from acme_answer')).toHaveLength(1)
  for (let seconds = 0; seconds < 70; seconds++) {
    b.clock.advance(1_000)
    await b.relay.services.db.read('select 1').then(() => new Promise(setImmediate))
  }
  await expect
    .poll(async () => {
      b.clock.advance(1_000)
      await b.relay.reload(b.relay.services.config)
      return atB()
    })
    .not.toBeNull()
  expect(authority.orders()).toBe(1)
  let hasStopped = false
  void a.relay.stop().then(() => (hasStopped = true))
  await expect
    .poll(() => {
      a.clock.advance(100)
      return hasStopped
    })
    .toBe(true)
})
