import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createLog } from '../../src/platform/log.ts'
import { proxyHeaderV1, proxyHeaderV2, rawHeaderV2 } from '../support/proxy-header.ts'
import { SmtpClient } from '../support/smtp-client.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

/**
 * A relay that trusts the proxy at 127.0.0.1; whoever comes from another address is a client without one. It listens for both families,
 * so that its sockets write IPv4 as IPv6.
 */
let relay: TestRelay
const logged: string[] = []
const strangerHost = '127.0.0.9'

beforeAll(async () => {
  relay = await startTestRelay(
    {
      trusted_proxies: '127.0.0.1/32',
      http_listen: '[::]:0',
      submission_listen: '[::]:0',
      submission_tls_listen: '[::]:0',
      return_path_listen: '[::]:0',
      http_tls_listen: '[::]:0',
      metrics_listen: '[::]:0',
      http_failed_authentications_per_minute: '1',
      submission_max_connections_per_address: '2',
      return_path_messages_per_minute: '1',
    },
    {},
    { log: createLog('debug', (line) => logged.push(line)) },
  )
})

afterAll(() => relay.stop())

const addresses = () => relay.relay.addresses
let clients = 0
/** A client that nobody has heard of. */
const newClient = (): string => `203.0.113.${++clients}`

const headers = [
  ['version 1', proxyHeaderV1],
  ['version 2', proxyHeaderV2],
] as const

type Connect = Parameters<typeof SmtpClient.connect>[1]

async function smtp(door: 'submission' | 'tls' | 'returnPath', how: Connect = {}): Promise<SmtpClient> {
  const place = door === 'returnPath' ? addresses().returnPath[0] : addresses().submission[door === 'tls' ? 1 : 0]
  const client = await SmtpClient.connect(place?.port ?? 0, { ...how, tls: door === 'tls' })
  onTestFinished(() => client.close())
  return client
}

/** Tries to log in with a wrong key. */
async function fail(client: SmtpClient, door: 'submission' | 'tls'): Promise<void> {
  if (door === 'submission') {
    await client.command('EHLO client.example')
    await client.command('STARTTLS')
    await client.startTls()
  }
  expect((await client.login('wrong')).code).toBe(535)
}

const refusedLogin = (): string | undefined => logged.filter((line) => line.includes('SMTP login refused')).at(-1)

/** Sends one request behind these bytes; gives the whole answer. */
async function http(request: string, how: { before?: Buffer; localAddress?: string; tls?: boolean; port?: number } = {}): Promise<string> {
  const { before = Buffer.alloc(0), localAddress = '127.0.0.1', tls = false, port = addresses().http[tls ? 1 : 0]?.port ?? 0 } = how
  const plain = connect({ port, host: '127.0.0.1', localAddress })
  plain.write(before)
  const socket = tls ? connectTls({ socket: plain, rejectUnauthorized: false }) : plain
  onTestFinished(() => void plain.destroy())
  let text = ''
  socket.on('data', (bytes: Buffer) => (text += bytes.toString()))
  const closed = new Promise((resolve) => socket.on('error', resolve).on('close', resolve))
  socket.write(request)
  await closed
  return text
}

const get = (path: string, fields: string[] = []): string =>
  [`GET ${path} HTTP/1.1`, 'Host: x', 'Connection: close', ...fields, '', ''].join('\r\n')
const withoutKey = get('/api/emails')
const unauthorized = /^HTTP\/1\.1 401 /
const tooMany = /^HTTP\/1\.1 429 /

describe.each(headers)('a PROXY header of %s tells the client', (_, header) => {
  test.each([false, true])('over HTTP, with TLS: %s', async (tls) => {
    const [one, other] = [newClient(), newClient()]
    expect(await http(withoutKey, { before: header(one), tls })).toMatch(unauthorized)
    expect(await http(withoutKey, { before: header(one), tls })).toMatch(tooMany)
    expect(await http(withoutKey, { before: header(other), tls })).toMatch(unauthorized)
  })

  test.each(['submission', 'tls'] as const)('over SMTP: %s', async (door) => {
    const [one, other] = [newClient(), newClient()]
    await fail(await smtp(door, { before: header(one) }), door)
    expect(refusedLogin()).toContain(`"${one}"`)
    await smtp(door, { before: header(one) })
    const refused = smtp(door, { before: header(one), greeting: false }).then((third) => third.reply())
    // With TLS it is refused before the handshake.
    await (door === 'tls' ? expect(refused).rejects.toThrow() : expect(refused).resolves.toMatchObject({ code: 421 }))
    await smtp(door, { before: header(other) })
  })

  test('on the return path', async () => {
    const [one, other] = [newClient(), newClient()]
    const begin = async (address: string): Promise<number> => {
      const client = await smtp('returnPath', { before: header(address) })
      await client.command('EHLO mx.example')
      return (await client.command('MAIL FROM:<>')).code
    }
    expect([await begin(one), await begin(one), await begin(other)]).toEqual([250, 451, 250])
  })

  test('before the metrics', async () => {
    expect(await http(get('/metrics'), { before: header(newClient()), port: addresses().metrics[0]?.port ?? 0 })).toMatch(
      /^HTTP\/1\.1 200 /,
    )
  })
})

test("a header that comes in pieces, or with the client's first bytes behind it, is the same", async () => {
  const client = await smtp('submission', { greeting: false })
  await client.writeBytewise(proxyHeaderV2(newClient()))
  expect((await client.reply()).code).toBe(220)
  expect((await client.command('EHLO x')).code).toBe(250)
  const early = await smtp('submission', { before: Buffer.concat([proxyHeaderV1(newClient()), Buffer.from('EHLO x\r\n')]) })
  expect((await early.reply()).code).toBe(250)
})

test('a proxy that adds X-Forwarded-For goes on working, also behind one that sends PROXY headers', async () => {
  const [one, other] = [newClient(), newClient()]
  const forwarded = (address: string): string => get('/api/emails', [`X-Forwarded-For: ${address}`])
  expect(await http(forwarded(one))).toMatch(unauthorized)
  expect(await http(forwarded(one))).toMatch(tooMany)
  // The proxy in between is one that is trusted too.
  expect(await http(forwarded(one), { before: proxyHeaderV1('127.0.0.1') })).toMatch(tooMany)
  expect(await http(forwarded(other), { before: proxyHeaderV1('127.0.0.1') })).toMatch(unauthorized)
  // What a client writes itself counts for nothing.
  expect(await http(forwarded(other), { before: proxyHeaderV1(newClient()) })).toMatch(unauthorized)
})

test('a client of a trusted address that sends no header is greeted, and goes by its own address', async () => {
  await fail(await smtp('submission'), 'submission')
  expect(refusedLogin()).toContain('"127.0.0.1"')
  await smtp('tls')
  expect((await (await smtp('returnPath', { before: rawHeaderV2(0x20, 0, Buffer.alloc(0)) })).command('EHLO x')).code).toBe(250)
})

test('a header that never ends, or that cannot be read, ends the connection', async () => {
  const said = ['PROXY TCP4 203.0.113.9', 'PROXY TCP4 a b c d\r\n', '\r\n\r\n\0\r\nQUIT\n'].flatMap((text) => {
    const before = Buffer.from(text, 'latin1')
    return [smtp('submission', { before, greeting: false }).then((client) => client.untilClosed()), http('', { before })]
  })
  expect(await Promise.all(said)).toEqual(said.map(() => ''))
})

test('a header from anybody else, or a second one, is not believed', async () => {
  const client = await smtp('submission', { before: proxyHeaderV1(newClient()), localAddress: strangerHost })
  expect((await client.reply()).last).toMatch(/^421 4\.7\.0 PROXY header not accepted here/)
  const second = await smtp('submission', { before: Buffer.concat([proxyHeaderV2(newClient()), proxyHeaderV1(newClient())]) })
  expect((await second.reply()).code).toBe(421)
  expect(await http(withoutKey, { before: proxyHeaderV1(newClient()), localAddress: strangerHost })).toMatch(/^HTTP\/1\.1 400 /)
  expect(
    await http(get('/metrics'), {
      before: proxyHeaderV1(newClient()),
      localAddress: strangerHost,
      port: addresses().metrics[0]?.port ?? 0,
    }),
  ).toMatch(/^HTTP\/1\.1 400 /)
})

test('a stop ends connections of a proxy that is silent', async () => {
  const relayToStop = await startTestRelay({ trusted_proxies: '127.0.0.1/32' })
  const ports = [relayToStop.relay.addresses.http[0], relayToStop.relay.addresses.submission[0], relayToStop.relay.addresses.returnPath[0]]
  const silent = await Promise.all(ports.map((place) => SmtpClient.connect(place?.port ?? 0, { greeting: false })))
  await relayToStop.stop()
  for (const client of silent) await client.untilClosed()
})
