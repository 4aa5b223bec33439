import { once } from 'node:events'
import { createConnection, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { proxyHeaderV1 } from '../support/proxy-header.ts'
import { SmtpClient } from '../support/smtp-client.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

let direct: TestRelay
let behindProxy: TestRelay

beforeAll(async () => {
  const settings = { submission_tls_listen: '127.0.0.1:0', http_tls_listen: '127.0.0.1:0' }
  direct = await startTestRelay(settings)
  behindProxy = await startTestRelay({ ...settings, trusted_proxies: '127.0.0.1/32' })
})

afterAll(() => Promise.all([direct.stop(), behindProxy.stop()]))

/** The first bytes of a TLS handshake: a record that says it is longer. */
const clientHello = Buffer.from('16030100100100000c0303', 'hex')

const hangUps: Record<string, (socket: Socket) => void> = {
  'by close': (socket) => socket.destroy(),
  'by FIN': (socket) => socket.end(),
  'by reset': (socket) => socket.resetAndDestroy(),
  'in their hello': (socket) => socket.end(clientHello),
  'behind what is not TLS': (socket) => socket.end('QUIT\r\n'),
}

const ports = (relay: TestRelay): number[] => {
  const { submission, http } = relay.relay.addresses
  return [...submission, ...http].map(({ port }) => port)
}

test.each(Object.keys(hangUps))('clients that hang up at once, %s, do no harm at any port', async (how) => {
  for (const relay of [direct, behindProxy]) {
    for (const port of ports(relay)) {
      for (let i = 0; i < 30; i++) {
        const socket = createConnection({ port, host: '127.0.0.1' }).on('error', () => {})
        await once(socket, 'connect')
        if (relay === behindProxy) socket.write(proxyHeaderV1('203.0.113.9'))
        hangUps[how]!(socket)
        socket.resume()
        await once(socket, 'close')
      }
    }
  }
  const [, tls] = direct.relay.addresses.submission
  const client = await SmtpClient.connect(tls?.port ?? 0, { tls: true })
  expect((await client.command('NOOP')).code).toBe(250)
  client.close()
})
