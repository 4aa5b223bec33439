import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { createServer as createTlsServer } from 'node:https'
import { gzipSync } from 'node:zlib'
import { generate } from 'selfsigned'
import { expect, onTestFinished, test, vi } from 'vitest'
import { dnsResolver } from '../../../src/platform/dns/dns-resolver.ts'
import { isSuccess, WebhookPoster, type PosterSettings } from '../../../src/notify/webhook/post-webhook.ts'
import { startFakeDns, type FakeZone } from '../../support/fake-dns.ts'
import { dribble, hang, startReceiver, status } from '../../support/webhook-receiver.ts'

async function openPoster(settings: Partial<PosterSettings> = {}, zone: FakeZone = {}) {
  const dns = await startFakeDns(zone)
  const resolver = dnsResolver({ servers: [dns.server], timeoutMs: 10_000 })
  const poster = new WebhookPoster({ resolver }, { allowPrivateAddresses: true, timeoutMs: 10_000, ...settings })
  onTestFinished(async () => {
    await poster.close()
    resolver.close()
    await dns.close()
  })
  return { dns, post: (url: string) => poster.post({ url, headers: { 'content-type': 'application/json' }, body: Buffer.from('{"a":1}') }) }
}

/** A listener that only counts who comes. */
async function startCounter(host: string, port = 0) {
  let connections = 0
  const server = createServer((socket) => {
    connections++
    socket.on('error', () => {}).end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
  })
  await new Promise<void>((resolve) => server.listen(port, host, resolve))
  onTestFinished(() => void server.close())
  return { port: (server.address() as AddressInfo).port, connections: () => connections }
}

test('only 2xx is a success, and redirects are not followed', async () => {
  const { post } = await openPoster()
  const target = await startReceiver(status(200))
  const receiver = await startReceiver(status(200))
  for (const code of [200, 201, 204, 299, 300, 301, 302, 307, 308, 400, 404, 410, 429, 500, 503]) {
    receiver.behave = status(code, { location: target.url })
    const result = await post(receiver.url)
    expect(result).toMatchObject({ statusCode: code, error: null })
    expect(isSuccess(result)).toBe(code < 300)
  }
  expect(target.posts).toEqual([])
  expect(receiver.posts[0]).toMatchObject({ body: '{"a":1}', headers: { 'content-type': 'application/json', 'content-length': '7' } })
  expect(receiver.posts[0]?.headers).not.toHaveProperty('accept-encoding')
})

test('keeps the start of the body verbatim', async () => {
  const { post } = await openPoster()
  const receiver = await startReceiver(status(500, {}, 'no \0 luck'))
  expect((await post(receiver.url)).response).toBe('no \u{fffd} luck')
  receiver.behave = (res) => void res.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('a'.repeat(10_000_000)))
  const zipped = await post(receiver.url)
  expect(isSuccess(zipped)).toBe(true)
  expect(zipped.response?.length).toBeLessThanOrEqual(4_096)
  receiver.behave = (res, { socket }) => {
    res.writeHead(200)
    const more = (): void => void (socket.destroyed || res.write('x'.repeat(16_384), () => setImmediate(more)))
    more()
  }
  expect(await post(receiver.url)).toMatchObject({ statusCode: 200, response: 'x'.repeat(4_096) })
})

test('cuts off receivers that are silent, slow, or never finish their headers', async () => {
  const { post } = await openPoster({ timeoutMs: 300 })
  const receiver = await startReceiver(hang)
  const late = { statusCode: null, error: 'No response within 0.3 seconds.' }
  expect(await post(receiver.url)).toMatchObject(late)
  receiver.behave = dribble('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', 50)
  expect(await post(receiver.url)).toMatchObject(late)
  receiver.behave = dribble('1', 20)
  expect(isSuccess(await post(receiver.url))).toBe(false)
  receiver.behave = (_res, { socket }) => {
    socket.write('HTTP/1.1 200 OK\r\n')
    const more = (): void => void (socket.destroyed || socket.write(`X-More: ${'x'.repeat(1_000)}\r\n`, () => setImmediate(more)))
    socket.on('error', () => {})
    more()
  }
  expect(await post(receiver.url)).toMatchObject({ statusCode: null })
  receiver.behave = (res) => void res.writeHead(200, { 'content-length': '100' }).write('half')
  expect(await post(receiver.url)).toMatchObject({ statusCode: 200, response: 'half', error: null })
})

test('a failed connection is a failure with a reason', async () => {
  const { post } = await openPoster({}, { 'down.example': 'servfail' })
  const counter = await startCounter('127.0.0.1')
  const receiver = await startReceiver((_res, { socket }) => socket.destroy())
  expect((await post(receiver.url)).error).toMatch(/closed|reset/i)
  for (const name of ['nowhere.example', 'down.example']) {
    expect(await post(`http://${name}:${counter.port}/`)).toMatchObject({ statusCode: null, error: `The name ${name} has no address.` })
  }
})

test('why there is no response is said in plain words, with the code', async () => {
  const { post } = await openPoster()
  const receiver = await startReceiver(status(200))
  expect((await post(receiver.url.replace('http:', 'https:'))).error).toBe(
    'The other side does not speak TLS on this port (ERR_SSL_WRONG_VERSION_NUMBER).',
  )
  const counter = createServer().listen(0, '127.0.0.1')
  await once(counter, 'listening')
  const { port } = counter.address() as AddressInfo
  counter.close()
  await once(counter, 'close')
  expect((await post(`http://127.0.0.1:${port}/`)).error).toBe(
    'The connection was refused: nothing listens there, or a firewall is in the way (ECONNREFUSED).',
  )
})

test('an untrusted certificate is a failure', async () => {
  const { post } = await openPoster()
  const { cert, private: key } = await generate([{ name: 'commonName', value: 'localhost' }])
  let requests = 0
  const server = createTlsServer({ cert, key }, (_req, res) => {
    requests++
    res.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  expect((await post(`https://localhost:${(server.address() as AddressInfo).port}/`)).error).toBe(
    'Its certificate is self-signed (DEPTH_ZERO_SELF_SIGNED_CERT).',
  )
  expect(requests).toBe(0)
})

const disguises = [
  '127.0.0.1',
  '2130706433',
  '0x7f000001',
  '0x7f.1',
  '0177.0.0.1',
  '017700000001',
  '127.1',
  '127.0.1',
  '0',
  '0.0.0.0',
  'localhost',
  'LOCALHOST',
  'localhost.',
  'app.localhost',
  '[::1]',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[0:0:0:0:0:ffff:7f00:0001]',
  '①②⑦.⓪.⓪.①',
  '127。0。0。1',
  '%31%32%37.0.0.1',
  '[64:ff9b::7f00:1]',
  '[2002:7f00:1::]',
  'private.example',
  'mapped.example',
  'six.example',
  'alias.example',
  'zero.example',
]
const zone: FakeZone = {
  'private.example': { a: ['127.0.0.1'] },
  'mapped.example': { aaaa: ['::ffff:127.0.0.1'] },
  'six.example': { aaaa: ['::1'] },
  'alias.example': { cname: 'private.example' },
  'zero.example': { a: ['0.0.0.0'], aaaa: ['::'] },
}

test('refuses our own addresses in every notation', async () => {
  const { post } = await openPoster({ allowPrivateAddresses: false, timeoutMs: 2_000 }, zone)
  const counter = await startCounter('::')
  for (const host of disguises) {
    const { statusCode, error } = await post(`http://${host}:${counter.port}/`)
    expect(statusCode, host).toBeNull()
    expect(error, host).toContain('is not a public address')
  }
  expect(counter.connections()).toBe(0)
  vi.stubEnv('HTTP_PROXY', `http://127.0.0.1:${counter.port}`)
  vi.stubEnv('NODE_USE_ENV_PROXY', '1')
  onTestFinished(() => void vi.unstubAllEnvs())
  expect((await post(`http://private.example:${counter.port}/`)).statusCode).toBeNull()
  expect(counter.connections()).toBe(0)
})

test('link-local addresses stay refused if private ones are allowed', async () => {
  const { post } = await openPoster({ timeoutMs: 2_000 }, { 'meta.example': { a: ['169.254.169.254'] } })
  for (const host of ['169.254.169.254', '[fe80::1]', '[::ffff:a9fe:a9fe]', 'meta.example']) {
    expect((await post(`http://${host}/latest/meta-data`)).error, host).toContain('is not a public address')
  }
})

test('connects only to an allowed address of a name, exactly as it was looked up', async () => {
  const { dns, post } = await openPoster(
    { allowPrivateAddresses: ['127.0.0.2/32'] },
    { 'mixed.example': { a: ['127.0.0.1', '127.0.0.2'] } },
  )
  const allowed = await startCounter('127.0.0.2')
  const forbidden = await startCounter('127.0.0.1', allowed.port)
  expect((await post(`http://mixed.example:${allowed.port}/`)).statusCode).toBe(200)
  expect([allowed.connections(), forbidden.connections()]).toEqual([1, 0])
  expect(dns.queries.filter(({ type }) => type === 'A')).toHaveLength(1)
})
