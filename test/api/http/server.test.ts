import { X509Certificate } from 'node:crypto'
import { connect, type AddressInfo } from 'node:net'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { TLSSocket } from 'node:tls'
import { generate } from 'selfsigned'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { SternaError } from '../../../src/platform/errors.ts'
import { Health } from '../../../src/platform/health.ts'
import { standardBodyLimit } from '../../../src/api/operation/body-limits.ts'
import { listBody, pageOf, pageParameters } from '../../../src/api/operation/page.ts'
import type { Operation } from '../../../src/api/operation/operation.ts'
import { silentLog } from '../../../src/platform/log.ts'
import { StorageFullError } from '../../../src/platform/store/database.ts'
import { startApiServer, type ApiServer } from '../../support/api-server.ts'
import { settableClock } from '../../support/settable-clock.ts'

/** An endpoint for a test; what it answers may be anything. */
const endpoint = (given: Pick<Operation, 'path' | 'handle'> & Partial<Operation>): Operation => ({
  id: given.path,
  method: 'GET',
  tag: 'Test',
  summary: 'Test',
  permission: null,
  answers: [{ status: 200, description: 'Anything', schema: z.unknown() }],
  refuses: [],
  ...given,
})

const anyBody = { schema: z.unknown() }

/** Answers what it was sent, and throws what it is told to. */
const echo = (): Operation[] => [
  endpoint({ method: 'POST', path: '/api/echo', body: anyBody, handle: ({ body }) => ({ body }) }),
  endpoint({
    method: 'POST',
    path: '/api/maybe',
    body: { ...anyBody, optional: true },
    handle: ({ body }) => ({ body }),
  }),
  endpoint({ path: '/api/who', handle: ({ caller }) => caller }),
  endpoint({
    path: '/api/page',
    query: pageParameters,
    handle({ query }) {
      const page = pageOf(query)
      return { page, list: listBody([3, 2, 1].slice(0, page.limit + 1), page, (n) => n) }
    },
  }),
  endpoint({ path: '/api/full', permission: 'full_access', handle: () => ({}) }),
  endpoint({ path: '/api/operator', permission: 'operator', handle: () => ({}) }),
  endpoint({
    path: '/api/broken',
    handle() {
      throw new Error('password hunter2 at /var/lib/secret')
    },
  }),
  endpoint({
    path: '/api/disk-full',
    refuses: ['insufficient_storage'],
    handle() {
      throw new StorageFullError()
    },
  }),
  endpoint({
    path: '/api/later',
    handle() {
      throw new SternaError('service_unavailable', 'Not now.', { retryAfter: 7.2 })
    },
  }),
]

const startEcho = (overrides = {}): Promise<ApiServer> => startApiServer(echo, overrides)

test('every answer has an id of its own and the version of the API', async () => {
  const api = await startEcho()
  const token = await api.token()
  const answers = await Promise.all([
    api.request('GET', '/healthz'),
    api.request('GET', '/api/who', { token }),
    api.request('GET', '/nowhere'),
  ])
  const ids = answers.map(({ headers }) => headers.get('x-request-id'))
  expect(new Set(ids).size).toBe(3)
  for (const id of ids) expect(id).toMatch(/^req_[0-9a-z]{26}$/)
  for (const { headers } of answers) expect(headers.get('x-api-version')).toBe('1')
  expect(answers[2]?.body.request_id).toBe(ids[2])
})

test('the health check needs no key, and tells what is wrong', async () => {
  const health = new Health({ clock: settableClock(), log: silentLog })
  const api = await startEcho({ health })
  expect(await api.request('GET', '/healthz')).toMatchObject({ status: 200, body: { status: 'ok', version: '1.2.3' } })
  health.report('disk_full')
  expect(await api.request('GET', '/healthz')).toMatchObject({
    status: 503,
    body: { status: 'unavailable', version: '1.2.3', faults: [{ name: 'disk_full' }] },
  })
})

test('only a Bearer key that is in force opens the API', async () => {
  const api = await startEcho()
  const token = await api.token({ expiresAt: api.clock.now() + 1000 })
  const refused = async (authorization: string | undefined, name: string) => {
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization }
    const answer = await api.request('GET', '/api/who', { headers })
    expect({ status: answer.status, name: answer.body.name }, authorization ?? 'none').toEqual({ status: 401, name })
    expect(answer.headers.get('www-authenticate')).toBe('Bearer')
  }
  await refused(undefined, 'missing_api_key')
  await refused('', 'missing_api_key')
  await refused('Bearer', 'missing_api_key')
  await refused(`Basic ${Buffer.from(`api:${token}`).toString('base64')}`, 'missing_api_key')
  await refused(token, 'missing_api_key')
  await refused(`Bearer ${token}x`, 'invalid_api_key')
  await refused(`Bearer ${token} ${token}`, 'missing_api_key')
  await refused('Bearer nonsense', 'invalid_api_key')
  expect(await api.request('GET', '/api/who', { headers: { authorization: `bearer ${token}` } })).toMatchObject({ status: 200 })
  expect((await api.request('GET', `/api/who?api_key=${token}`)).status).toBe(401)
  api.clock.advance(1000)
  await refused(`Bearer ${token}`, 'expired_api_key')
  expect(api.logged.join('')).not.toContain(token)
})

test('a key does what its permission says', async () => {
  const api = await startEcho()
  const statuses = async (permission: 'full_access' | 'sending_access' | 'read_access' | 'operator') => {
    const token = await api.token({ permission })
    const answers = [await api.request('GET', '/api/full', { token }), await api.request('GET', '/api/operator', { token })]
    return answers.map(({ status, body }) => (status === 200 ? 200 : body.name))
  }
  expect(await statuses('operator')).toEqual([200, 200])
  expect(await statuses('full_access')).toEqual([200, 'restricted_api_key'])
  expect(await statuses('sending_access')).toEqual(['restricted_api_key', 'restricted_api_key'])
  expect(await statuses('read_access')).toEqual(['restricted_api_key', 'restricted_api_key'])
})

test('paths: doubled slashes are one, what does not exist says so in JSON, and a wrong method tells the right ones', async () => {
  const api = await startEcho()
  const token = await api.token()
  expect((await api.request('GET', '/api//who', { token })).status).toBe(200)
  expect((await api.request('GET', '//api/who', { token })).status).toBe(200)
  expect((await api.request('GET', '//api/who')).status).toBe(401)
  for (const path of ['/API/who', '/Api/who', '/api/WHO']) {
    expect(await api.request('GET', path, { token })).toMatchObject({ status: 404, body: { name: 'not_found' } })
  }
  expect(await api.request('GET', '/api/nothing', { token })).toMatchObject({ status: 404, body: { statusCode: 404, name: 'not_found' } })
  expect(await api.request('GET', '/api', { token })).toMatchObject({ status: 404, body: { name: 'not_found' } })
  expect(await api.request('GET', '/', {})).toMatchObject({ status: 404, body: { name: 'not_found' } })
  expect(await api.request('GET', '/api/%ff%', { token })).toMatchObject({ status: 404, body: { name: 'not_found' } })
  const wrong = await api.request('DELETE', '/api/who', { token })
  expect(wrong).toMatchObject({ status: 405, body: { name: 'method_not_allowed' } })
  expect(wrong.headers.get('allow')).toBe('GET, HEAD')
  expect(await api.request('POST', '/healthz')).toMatchObject({ status: 405, body: { name: 'method_not_allowed' } })
})

test('our own faults say nothing about the inside, in whatever form they are asked for', async () => {
  const api = await startEcho()
  const token = await api.token()
  for (const accept of ['*/*', 'text/html', 'application/problem+json']) {
    const answer = await api.request('GET', '/api/broken', { token, headers: { accept } })
    expect(answer).toMatchObject({ status: 500, body: { name: 'internal_server_error' } })
    expect(answer.headers.get('content-type')).toMatch(/^application\/(problem\+)?json/)
    expect(answer.text).not.toMatch(/hunter2|secret|\.ts|at /)
  }
  const line = api.logged.map((text) => JSON.parse(text)).find(({ level }) => level === 'error')
  expect(line).toMatchObject({ requestId: expect.stringMatching(/^req_/), error: { message: expect.stringContaining('hunter2') } })
})

test('RFC 9457 on request', async () => {
  const api = await startEcho()
  const token = await api.token()
  const answer = await api.request('GET', '/api/page?limit=0', {
    token,
    headers: { accept: 'application/problem+json, application/json;q=0.5' },
  })
  expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/)
  expect(answer.body).toEqual({
    type: 'https://mail.example.com/errors/invalid_parameter',
    title: 'Unprocessable Content',
    status: 422,
    message: 'The parameter limit must be a whole number from 1 to 100.',
    statusCode: 422,
    request_id: expect.any(String),
    detail: 'The parameter limit must be a whole number from 1 to 100.',
    instance: answer.headers.get('x-request-id'),
    name: 'invalid_parameter',
  })
})

test('what passes by itself says when to come back', async () => {
  const api = await startEcho()
  const token = await api.token()
  expect(await api.request('GET', '/api/disk-full', { token })).toMatchObject({ status: 507, body: { name: 'insufficient_storage' } })
  const later = await api.request('GET', '/api/later', { token })
  expect(later).toMatchObject({ status: 503, body: { name: 'service_unavailable', message: 'Not now.' } })
  expect(later.headers.get('retry-after')).toBe('8')
})

const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)

test.each([
  ['JSON', '{"a":1}', { 'content-type': 'application/json' }, 200],
  ['JSON that names its charset', '{"a":1}', { 'content-type': 'Application/JSON; charset=UTF-8' }, 200],
  ['a form', 'a=1', { 'content-type': 'application/x-www-form-urlencoded' }, 'unsupported_media_type'],
  ['text', '{"a":1}', { 'content-type': 'text/plain' }, 'unsupported_media_type'],
  ['a type that only begins alike', '{"a":1}', { 'content-type': 'application/jsonp' }, 'unsupported_media_type'],
  [
    'a type with many spaces',
    '{"a":1}',
    { 'content-type': `application/json;${' '.repeat(14_000)}charset=utf-8` },
    'unsupported_media_type',
  ],
  ['another charset', '{"a":1}', { 'content-type': 'application/json; charset=utf-16' }, 'unsupported_media_type'],
  ['a compressed body', '{"a":1}', { 'content-encoding': 'gzip' }, 'unsupported_media_type'],
  ['nothing', '', {}, 'invalid_json'],
  ['half an object', '{"a":', {}, 'invalid_json'],
  ['a number out of range', '{"a":1e309}', {}, 200],
  ['bytes that are no UTF-8', new Uint8Array([0x22, 0xff, 0x22]), {}, 'invalid_json'],
  ['an overlong encoding', new Uint8Array([0x22, 0xc0, 0x8a, 0x22]), {}, 'invalid_json'],
  ['64 levels', nested(64), {}, 200],
  ['65 levels', nested(65), {}, 'invalid_json'],
  ['30 000 levels', nested(30_000), {}, 'invalid_json'],
  ['two values', '{} {}', {}, 'invalid_json'],
])('a request body: %s', async (_what, body, headers, expected) => {
  const api = await startEcho()
  const answer = await api.request('POST', '/api/echo', { token: await api.token(), body, headers })
  expect(answer.status === 200 ? 200 : answer.body.name).toBe(expected)
  expect(answer.text).not.toContain('Unexpected')
})

test.each([
  ['{"secret": "x",}', 'The request body is not valid JSON: see line 1, column 16.'],
  ['{\n  "secret": "x"', 'The request body is not valid JSON: it breaks off at line 2, column 16.'],
])('of %j it is told where it stops being JSON, and nothing of what it says', async (body, message) => {
  const api = await startEcho()
  expect((await api.request('POST', '/api/echo', { token: await api.token(), body })).body).toMatchObject({ name: 'invalid_json', message })
})

test('a request body without a type is refused, and one may be left out where that is allowed', async () => {
  const api = await startEcho()
  const token = await api.token()
  const headers = { authorization: `Bearer ${token}` }
  const untyped = await fetch(`${api.url}/api/echo`, { method: 'POST', headers, body: new Uint8Array([0x7b, 0x7d]) })
  expect([untyped.status, ((await untyped.json()) as { name: string }).name]).toEqual([415, 'unsupported_media_type'])
  const without = await fetch(`${api.url}/api/maybe`, { method: 'POST', headers })
  expect(await without.json()).toEqual({ body: {} })
  expect((await api.request('POST', '/api/maybe', { token, body: '' })).body).toEqual({ body: {} })
  expect((await api.request('POST', '/api/maybe', { token, body: { a: 1 } })).body).toEqual({ body: { a: 1 } })
  const typed = await api.request('GET', '/api/who', { token, headers: { 'content-type': 'application/json' } })
  expect(typed.status).toBe(200)
})

test('a body over the limit is refused whether or not it says its length, and the sender gets to read why', async () => {
  const api = await startEcho()
  const token = await api.token()
  const announced = await api.request('POST', '/api/echo', { token, body: Buffer.alloc(standardBodyLimit + 1, 0x20) })
  const message = 'The request body is larger than 64 KiB, the limit here.'
  expect(announced).toMatchObject({ status: 413, body: { name: 'payload_too_large', message } })
  const streamed = await new Promise<number | undefined>((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'transfer-encoding': 'chunked' }
    const req = httpRequest(`${api.url}/api/echo`, { method: 'POST', headers }, (res) => {
      res.resume().on('end', () => resolve(res.statusCode))
    })
    req.on('error', reject)
    for (let sent = 0; sent <= standardBodyLimit; sent += 1024) req.write(Buffer.alloc(1024, 0x20))
    req.end()
  })
  expect(streamed).toBe(413)
  expect((await api.request('GET', '/api/who', { token })).status).toBe(200)
})

test('a client that leaves in the middle of its body does no harm', async () => {
  const api = await startEcho()
  const token = await api.token()
  const { port } = api.server.addresses[0] as AddressInfo
  const socket = connect(port, '127.0.0.1')
  socket.end(
    `POST /api/echo HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"a"`,
  )
  await expect.poll(() => api.logged.some((line) => line.includes('/api/echo'))).toBe(true)
  expect(api.logged.filter((line) => !line.includes('"level":"debug"'))).toEqual([])
  expect((await api.request('GET', '/api/who', { token })).status).toBe(200)
})

test('nothing of the API is kept by anybody on the way: neither answers nor refusals', async () => {
  const api = await startEcho()
  const token = await api.token()
  const caching = async (path: string, given = {}) => (await api.request('GET', path, given)).headers.get('cache-control')
  expect(await caching('/api/who', { token })).toBe('no-store')
  expect(await caching('//api/who', { token })).toBe('no-store')
  expect(await caching('/api/who')).toBe('no-store')
  expect(await caching('/api/nowhere', { token })).toBe('no-store')
  expect(await caching('/api/broken', { token })).toBe('no-store')
  expect(await caching('/healthz')).not.toBe('no-store')
})

test('a request with two Host fields is refused, whatever they say', async () => {
  const api = await startEcho()
  const token = await api.token()
  const ask = (path: string, hosts: string[]): Promise<string> =>
    rawAnswer(
      api,
      `GET ${path} HTTP/1.1\r\n${hosts.map((host) => `${host}\r\n`).join('')}Authorization: Bearer ${token}\r\nConnection: close\r\n\r\n`,
    )
  expect(await ask('/api/who', ['Host: a.example'])).toMatch(/^HTTP\/1\.1 200 /)
  for (const hosts of [
    ['Host: a.example', 'Host: b.example'],
    ['Host: a.example', 'host: a.example'],
    ['Host: a.example', 'X-Other: 1', 'HOST: '],
  ]) {
    for (const path of ['/api/who', '/t/c/x', '/.well-known/acme-challenge/x']) {
      const answer = await ask(path, hosts)
      expect(answer).toMatch(/^HTTP\/1\.1 400 /)
      expect(answer).toContain('"name":"invalid_host"')
    }
  }
})

/** What the server answers to these bytes until it closes the connection. */
function rawAnswer(api: ApiServer, bytes: string): Promise<string> {
  const { port } = api.server.addresses[0] as AddressInfo
  const socket = connect(port, '127.0.0.1')
  let received = ''
  return new Promise((resolve) => {
    socket.on('data', (chunk) => (received += chunk.toString()))
    socket.on('error', () => {})
    socket.on('close', () => resolve(received))
    socket.write(bytes)
  })
}

test.each([
  ['http://relay.example/healthz?x=1', 200],
  ['http://relay.example', 404],
  ['http://a:b:c/', 404],
  ['http://[', 404],
  ['*', 404],
  ['//healthz', 200],
  ['/%ff', 404],
])('the target %s of a request is answered in JSON', async (target, status) => {
  const api = await startEcho()
  const answer = await rawAnswer(api, `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
  expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toBeTypeOf('object')
  expect(api.logged.filter((line) => !line.includes('"level":"debug"'))).toEqual([])
})

test('some requests may be sent ahead of their answers, but not without limit', async () => {
  const api = await startEcho()
  const request = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'
  const last = request.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')
  const some = await rawAnswer(api, request.repeat(9) + last)
  expect(some.match(/HTTP\/1.1 200/g)).toHaveLength(10)
  const many = await rawAnswer(api, request.repeat(5000) + last)
  expect((many.match(/HTTP\/1.1 200/g) ?? []).length).toBeLessThan(100)
})

test.each([
  ['', { limit: 20, after: null, before: null }],
  ['?limit=1', { limit: 1, after: null, before: null }],
  ['?limit=100', { limit: 100, after: null, before: null }],
  ['?after=em_01jd0000000000000000000000', { limit: 20, after: 'em_01jd0000000000000000000000', before: null }],
  ['?limit=0', 'invalid_parameter'],
  ['?limit=101', 'invalid_parameter'],
  ['?limit=1e1', 'invalid_parameter'],
  ['?limit=-1', 'invalid_parameter'],
  ['?limit=5&limit=6', 'invalid_parameter'],
  ["?after=em_'%20or%201=1", 'invalid_parameter'],
  ['?after=em_01jd0000000000000000000000&before=em_01jd0000000000000000000000', 'invalid_parameter'],
])('the page of a list: %s', async (query, expected) => {
  const api = await startEcho()
  const { status, body } = await api.request('GET', `/api/page${query}`, { token: await api.token() })
  expect(status === 200 ? body.page : body.name).toEqual(expected)
})

test('a list says whether it goes on, and comes newest first in both directions', async () => {
  const api = await startEcho()
  const token = await api.token()
  const edge = 'em_01jd0000000000000000000000'
  const list = async (query: string) => (await api.request('GET', `/api/page?${query}`, { token })).body.list
  expect(await list('limit=2')).toEqual({ object: 'list', has_more: true, data: [3, 2] })
  expect(await list('limit=3')).toEqual({ object: 'list', has_more: false, data: [3, 2, 1] })
  expect(await list(`limit=2&before=${edge}`)).toEqual({ object: 'list', has_more: true, data: [2, 3] })
})

const fingerprintOf = (pem: string): string => new X509Certificate(pem).fingerprint256

test('it listens on several addresses, with TLS where told to and the certificate last given', async () => {
  const pem = await generate([{ name: 'commonName', value: 'localhost' }], { keySize: 2048 })
  const api = await startEcho({
    listen: [
      { host: '127.0.0.1', port: 0 },
      { host: '127.0.0.1', port: 0 },
    ],
    tlsListen: [{ host: '127.0.0.1', port: 0 }],
    tls: { cert: pem.cert, key: pem.private },
  })
  const [first, second, secure] = api.server.addresses.map(({ port }) => port)
  for (const port of [first, second]) expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200)
  const overTls = () =>
    new Promise<{ status: number | undefined; fingerprint: string }>((resolve, reject) => {
      const req = httpsRequest({ host: '127.0.0.1', port: secure, path: '/healthz', rejectUnauthorized: false, agent: false }, (res) => {
        const { fingerprint256: fingerprint } = (res.socket as TLSSocket).getPeerCertificate()
        res.resume().on('end', () => resolve({ status: res.statusCode, fingerprint }))
      })
      req.on('error', reject).end()
    })
  expect(await overTls()).toEqual({ status: 200, fingerprint: fingerprintOf(pem.cert) })
  const renewed = await generate([{ name: 'commonName', value: 'localhost' }], { keySize: 2048 })
  api.server.useCertificate({ cert: renewed.cert, key: renewed.private })
  expect(await overTls()).toEqual({ status: 200, fingerprint: fingerprintOf(renewed.cert) })
  await expect(startEcho({ listen: [{ host: '127.0.0.1', port: first as number }] })).rejects.toThrow('EADDRINUSE')
})

test('a stop lets a running request end, and cuts off one that does not', async () => {
  const gates = new Map<string, PromiseWithResolvers<void>>()
  const entered: string[] = []
  const handle = async (name: string) => {
    const gate = Promise.withResolvers<void>()
    gates.set(name, gate)
    entered.push(name)
    await gate.promise
    return { done: true }
  }
  const api = await startApiServer(() => [endpoint({ path: '/api/wait/{name}', handle: ({ path }) => handle(path.slice(-1)) })])
  const token = await api.token()
  const running = api.request('GET', '/api/wait/a', { token })
  await expect.poll(() => entered).toContain('a')
  const stopped = api.server.stop(60_000)
  await expect(fetch(`${api.url}/healthz`)).rejects.toThrow()
  gates.get('a')?.resolve()
  expect((await running).status).toBe(200)
  await stopped

  const stuck: Operation['handle'] = () => {
    entered.push('stuck')
    return new Promise(() => {})
  }
  const other = await startApiServer(() => [endpoint({ path: '/api/stuck', handle: stuck })])
  const cut = other.request('GET', '/api/stuck', { token: await other.token() })
  const outcome = expect(cut).rejects.toThrow()
  await expect.poll(() => entered).toContain('stuck')
  await other.server.stop(0)
  await outcome
})
