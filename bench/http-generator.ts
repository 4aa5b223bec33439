/**
 * A closed-loop HTTP client load on POST /api/emails: started as a process of its own by main.ts. Its one argument is
 * JSON: { port, connections, seconds, size, token, from }. The mail is scheduled for tomorrow, so nothing is delivered
 * meanwhile. Prints JSON.
 */
import { createConnection } from 'node:net'

const load = JSON.parse(process.argv[2] ?? '{}') as {
  port: number
  connections: number
  seconds: number
  size: number
  token: string
  from: string
}

const row = '<tr><td>Item 42 of your order</td><td>19.90 EUR</td></tr>\n'
const html = row.repeat(Math.ceil(load.size / row.length)).slice(0, load.size)
const scheduledAt = new Date(Date.now() + 24 * 3_600_000).toISOString()
let sent = 0
let accepted = 0
let failed = 0
const latencies: number[] = []
const startedAt = performance.now()
const deadline = startedAt + load.seconds * 1000

function request(): string {
  const body = JSON.stringify({
    from: load.from,
    to: `u${sent++}@rcpt0.example`,
    subject: 'Your receipt',
    html,
    scheduled_at: scheduledAt,
  })
  return (
    `POST /api/emails HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${load.token}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  )
}

function connection(): Promise<void> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port: load.port, noDelay: true })
    let rest = ''
    let since = 0
    const ask = (): void => {
      if (performance.now() > deadline) {
        socket.end()
        return
      }
      since = performance.now()
      socket.write(request())
    }
    socket.setEncoding('latin1')
    socket.on('connect', ask)
    socket.on('error', () => resolve())
    socket.on('close', () => resolve())
    socket.on('data', (text: string) => {
      rest += text
      const headEnd = rest.indexOf('\r\n\r\n')
      if (headEnd < 0) return
      const length = Number(/content-length: (\d+)/i.exec(rest)?.[1] ?? 0)
      if (rest.length < headEnd + 4 + length) return
      if (rest.startsWith('HTTP/1.1 200')) {
        accepted++
        latencies.push(performance.now() - since)
      } else {
        if (failed++ === 0) process.stderr.write(`${rest}\n`)
      }
      rest = rest.slice(headEnd + 4 + length)
      ask()
    })
  })
}

await Promise.all(Array.from({ length: load.connections }, connection))
const seconds = (performance.now() - startedAt) / 1000
latencies.sort((a, b) => a - b)
const quantile = (q: number) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * q))] ?? 0
console.log(JSON.stringify({ accepted, failed, perSecond: accepted / seconds, p50Ms: quantile(0.5), p99Ms: quantile(0.99) }))
