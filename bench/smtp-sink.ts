/**
 * An SMTP server that takes every message and counts: the process that sink.ts starts. `node smtp-sink.ts HOST PORT CERTIFICATE DELAY` tells its
 * parent when it listens, and then, for each order, what has come once all messages are there or the time is over.
 */
import { createServer, type Socket } from 'node:net'
import { createServer as createSecureServer } from 'node:tls'
import type { Order, Received } from './sink.ts'
import { quantile } from './figures.ts'

const [host = '127.0.0.2', port = '2525', certificate = 'null', delay = '0'] = process.argv.slice(2)
const tls = JSON.parse(certificate) as { key: string; cert: string } | null
const delayMs = Number(delay)

/** What has come since the last order. */
let seen = new Set<number>()
let latencies: number[] = []
let duplicates = 0
let signed = 0
let lastAt = 0
let handshakes = 0
let resumed = 0
let cpu = process.cpuUsage()
let order: Order = { messages: Infinity, seconds: 0 }
let timer = setTimeout(() => {})

const greeting = '220 sink.example ESMTP\r\n'
const host250 = '250-sink.example\r\n'
const extensions = '250-PIPELINING\r\n250-8BITMIME\r\n250-ENHANCEDSTATUSCODES\r\n250 SIZE 52428800\r\n'
const startTls = '250-STARTTLS\r\n'
const queued = '250 2.0.0 queued\r\n'
const endOfData = Buffer.from('\r\n.\r\n')

const secureServer = tls && createSecureServer(tls, speak)
secureServer?.on('secureConnection', (socket) => {
  handshakes++
  if (socket.isSessionReused()) resumed++
})
secureServer?.on('tlsClientError', () => {})

function serve(socket: Socket): void {
  socket.setNoDelay(true)
  socket.write(greeting)
  speak(socket)
}

function speak(socket: Socket): void {
  socket.on('error', () => {})
  let rest: Buffer = Buffer.alloc(0)
  let inData = false
  let isThinking = false
  socket.on('data', (bytes: Buffer) => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes])
    if (!isThinking) goOn()
  })
  function goOn(): void {
    let answer = ''
    for (;;) {
      if (inData) {
        const end = rest.indexOf(endOfData)
        if (end < 0) break
        const head = rest.toString('latin1', 0, Math.min(end, 8192))
        rest = rest.subarray(end + endOfData.length)
        inData = false
        if (delayMs > 0) {
          socket.write(answer)
          isThinking = true
          setTimeout(() => {
            isThinking = false
            took(head)
            socket.write(queued)
            goOn()
          }, delayMs)
          return
        }
        took(head)
        answer += queued
        continue
      }
      const end = rest.indexOf('\r\n')
      if (end < 0) break
      const verb = rest.toString('latin1', 0, Math.min(end, 4)).toUpperCase()
      rest = rest.subarray(end + 2)
      if (verb === 'EHLO') answer += host250 + (secureServer && !('encrypted' in socket) ? startTls : '') + extensions
      else if (verb === 'STAR') {
        socket.removeAllListeners('data')
        socket.write('220 2.0.0 go ahead\r\n')
        secureServer?.emit('connection', socket)
        return
      } else if (verb === 'DATA') {
        inData = true
        answer += '354 go ahead\r\n'
      } else if (verb === 'QUIT') {
        socket.end(`${answer}221 2.0.0 bye\r\n`)
        return
      } else answer += '250 2.0.0 ok\r\n'
    }
    if (answer) socket.write(answer)
  }
}

function took(head: string): void {
  lastAt = Date.now()
  const match = /^X-Bench: (\d+) (\d+)/m.exec(head)
  if (!match) return
  if (/^DKIM-Signature:/im.test(head)) signed++
  const id = Number(match[1])
  if (seen.has(id)) duplicates++
  else {
    seen.add(id)
    latencies.push(lastAt - Number(match[2]))
  }
  if (seen.size === order.messages) tell()
}

function tell(): void {
  clearTimeout(timer)
  latencies.sort((a, b) => a - b)
  const { user, system } = process.cpuUsage(cpu)
  const received: Received = {
    delivered: seen.size,
    duplicates,
    signed,
    lastAt,
    p50Ms: quantile(latencies, 0.5),
    p95Ms: quantile(latencies, 0.95),
    p99Ms: quantile(latencies, 0.99),
    cpuSeconds: (user + system) / 1e6,
    handshakes,
    resumed,
  }
  process.send?.(received)
}

process.on('message', (next: Order) => {
  order = next
  seen = new Set()
  latencies = []
  duplicates = signed = lastAt = handshakes = resumed = 0
  cpu = process.cpuUsage()
  timer = setTimeout(tell, order.seconds * 1000)
})
process.on('disconnect', () => process.exit())
createServer(serve).listen(Number(port), host, () => process.send?.('listening'))
