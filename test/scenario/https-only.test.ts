import { writeFileSync } from 'node:fs'
import { request as plainRequest, type IncomingMessage } from 'node:http'
import { request as tlsRequest } from 'node:https'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { proxyHeaderV1 } from '../support/proxy-header.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'
import { processDirectory } from '../support/temporary-directory.ts'
import { testCertificate } from '../support/test-certificates.ts'

const origin = 'https://relay.example'
const page = { accept: 'text/html' }

/** A relay with a certificate for these names; none: it signs one itself. */
async function relayWith(names: string[], settings: Record<string, string> = {}): Promise<TestRelay> {
  const files: Record<string, string> = {}
  if (names.length > 0) {
    const certificate = await testCertificate(names)
    for (const part of ['cert', 'key'] as const) {
      const file = (files[`tls_${part}`] = join(processDirectory(), part))
      writeFileSync(file, certificate[part])
    }
  }
  return startTestRelay({ base_url: origin, http_tls_listen: '127.0.0.1:0', ...files, ...settings })
}

/** With a certificate for its name; 127.0.0.2 is a trusted proxy. */
let certified: TestRelay

beforeAll(async () => {
  certified = await relayWith(['relay.example'], { trusted_proxies: '127.0.0.2/32' })
})

afterAll(() => certified.stop())

interface Asked {
  method?: string
  headers?: Record<string, string>
  tls?: boolean
  localAddress?: string
}

async function ask(
  { relay }: TestRelay,
  path: string,
  { method = 'GET', headers = {}, tls = false, localAddress = '127.0.0.1' }: Asked = {},
) {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const options = { host: '127.0.0.1', port: relay.addresses.http[tls ? 1 : 0]?.port, path, method, localAddress, agent: false }
  const sent = { host: 'relay.example', ...headers }
  const request = tls ? tlsRequest({ ...options, headers: sent, rejectUnauthorized: false }) : plainRequest({ ...options, headers: sent })
  request.once('response', resolve).once('error', reject).end()
  const response = await promise
  const text = (await response.toArray()).join('')
  const { location, 'strict-transport-security': hsts } = response.headers
  return { status: response.statusCode, location, hsts, text }
}

test('with a certificate, plain requests are sent on to https', async () => {
  const sentOn: [string, Asked?][] = [
    ['/'],
    ['/', { headers: page }],
    ['/emails?status=bounced', { headers: page }],
    ['/docs', { headers: { host: '192.0.2.1' } }],
    ['/api/emails'],
    ['/api/send', { method: 'POST' }],
    ['/setup/token', { headers: page }],
    ['/.well-known/acme-challenge/unknown'],
    // Whoever is no trusted proxy may say what they like.
    ['/', { headers: { 'x-forwarded-proto': 'https' } }],
  ]
  for (const [path, how] of sentOn)
    expect(await ask(certified, path, how), path).toMatchObject({ status: 308, location: origin + path, hsts: undefined })
  expect((await ask(certified, '//elsewhere.example/')).location).toBe(`${origin}/elsewhere.example/`)
  // A form that was loaded before the certificate came is shown again.
  expect(await ask(certified, '/setup/token', { method: 'POST', headers: page })).toMatchObject({
    status: 303,
    location: `${origin}/setup/token`,
  })
  const secure = await ask(certified, '/', { tls: true, headers: page })
  expect(secure.status).not.toBe(308)
  expect(secure.hsts).toBe('max-age=2592000')
})

test('a plain request that brings a key or a password is refused in words, and not carried out', async () => {
  const headers = { authorization: `Bearer ${certified.token}` }
  const refused: [string, Asked][] = [
    ['/api/emails', { headers }],
    ['/api/api-keys', { method: 'POST', headers }],
    ['/session', {}],
    ['/session', { method: 'POST' }],
  ]
  for (const [path, how] of refused) {
    const { status, text } = await ask(certified, path, how)
    expect({ status, ...JSON.parse(text) }, path).toMatchObject({ status: 403, name: 'https_required' })
    expect(text).toContain(origin)
  }
  const postmark = await ask(certified, '/compat/postmark/email', {
    method: 'POST',
    headers: { 'x-postmark-server-token': certified.token },
  })
  expect(JSON.parse(postmark.text)).toMatchObject({ Message: expect.stringContaining(origin) })
  expect((await ask(certified, '/api/emails', { headers, tls: true })).status).toBe(200)
})

test('health, tracking links and one-click unsubscribes are answered without TLS', async () => {
  expect(await ask(certified, '/healthz')).toMatchObject({ status: 200, text: expect.stringContaining('"status":"ok"') })
  expect((await ask(certified, '/t/o/unknown')).status).toBe(404)
  expect((await ask(certified, '/u/unknown', { method: 'POST' })).status).not.toBeOneOf([303, 308, 403])
})

test('what a trusted proxy hands on is served, unless it says that it came by http', async () => {
  const forwarded = (proto?: string): Promise<{ status: number | undefined }> =>
    ask(certified, '/api/emails', {
      localAddress: '127.0.0.2',
      headers: { authorization: `Bearer ${certified.token}`, ...(proto === undefined ? {} : { 'x-forwarded-proto': proto }) },
    })
  expect((await forwarded()).status).toBe(200)
  expect((await forwarded('https')).status).toBe(200)
  expect((await forwarded('https, http')).status).toBe(200)
  expect((await forwarded('http')).status).toBe(403)

  const socket = connect({ port: certified.relay.addresses.http[0]?.port ?? 0, host: '127.0.0.1', localAddress: '127.0.0.2' })
  socket.write(Buffer.concat([proxyHeaderV1('203.0.113.9'), Buffer.from('GET /docs HTTP/1.0\r\n\r\n')]))
  expect((await socket.toArray()).join('')).toMatch(/^HTTP\/1\.1 200 /)
})

const plain: [string, string[], Record<string, string>][] = [
  ['before there is a certificate, so that the first visit succeeds', [], {}],
  ['with a certificate for another name', ['other.example'], {}],
  ['where the setting keeps it', ['relay.example'], { http_redirect_to_https: 'false' }],
  ['where base_url is not https', ['relay.example'], { base_url: 'http://relay.example' }],
]
test.each(plain)('plain HTTP is served %s', async (_, names, settings) => {
  const relay = await relayWith(names, settings)
  onTestFinished(() => relay.stop())
  expect((await ask(relay, '/api/emails', { headers: { authorization: `Bearer ${relay.token}` } })).status).toBe(200)
  expect((await ask(relay, '/setup/unknown', { headers: page })).status).toBe(404)
  expect(await ask(relay, '/', { tls: true, headers: page })).toMatchObject({ hsts: undefined })
})
