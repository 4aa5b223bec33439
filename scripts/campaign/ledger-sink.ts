import { createServer, type AddressInfo, type Socket } from 'node:net'

/** How long an outcome may wait before it is on disk, ms: the server's window plus a slow commit. */
const windowMs = 250
const endOfData = Buffer.from('\r\n.\r\n')

/** An MX host that outlives the server under test, and counts what it has taken responsibility for. */
export interface LedgerSink {
  port: number
  /** By the number in the X-Campaign field: how often the message was taken. */
  taken: Map<string, number>
  /**
   * Transactions whose outcome a server killed at this moment may not have on disk.
   * @param ms how long an outcome may wait before it is there
   */
  inDoubt(ms?: number): number
  close(): void
}

/** A message at its final dot. */
export interface TakenMessage {
  id: string
  /** The reverse-path of its envelope. */
  mailFrom: string
  /** The last forward-path of its envelope. */
  rcptTo: string
  /** As of `performance.now()`. */
  at: number
}

interface SinkManners {
  /** How long it takes to answer the final dot, ms; default: it answers at once. */
  answerAfterMs?: number
  /** True for what is not taken this time. */
  isDeferred?(id: string): boolean
  onTaken?(message: TakenMessage): void
}

export async function startLedgerSink(
  host: string,
  { answerAfterMs = 0, isDeferred = () => false, onTaken = () => {} }: SinkManners = {},
): Promise<LedgerSink> {
  const taken = new Map<string, number>()
  const lately: number[] = []
  const sockets = new Set<Socket>()
  let open = 0

  /** @returns the answer */
  const take = (message: string, envelope: Pick<TakenMessage, 'mailFrom' | 'rcptTo'>): string => {
    const id = /^X-Campaign: (\S+)/m.exec(message)?.[1] ?? 'none'
    if (isDeferred(id)) return '451 4.3.0 not now'
    const at = performance.now()
    taken.set(id, (taken.get(id) ?? 0) + 1)
    lately.push(at)
    if (lately.length > 10_000) lately.splice(0, 5_000)
    onTaken({ id, ...envelope, at })
    return '250 2.0.0 taken'
  }

  const serve = (socket: Socket): void => {
    sockets.add(socket)
    let rest = Buffer.alloc(0)
    let inData = false
    const envelope = { mailFrom: '', rcptTo: '' }
    const leaveData = (): void => {
      if (inData) open--
      inData = false
    }
    socket.on('error', () => {})
    socket.on('close', () => {
      leaveData()
      sockets.delete(socket)
    })
    socket.write('220 sink.example ESMTP\r\n')
    socket.on('data', (bytes: Buffer) => {
      rest = Buffer.concat([rest, bytes])
      for (;;) {
        const end = rest.indexOf(inData ? endOfData : '\r\n')
        if (end < 0) return
        const text = rest.toString('latin1', 0, end)
        rest = rest.subarray(end + (inData ? endOfData.length : 2))
        if (inData) {
          const answer = `${take(text, envelope)}\r\n`
          leaveData()
          if (answerAfterMs === 0) socket.write(answer)
          else setTimeout(() => socket.write(answer), answerAfterMs)
        } else if (/^EHLO/i.test(text)) socket.write('250-sink.example\r\n250-PIPELINING\r\n250 8BITMIME\r\n')
        else if (/^DATA/i.test(text)) {
          inData = true
          open++
          socket.write('354 go ahead\r\n')
        } else if (/^QUIT/i.test(text)) socket.end('221 bye\r\n')
        else {
          envelope.mailFrom = /^MAIL FROM:<(.*?)>/i.exec(text)?.[1] ?? envelope.mailFrom
          envelope.rcptTo = /^RCPT TO:<(.*?)>/i.exec(text)?.[1] ?? envelope.rcptTo
          socket.write('250 2.0.0 ok\r\n')
        }
      }
    })
  }

  const server = createServer(serve)
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  return {
    port: (server.address() as AddressInfo).port,
    taken,
    inDoubt: (ms = windowMs) => open + lately.filter((at) => at > performance.now() - ms).length,
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
