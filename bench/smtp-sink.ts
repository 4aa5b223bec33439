/**
 * An SMTP server that takes every message and counts: started as a process of its own by main.ts.
 * `node smtp-sink.ts HOST PORT COUNT SECONDS` ends after COUNT different messages or SECONDS, and prints JSON.
 */
import { createServer, type Socket } from 'node:net'

const [host = '127.0.0.2', port = '2525', count = '1000', seconds = '60'] = process.argv.slice(2)
const wanted = Number(count)

const seen = new Set<number>()
const latencies: number[] = []
let duplicates = 0
let signed = 0
let connections = 0
let lastAt = 0

const greeting = '220 sink.example ESMTP\r\n'
const extensions = '250-sink.example\r\n250-PIPELINING\r\n250-8BITMIME\r\n250-ENHANCEDSTATUSCODES\r\n250 SIZE 52428800\r\n'
const endOfData = Buffer.from('\r\n.\r\n')

function serve(socket: Socket): void {
  connections++
  socket.setNoDelay(true)
  socket.on('error', () => {})
  socket.write(greeting)
  let rest: Buffer = Buffer.alloc(0)
  let inData = false
  socket.on('data', (bytes: Buffer) => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes])
    let answer = ''
    for (;;) {
      if (inData) {
        const end = rest.indexOf(endOfData)
        if (end < 0) break
        took(rest.toString('latin1', 0, Math.min(end, 8192)))
        rest = rest.subarray(end + endOfData.length)
        inData = false
        answer += '250 2.0.0 queued\r\n'
        continue
      }
      const end = rest.indexOf('\r\n')
      if (end < 0) break
      const verb = rest.toString('latin1', 0, Math.min(end, 4)).toUpperCase()
      rest = rest.subarray(end + 2)
      if (verb === 'EHLO') answer += extensions
      else if (verb === 'DATA') {
        inData = true
        answer += '354 go ahead\r\n'
      } else if (verb === 'QUIT') {
        socket.end(`${answer}221 2.0.0 bye\r\n`)
        return
      } else answer += '250 2.0.0 ok\r\n'
    }
    if (answer) socket.write(answer)
  })
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
  if (seen.size >= wanted) finish()
}

function finish(): void {
  latencies.sort((a, b) => a - b)
  const quantile = (q: number) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * q))] ?? 0
  process.stdout.write(
    JSON.stringify({ delivered: seen.size, duplicates, signed, connections, lastAt, p50Ms: quantile(0.5), p99Ms: quantile(0.99) }),
    () => process.exit(0),
  )
}

createServer(serve).listen(Number(port), host, () => process.stderr.write('listening\n'))
setTimeout(finish, Number(seconds) * 1000)
process.on('SIGTERM', finish)
