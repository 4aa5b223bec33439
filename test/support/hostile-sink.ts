import { createServer, type Server, type Socket } from 'node:net'

/** Where a host falls silent; `never`: it takes mail. */
export type SilentAt = 'banner' | 'ehlo' | 'mail' | 'rcpt' | 'data' | 'dot' | 'never'

/** What an MX host does. It may be changed while it runs: connections that come later find it so. */
interface Manner {
  silentAt: SilentAt
  /** Resets every connection as it comes. */
  resets?: boolean
  /** How fast it takes what it is sent, bytes a second. */
  bytesPerSecond?: number
}

/** An MX host of the campaign, at an address of its own. */
export interface HostileSink {
  manner: Manner
  connections: number
  /** Messages taken. */
  taken: number
  close(): void
}

const endOfData = Buffer.from('\r\n.\r\n')
const phaseOf: Record<string, SilentAt> = { EHLO: 'ehlo', MAIL: 'mail', RCPT: 'rcpt', DATA: 'data' }
const answers: Record<string, string> = { EHLO: '250-sink.example\r\n250-PIPELINING\r\n250 8BITMIME', DATA: '354 go ahead' }

/** @param onTaken told the beginning of each message that was taken */
export async function startHostileSink(
  host: string,
  port: number,
  manner: Manner,
  onTaken: (head: string) => void = () => {},
): Promise<HostileSink> {
  const sockets = new Set<Socket>()
  const serve = (socket: Socket): void => {
    sink.connections++
    sockets.add(socket.on('close', () => sockets.delete(socket)).on('error', () => {}))
    const { silentAt, resets, bytesPerSecond } = sink.manner
    if (resets) return void socket.resetAndDestroy()
    const say = (phase: SilentAt, text: string): boolean => phase !== silentAt && socket.write(`${text}\r\n`)
    say('banner', '220 sink.example ESMTP')
    let rest: Buffer = Buffer.alloc(0)
    let head = ''
    let inData = false
    socket.on('data', (bytes: Buffer) => {
      if (bytesPerSecond) {
        socket.pause()
        setTimeout(() => socket.resume(), (bytes.length * 1000) / bytesPerSecond)
      }
      rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes])
      for (;;) {
        const end = rest.indexOf(inData ? endOfData : '\r\n')
        if (inData) head += rest.toString('latin1', 0, Math.max(0, Math.min(8192 - head.length, end < 0 ? rest.length - 4 : end)))
        if (end < 0) {
          // Of a long message only what may be the beginning of its end is kept.
          if (inData) rest = rest.subarray(Math.max(0, rest.length - 4))
          return
        }
        const verb = rest.toString('latin1', 0, Math.min(end, 4)).toUpperCase()
        rest = rest.subarray(end + (inData ? endOfData.length : 2))
        if (inData) {
          inData = false
          sink.taken++
          onTaken(head)
          say('dot', '250 2.0.0 taken')
        } else if (verb === 'QUIT') {
          socket.end('221 bye\r\n')
        } else {
          say(phaseOf[verb] ?? 'never', answers[verb] ?? '250 2.0.0 ok')
          // What is silent at a phase says nothing to what comes behind it either.
          if (phaseOf[verb] === silentAt) return void socket.removeAllListeners('data').resume()
          inData = verb === 'DATA'
          head = ''
        }
      }
    })
  }
  const server: Server = createServer(serve)
  await new Promise<void>((listening) => server.listen(port, host, listening))
  const sink: HostileSink = {
    manner,
    connections: 0,
    taken: 0,
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
  return sink
}
