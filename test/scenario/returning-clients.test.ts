import { once } from 'node:events'
import { createConnection, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { cases } from '../support/cases.ts'
import { SmtpClient } from '../support/smtp-client.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

/** As many as one address may have. */
const seats = 20
const rounds = Math.max(3, cases(10))
const hello = 'From: me@sender.example\r\nSubject: hello\r\n\r\nhello\r\n'
let relay: TestRelay

beforeAll(async () => {
  relay = await startTestRelay({
    submission_tls_listen: '127.0.0.1:0',
    submission_max_connections_per_address: String(seats),
  })
})

afterAll(() => relay.stop())

type Way = 'plain' | 'STARTTLS' | 'implicit TLS'

async function connect(way: Way = 'plain'): Promise<SmtpClient> {
  const [plain, tls] = relay.relay.addresses.submission
  const port = (way === 'implicit TLS' ? tls : plain)?.port ?? 0
  const client = await SmtpClient.connect(port, { tls: way === 'implicit TLS', greeting: false })
  onTestFinished(() => client.close())
  const { last } = await client.reply()
  if (!last.startsWith('220')) throw new Error(last)
  await client.command('EHLO client.example')
  if (way !== 'STARTTLS') return client
  await client.command('STARTTLS')
  await client.startTls()
  return client
}

/** The refusals to clients that use all seats, and come back again and again. */
async function refusals(comeAndGo: () => Promise<void>): Promise<string[]> {
  const refused: string[] = []
  const client = async (): Promise<void> => {
    for (let i = 0; i < rounds; i++) await comeAndGo().catch((error: Error) => refused.push(error.message))
  }
  await Promise.all(Array.from({ length: seats }, client))
  return refused
}

test.each<Way>(['plain', 'STARTTLS', 'implicit TLS'])('clients that leave with QUIT may come back at its reply: %s', async (way) => {
  const refused = await refusals(async () => {
    const client = await connect(way)
    expect((await client.command('QUIT')).code).toBe(221)
  })
  expect(refused).toEqual([])
})

test.each<Way>(['STARTTLS', 'implicit TLS'])('clients that send mail may come back at once, also without QUIT: %s', async (way) => {
  let turn = 0
  const refused = await refusals(async () => {
    const client = await connect(way)
    try {
      expect((await client.login(relay.token)).code).toBe(235)
      expect((await client.send(hello, { from: 'me@sender.example' })).code).toBe(250)
      if (turn++ % 2 === 0) await client.command('QUIT')
    } finally {
      client.close()
    }
  })
  expect(refused).toEqual([])
})

test('a client that does not hang up after QUIT keeps neither its seat nor the connection', async () => {
  const staying = await Promise.all(Array.from({ length: seats }, openAtOneEnd))
  await expect(connect()).rejects.toThrow(/Too many connections from your address/)
  for (const socket of staying) socket.write('QUIT\r\n')
  for (const socket of staying) await once(socket, 'end')
  await Promise.all(Array.from({ length: seats }, () => connect()))
  // What comes for a connection that is gone is answered with a reset.
  for (const socket of staying) {
    const isReset = new Promise((resolve) => socket.once('close', resolve))
    socket.on('error', () => {})
    const trickle = setInterval(() => socket.write('NOOP\r\n'), 10)
    await isReset
    clearInterval(trickle)
  }
})

/** A greeted client that keeps its end of the connection. */
async function openAtOneEnd(): Promise<Socket> {
  const socket = createConnection({ port: relay.submissionPort, host: '127.0.0.1', allowHalfOpen: true })
  onTestFinished(() => void socket.destroy())
  await once(socket, 'data')
  return socket.resume()
}
