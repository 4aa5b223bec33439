import { createServer, type AddressInfo, type Socket } from 'node:net'
import { replyPhases, type MadeReply, type ReplyPhase } from './made-replies.ts'

/** Hosts on loopback, one for each reply: they take mail, but for the one phase at which they give their reply. */
export interface ReplyingHosts {
  port: number
  /** How often each has got the whole message, in the order of the replies. */
  copies: number[]
  close(): Promise<void>
}

const endOfData = '\r\n.\r\n'
const phaseOf: Record<string, ReplyPhase> = { EHLO: 'ehlo', HELO: 'ehlo', MAIL: 'mail', RCPT: 'rcpt', DATA: 'data' }
const usual: Record<ReplyPhase, string> = {
  banner: '220 mx',
  ehlo: '250 mx',
  mail: '250 ok',
  rcpt: '250 ok',
  data: '354 go on',
  dot: '250 taken',
}

/** Where the host of a reply listens. */
export const addressOf = ({ phase }: MadeReply, i: number): string =>
  `127.${100 + replyPhases.indexOf(phase)}.${1 + Math.floor(i / 250)}.${1 + (i % 250)}`

export async function startReplyingHosts(replies: MadeReply[], port = 0): Promise<ReplyingHosts> {
  const numbers = new Map(replies.map((reply, i) => [addressOf(reply, i), i]))
  const copies = replies.map(() => 0)
  const sockets = new Set<Socket>()
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket.on('close', () => sockets.delete(socket)).on('error', () => {}))
    const number = numbers.get(socket.localAddress ?? '')
    if (number === undefined) return void socket.destroy()
    serve(socket, replies[number] as MadeReply, () => copies[number]!++)
  })
  await new Promise<void>((listening) => server.listen(port, '0.0.0.0', listening))
  return {
    port: (server.address() as AddressInfo).port,
    copies,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

function serve(socket: Socket, made: MadeReply, onCopy: () => void): void {
  let received = ''
  let inData = false
  let isOver = false
  const say = (phase: ReplyPhase): void => {
    if (phase !== made.phase)
      return void socket.write(phase === 'ehlo' && made.pipelining ? '250-mx\r\n250 PIPELINING\r\n' : `${usual[phase]}\r\n`)
    socket.write(made.bytes)
    if (!made.closes) return
    isOver = true
    socket.end()
  }
  const takeContent = (): boolean => {
    const isEmpty = received.startsWith('.\r\n')
    const end = isEmpty ? 0 : received.indexOf(endOfData)
    if (end === -1) return false
    received = received.slice(end + (isEmpty ? 3 : endOfData.length))
    inData = false
    if (isEmpty) socket.write('554 no content\r\n')
    else {
      onCopy()
      say('dot')
    }
    return true
  }
  const takeCommand = (): boolean => {
    const end = received.indexOf('\r\n')
    if (end === -1) return false
    const verb = received.slice(0, 4).toUpperCase()
    received = received.slice(end + 2)
    const phase = phaseOf[verb]
    if (phase) say(phase)
    else if (verb === 'QUIT') socket.end('221 bye\r\n')
    else socket.write('250 ok\r\n')
    inData = phase === 'data' && (made.phase !== 'data' || made.code === 354)
    return true
  }
  socket.on('data', (bytes: Buffer) => {
    received += bytes.toString('latin1')
    while (!isOver && (inData ? takeContent() : takeCommand())) continue
  })
  say('banner')
}
