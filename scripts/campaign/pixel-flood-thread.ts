import { connect, type Socket } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'

/** Fetches pictures at an even pace over a few connections, pipelined; posts how many were answered, and with what. */
const { port, paths, perSecond, seconds } = workerData as { port: number; paths: string[]; perSecond: number; seconds: number }
const everyMs = 10
const connections = 10
const agent = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'
const statuses: Record<string, number> = {}
let asked = 0

const sockets = await Promise.all(
  Array.from(
    { length: connections },
    () =>
      new Promise<Socket>((resolve, reject) => {
        const socket = connect(port, '127.0.0.1', () => resolve(socket)).once('error', reject)
        let rest = ''
        socket.setEncoding('latin1').on('data', (text: string) => {
          const lines = (rest + text).split('\r\n')
          rest = lines.pop() ?? ''
          for (const line of lines) {
            const status = /^[^\n]*HTTP\/1\.1 (\d{3})/.exec(line)?.[1]
            if (status) statuses[status] = (statuses[status] ?? 0) + 1
          }
        })
      }),
  ),
)
const startedAt = performance.now()
const timer = setInterval(() => {
  const passed = performance.now() - startedAt
  const due = Math.min(seconds * perSecond, Math.floor((passed / 1000) * perSecond))
  for (; asked < due; asked++) {
    const path = paths[asked % paths.length]
    sockets[asked % connections]?.write(
      `GET ${path} HTTP/1.1\r\nHost: mail.example\r\nUser-Agent: ${agent}\r\nAccept: image/*\r\nAccept-Language: en\r\n\r\n`,
    )
  }
  if (passed < seconds * 1000 + 1_000) return
  clearInterval(timer)
  for (const socket of sockets) socket.destroy()
  parentPort?.postMessage({ asked, statuses })
}, everyMs)
