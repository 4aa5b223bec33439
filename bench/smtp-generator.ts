/**
 * A closed-loop SMTP client load: started as a process of its own by burst.ts. Its one argument is JSON, an SmtpLoad.
 * Every message has a recipient of its own and an X-Bench field with number and time. Prints JSON.
 */
import { createConnection, type Socket } from 'node:net'
import { connect } from 'node:tls'
import type { SmtpLoad } from './burst.ts'
import { quantile } from './figures.ts'

const load = JSON.parse(process.argv[2] ?? '{}') as SmtpLoad
const line = '<tr><td class="c">Item 42 of your order</td><td align=right>19.90 EUR</td></tr>\r\n'
const links =
  load.tracked === undefined ? '' : '<p><a href="https://shop.example/orders/4711?from=mail">See what you have bought</a></p>\r\n'.repeat(4)
const body = Buffer.from((links + line.repeat(Math.ceil(load.size / line.length))).slice(0, load.size - 2) + '\r\n')
const wish = load.tracked === undefined ? '' : `X-Tracking: ${load.tracked}\r\n`
const auth = load.user ? Buffer.from(`\0${load.user}\0${load.password ?? ''}`).toString('base64') : null

let next = load.first
const end = load.first + load.messages
let accepted = 0
let failed = 0
const latencies: number[] = []
const startedAt = Date.now()
const deadline = startedAt + load.seconds * 1000

function message(id: number, to: string, now: number): Buffer {
  const head =
    `From: Sender <${load.from}>\r\nTo: <${to}>\r\nSubject: Your receipt number ${id}\r\n` +
    `Date: ${new Date(now).toUTCString().replace('GMT', '+0000')}\r\nMessage-ID: <b${id}.${now}@sender.example>\r\n` +
    `MIME-Version: 1.0\r\nContent-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: 7bit\r\n` +
    `${wish}X-Bench: ${id} ${now}\r\n\r\n`
  return Buffer.concat([Buffer.from(head), body, Buffer.from('.\r\n')])
}

let session: Buffer | undefined
let handshakes = 0
let resumed = 0

/** Calls back once the handshake is over; a later connection resumes its session, as mail servers' clients do. */
function secure(plain: Socket, then: (socket: Socket) => void): void {
  const socket = connect({ socket: plain, rejectUnauthorized: false, ...(session && { session }) }, () => {
    handshakes++
    if (socket.isSessionReused()) resumed++
    then(socket)
  })
  if (!load.newClients) socket.on('session', (ticket: Buffer) => (session = ticket))
}

/** One connection, message after message; resolves when it has sent its share. */
function connection(port: number): Promise<void> {
  return new Promise((resolve) => {
    let socket: Socket = createConnection({ host: load.host, port, noDelay: true })
    let expecting: (code: number) => void = () => {}
    const listen = (): void => {
      let rest = ''
      socket.on('data', (bytes: Buffer) => {
        rest += bytes.toString('latin1')
        for (let lineEnd = rest.indexOf('\r\n'); lineEnd >= 0; lineEnd = rest.indexOf('\r\n')) {
          const reply = rest.slice(0, lineEnd)
          rest = rest.slice(lineEnd + 2)
          if (reply[3] !== '-') expecting(Number(reply.slice(0, 3)))
        }
      })
      socket.on('error', () => resolve())
      socket.on('close', () => resolve())
    }
    listen()
    const say = (text: string | Buffer, then: (code: number) => void): void => {
      expecting = then
      socket.write(text)
    }
    const give = (sent: number): void => {
      if (sent === load.perConnection || next >= end || Date.now() > deadline) {
        say('QUIT\r\n', () => socket.end())
        return
      }
      const id = next++
      const to = `u${id}@rcpt${id % load.recipientDomains}.example`
      const since = performance.now()
      const now = Date.now()
      say(`MAIL FROM:<${load.from}>\r\n`, () =>
        say(`RCPT TO:<${to}>\r\n`, () =>
          say('DATA\r\n', (code) => {
            if (code !== 354) return done(code)
            say(message(id, to, now), done)
          }),
        ),
      )
      const done = (code: number): void => {
        if (code === 250) {
          accepted++
          latencies.push(performance.now() - since)
        } else failed++
        give(sent + 1)
      }
    }
    const greet = (then: () => void): void => say('EHLO generator.example\r\n', then)
    const begin = (): void => (auth ? say(`AUTH PLAIN ${auth}\r\n`, () => give(0)) : give(0))
    const startTls = (): void =>
      say('STARTTLS\r\n', () => {
        socket.removeAllListeners('data')
        secure(socket, (secured) => {
          socket = secured
          listen()
          greet(begin)
        })
      })
    expecting = () => greet(load.starttls ? startTls : begin)
  })
}

async function worker(_: unknown, place: number): Promise<void> {
  const port = load.ports[place % load.ports.length] ?? 0
  while (next < end && Date.now() < deadline) await connection(port)
}

await Promise.all(Array.from({ length: load.connections }, worker))
latencies.sort((a, b) => a - b)
const { user, system } = process.cpuUsage()
console.log(
  JSON.stringify({
    accepted,
    failed,
    startedAt,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    cpuSeconds: (user + system) / 1e6,
    handshakes,
    resumed,
  }),
)
