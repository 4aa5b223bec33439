import { PassThrough } from 'node:stream'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { generate } from 'selfsigned'
import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { restMs } from '../../../src/platform/connection/connection-slots.ts'
import { jsonBody } from '../../../src/api/http/json-body.ts'
import { operation, type Operation } from '../../../src/api/operation/operation.ts'
import { RawAnswer } from '../../../src/api/operation/raw-answer.ts'
import { startApiServer, type ApiServer } from '../../support/api-server.ts'

/** A connection, and what has come back on it. */
class Client {
  text = ''
  closed = false
  readonly #socket: Socket

  constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (part: Buffer) => (this.text += part.toString('latin1')))
    socket.on('error', () => {}).on('close', () => (this.closed = true))
    onTestFinished(() => void socket.destroy())
  }

  write(text: string): this {
    this.#socket.write(text)
    return this
  }

  async answered(pattern: RegExp): Promise<void> {
    await expect.poll(() => this.text).toMatch(pattern)
    this.text = ''
  }

  async untilClosed(): Promise<string> {
    await expect.poll(() => this.closed).toBe(true)
    return this.text
  }
}

const declared = {
  tag: 'Test',
  summary: 'Test',
  permission: null,
  answers: [{ status: 200, description: 'Anything', schema: z.unknown() }],
  refuses: [],
} satisfies Partial<Operation>

interface Wishes {
  maxConnections?: number
  trustedProxies?: string[]
  tls?: { cert: string; key: string }
}

/** `/form` takes JSON of anybody; `/later` reads none before `begin`; `/api/stream` tells what is written to `stream`. */
async function start({ tls, ...wishes }: Wishes = {}) {
  const gate = Promise.withResolvers<void>()
  const stream = new PassThrough()
  let [received, entered] = [0, 0]
  const body = { schema: z.string(), limit: 1_000_000 }
  const operations: Operation[] = [
    operation({ ...declared, id: 'form', method: 'POST', path: '/form', body, handle: (call) => ({ length: call.body.length }) }),
    operation({
      ...declared,
      id: 'stream',
      method: 'GET',
      path: '/api/stream',
      answers: [{ status: 200, description: 'A stream', schema: null, mediaType: 'text/plain' }],
      handle: () => new RawAnswer(stream, { type: 'application/octet-stream' }),
    }),
  ]
  const answer = (req: IncomingMessage, res: ServerResponse): boolean => {
    // Once somebody reads the body.
    const count = (part: Buffer): void => void (received += part.length)
    req.on('newListener', (event, listener) => event === 'data' && listener !== count && req.on('data', count))
    if (req.url !== '/later') return false
    entered++
    void gate.promise.then(() => jsonBody(req)).then((text) => res.end(JSON.stringify({ length: (text as string).length })))
    return true
  }
  const listening = [{ host: '127.0.0.1', port: 0 }]
  const api: ApiServer = await startApiServer(() => operations, {
    ...wishes,
    trackingResponder: { answer },
    ...(tls ? { listen: [], tlsListen: listening, tls } : {}),
  })
  const { port } = api.server.addresses[0] as AddressInfo
  const client = async (): Promise<Client> => {
    const socket = connect({ host: '127.0.0.1', port })
    await new Promise((connected) => socket.once('connect', connected))
    return new Client(socket)
  }
  return { api, port, client, stream, begin: gate.resolve, received: () => received, entered: () => entered }
}

async function certificate(): Promise<{ cert: string; key: string }> {
  const pem = await generate([{ name: 'commonName', value: 'localhost' }], { keySize: 2048 })
  return { cert: pem.cert, key: pem.private }
}

const secureClient = (port: number): Client => new Client(connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false }))

const post = (path: string, length: number, begun = ''): string =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${begun}`
const get = (path: string, token?: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\n${token === undefined ? '' : `Authorization: Bearer ${token}\r\n`}\r\n`

test.each([
  ['before it has sent anything', '', /^$/],
  ['in its headers', 'POST /form HTTP/1.1\r\nHost', /^$/],
  ['in its body', post('/form', 9_000, '"'), /^HTTP\/1\.1 408 Request Timeout\r\nConnection: close\r\n\r\n$/],
  ['between two requests', get('/healthz'), /^HTTP\/1\.1 200 [^]*"ok"[^]*}$/],
])('where all connections are taken an idle stranger gives way to a newcomer %s', async (_state, begun, said) => {
  const { api, client, received } = await start({ maxConnections: 2 })
  const idle = (await client()).write(begun)
  if (begun.endsWith('"')) await expect.poll(received).toBe(1)
  const busy = (await client()).write(get('/healthz'))
  await busy.answered(/200 OK/)
  if (begun.startsWith('GET')) await expect.poll(() => idle.text).toContain('200 OK')
  api.clock.advance(restMs)
  busy.write(get('/healthz'))
  await busy.answered(/200 OK/)
  const newcomer = (await client()).write(get('/healthz'))
  await newcomer.answered(/200 OK/)
  expect(await idle.untilClosed()).toMatch(said)
  busy.write(get('/healthz'))
  await busy.answered(/200 OK/)
})

test('strangers take no connection with a valid key, nor a stream of events that tells nothing for long', async () => {
  const { api, client, stream } = await start({ maxConnections: 4 })
  const token = await api.token()
  const known = (await client()).write(get('/api/nothing', token))
  await known.answered(/404 Not Found/)
  const reader = (await client()).write(get('/api/stream', token))
  stream.write('begun')
  await reader.answered(/begun/)
  const strangers = [await client(), await client()]
  for (let minute = 0; minute < 10; minute++) {
    api.clock.advance(60_000)
    strangers.push((await client()).write(get('/healthz')))
    await strangers.at(-1)!.answered(/200 OK/)
    await strangers.shift()!.untilClosed()
  }
  stream.write('at last')
  await reader.answered(/at last/)
  known.write(get('/api/nothing', token))
  await known.answered(/404 Not Found/)
})

test('one key gets half of all connections, however many addresses it comes from, and is told so', async () => {
  const { api, client } = await start({ maxConnections: 4, trustedProxies: ['127.0.0.0/8'] })
  const token = await api.token()
  const from = async (address: string): Promise<Client> =>
    (await client()).write(`PROXY TCP4 ${address} 192.0.2.1 1 2\r\n${get('/api/nothing', token)}`)
  for (const address of ['198.51.100.1', '198.51.100.2']) await (await from(address)).answered(/404 Not Found/)
  const third = await from('198.51.100.3')
  expect(await third.untilClosed()).toMatch(
    /429 Too Many Requests[^]*Connection: close[^]*Your account has 2 connections open, and no more are allowed/,
  )
  const other = (await client()).write(get('/api/nothing', await api.token({ account: 'other' })))
  await other.answered(/404 Not Found/)
})

test('where all connections are taken, the account with the most gives its idlest to a newcomer', async () => {
  const { api, client } = await start({ maxConnections: 4 })
  const token = await api.token()
  const idle = (await client()).write(get('/api/nothing', token))
  await idle.answered(/404 Not Found/)
  const busy = (await client()).write(get('/api/nothing', token))
  await busy.answered(/404 Not Found/)
  for (const account of ['other', 'third']) {
    const held = (await client()).write(get('/api/nothing', await api.token({ account })))
    await held.answered(/404 Not Found/)
  }
  await (await client()).write(get('/healthz')).answered(/200 OK/)
  await idle.untilClosed()
  busy.write(get('/api/nothing', token))
  await busy.answered(/404 Not Found/)
})

test('a request that is being carried out is answered before its connection is given away', async () => {
  const { api, client, begin, entered } = await start({ maxConnections: 1 })
  const held = (await client()).write(post('/later', 3, '"x"'))
  await expect.poll(entered).toBe(1)
  api.clock.advance(restMs)
  await (await client()).write(get('/healthz')).answered(/200 OK/)
  expect(held.closed).toBe(false)
  begin()
  expect(await held.untilClosed()).toMatch(/200 OK[^]*Connection: close[^]*"length":1/)
})

test('who takes nothing of an answer is idle, however much is left of it', async () => {
  const { api, client, stream, port } = await start({ maxConnections: 4 })
  fakeIntervals()
  const token = await api.token()
  const stuck = connect({ host: '127.0.0.1', port }).on('error', () => {})
  onTestFinished(() => void stuck.destroy())
  stuck.write(get('/api/stream', token))
  const known = (await client()).write(get('/api/nothing', token))
  await known.answered(/404 Not Found/)
  for (let megabyte = 0; megabyte < 64; megabyte++) stream.write(Buffer.alloc(1024 * 1024))
  let left = Infinity
  await look(api, 3, () => expect.poll(() => stream.writableLength === left || ((left = stream.writableLength), false)).toBe(true))
  known.write(get('/api/nothing', token))
  await known.answered(/404 Not Found/)
  await (await client()).write(get('/api/nothing', token)).answered(/404 Not Found/)
  const closed = new Promise((resolve) => stuck.once('close', resolve))
  stuck.resume()
  await closed
  expect(known.closed).toBe(false)
})

test("a proxy's connection counts for the client that it names, and for an account only during a request", async () => {
  const { api, client, received } = await start({ maxConnections: 4, trustedProxies: ['127.0.0.0/8'] })
  const idle = []
  for (let i = 0; i < 3; i++) {
    const pooled = (await client()).write(get('/api/nothing', await api.token()))
    await pooled.answered(/404 Not Found/)
    idle.push(pooled)
  }
  // One client behind the proxy is slow on two of its connections.
  for (const pooled of idle.slice(0, 2)) {
    const before = received()
    pooled.write(post('/form', 9_000, '"').replace('Host: x', 'Host: x\r\nX-Forwarded-For: 198.51.100.1'))
    await expect.poll(received).toBe(before + 1)
  }
  await client()
  await (await client()).write(get('/healthz')).answered(/200 OK/)
  expect(idle.map(({ closed }) => closed)).toEqual([true, false, false])
})

test('a wrong key makes nobody known', async () => {
  const { api, client } = await start({ maxConnections: 1 })
  const guessing = (await client()).write(get('/api/nothing', 'sterna_live_guess'))
  await guessing.answered(/401 Unauthorized/)
  api.clock.advance(restMs)
  await (await client()).write(get('/healthz')).answered(/200 OK/)
  await guessing.untilClosed()
})

test('one address has a hundred connections without a key, trusted proxies as many as they open', async () => {
  for (const trustedProxies of [[], ['127.0.0.0/8']]) {
    const { client } = await start({ maxConnections: 500, trustedProxies })
    const clients = await Promise.all(Array.from({ length: 110 }, client))
    const last = await client()
    last.write(get('/healthz'))
    if (trustedProxies.length > 0) await last.answered(/200 OK/)
    else await last.untilClosed()
    await expect.poll(() => clients.filter(({ closed }) => closed).length).toBe(trustedProxies.length > 0 ? 0 : 10)
  }
})

/** Looks at how quickly bodies come in, so many times, 2 seconds each; `each` is done before, by whoever sends. */
async function look(api: ApiServer, times: number, each: () => unknown): Promise<void> {
  for (let i = 0; i < times; i++) {
    await each()
    api.clock.advance(2_000)
    vi.advanceTimersByTime(2_000)
  }
}

function fakeIntervals(): void {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
}

test('a body that comes in a byte at a time is given up, with 408', async () => {
  const { api, client, received } = await start()
  fakeIntervals()
  const slow = (await client()).write(post('/form', 9_000, '"'))
  await expect.poll(received).toBe(1)
  await look(api, 16, () => slow.write('x'))
  expect(await slow.untilClosed()).toBe('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n')
})

test('so is one that is refused at once and goes on for ever', async () => {
  const { api, client } = await start()
  fakeIntervals()
  const refused = (await client()).write(post('/api/emails', 9_000, '"'))
  await refused.answered(/401 Unauthorized/)
  await look(api, 16, () => refused.write('x'))
  expect(await refused.untilClosed()).toBe('')
})

test.each([false, true])('a body that comes in slowly, but steadily, is taken; with TLS: %s', async (isSecure) => {
  const { api, port, client, received } = await start(isSecure ? { tls: await certificate() } : {})
  fakeIntervals()
  const part = 'x'.repeat(2_500)
  const slow = (isSecure ? secureClient(port) : await client()).write(post('/form', 2 + 50 * part.length, '"'))
  let sent = 1
  await look(api, 50, async () => {
    slow.write(part)
    sent += part.length
    await expect.poll(received).toBe(sent)
  })
  slow.write('"')
  await slow.answered(new RegExp(`200 OK[^]*"length":${50 * part.length}`))
})

test('a body that waits for us is not given up', async () => {
  const { api, client, begin, entered } = await start()
  fakeIntervals()
  const held = (await client()).write(post('/later', 5, '"x'))
  await expect.poll(entered).toBe(1)
  await look(api, 60, () => {})
  begin()
  held.write('xx"')
  await held.answered(/200 OK[^]*"length":3/)
})

test('with TLS it is the same, before the handshake, within it and after', async () => {
  const { api, port, client, received } = await start({ maxConnections: 3, tls: await certificate() })
  const secure = (): Client => secureClient(port)
  const known = secure().write(get('/api/nothing', await api.token()))
  await known.answered(/404 Not Found/)
  const inHandshake = (await client()).write('\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03')
  const inBody = secure().write(post('/form', 9_000, '"'))
  await expect.poll(received).toBe(1)
  for (const idle of [inHandshake, inBody]) {
    api.clock.advance(restMs)
    const newcomer = secure().write(get('/healthz'))
    await newcomer.answered(/200 OK/)
    await idle.untilClosed()
  }
  expect(inBody.text).toMatch(/^HTTP\/1\.1 408 /)
  known.write(get('/api/nothing', await api.token()))
  await known.answered(/404 Not Found/)
})
