import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Clock } from '../clock.ts'
import { ConnectionSeats, type Crowding, type Seat, type SeatFigures } from '../connection/connection-seats.ts'
import { MinimumRate } from '../connection/minimum-rate.ts'
import { interceptConnections, takeProxyHeader } from '../connection/take-proxy-header.ts'
import { clientNetwork, networkRule } from '../ip-address.ts'
import type { Log } from '../log.ts'

interface HttpConnectionsServices {
  clock: Clock
  log: Log
  /** Over all ports. */
  maxConnections: number
  /** Networks in CIDR notation. */
  trustedProxies: readonly string[]
}

interface Connection {
  seat: Seat
  /** The client's, or that of a proxy which says by X-Forwarded-For whom it speaks for. */
  address: string
  /** What is written to: with TLS, and after its handshake, the socket above the one that came in. */
  socket: Socket
  /** The request that came last, until it is here as a whole and answered. */
  request: IncomingMessage | null
  /** Those that are not answered yet, in their order. */
  answers: Set<ServerResponse>
}

/** Requests that a client may send ahead of their answers: all that have come are worked on at once. */
const mostPipelined = 20
/** How long nothing of a body may come in, ms. */
const bodyPatienceMs = 30_000
/** Connections without a valid key: in all, and of one client network. */
const [maxStrangers, maxPerNetwork] = [1_000, 100]

/**
 * The connections of the HTTP ports. A client is a stranger until a request of its connection has had a valid key; with it
 * the connection keeps its seat for as long as it lasts. The addresses of trusted proxies are no client's.
 */
export class HttpConnections {
  readonly #seats: ConnectionSeats
  readonly #bodyRate: MinimumRate
  readonly #isProxy: (address: string) => boolean
  readonly #log: Log
  readonly #connections = new WeakMap<Socket, Connection>()

  constructor({ clock, log, maxConnections, trustedProxies }: HttpConnectionsServices) {
    const steady = (): number => clock.steady()
    const crowded = (crowding: Crowding): void => log.warn(crowding, 'too many HTTP connections: idle ones were sent away, others refused')
    this.#seats = new ConnectionSeats({ max: maxConnections, maxStrangers, maxPerNetwork, countsKnown: false }, { steady, crowded })
    this.#bodyRate = new MinimumRate(steady, { patienceMs: bodyPatienceMs })
    this.#isProxy = networkRule(trustedProxies)
    this.#log = log
  }

  get figures(): SeatFigures {
    return this.#seats.figures
  }

  /** To be called before the server listens. */
  watch(server: Server | TlsServer): void {
    // What is refused costs the server nothing more.
    interceptConnections(server, (socket, handOn) => this.#admit(socket, handOn))
    server.on('secureConnection', (socket: TLSSocket) => {
      const connection = this.#connections.get(socketBelow(socket))
      if (!connection) return void socket.destroy()
      connection.socket = socket
      tellAddress(socket, connection.address)
      this.#connections.set(socket, connection)
    })
  }

  /** Begins a request; false where that was one too many, and the connection is gone. */
  begin(req: IncomingMessage, res: ServerResponse): boolean {
    const connection = this.#connections.get(req.socket)
    if (!connection) return true
    const { seat, answers } = connection
    connection.request = req
    answers.add(res)
    if (answers.size > mostPipelined) {
      req.socket.destroy()
      return false
    }
    seat.progress()
    res.once('close', () => {
      answers.delete(res)
      if (connection.request === req && req.complete) connection.request = null
      seat.progress()
    })
    return true
  }

  /** The request has a valid key. */
  vouch({ socket }: IncomingMessage): void {
    this.#connections.get(socket)?.seat.vouch()
  }

  #admit(socket: Socket, handOn: () => void): void {
    const address = socket.remoteAddress ?? ''
    if (!this.#isProxy(address)) return this.#seat(socket, address, handOn)
    const seat = this.#seats.take(null, () => socket.destroy())
    if (typeof seat === 'string') return this.#refuse(socket, address, seat)
    takeProxyHeader(socket, (client) => {
      seat.free()
      if (client === null) this.#log.debug({ address, reason: 'proxy_header' }, 'HTTP connection refused')
      else this.#seat(socket, client, handOn)
    })
  }

  /** Gives it a seat, or refuses it. */
  #seat(socket: Socket, address: string, handOn: () => void): void {
    const connection = { socket, address, request: null, answers: new Set<ServerResponse>() }
    const seat = this.#seats.take(this.#isProxy(address) ? null : clientNetwork(address), () => sendAway(connection))
    if (typeof seat === 'string') return this.#refuse(socket, address, seat)
    tellAddress(socket, address)
    this.#watch(socket, Object.assign(connection, { seat }))
    handOn()
  }

  #refuse(socket: Socket, address: string, reason: string): void {
    this.#log.debug({ address, reason }, 'HTTP connection refused')
    socket.destroy()
  }

  /** Gives the client up that sends a body too slowly. */
  #watch(socket: Socket, connection: Connection): void {
    const stopWatching = this.#bodyRate.watch({
      received: () => connection.socket.bytesRead,
      state: () => stateOf(connection),
      progress: () => connection.seat.progress(),
      tooSlow: () => sendAway(connection),
    })
    socket.once('close', () => {
      connection.seat.free()
      stopWatching()
    })
    this.#connections.set(socket, connection)
  }
}

/** What was read of a body and not taken yet waits for us, as a request does that is here as a whole. */
function stateOf({ request, answers }: Connection): 'sending' | 'waiting' | 'idle' {
  if (request?.complete === false) return request.readableLength > 0 ? 'waiting' : 'sending'
  return answers.size > 0 ? 'waiting' : 'idle'
}

/** Closes the connection; a request whose answer has not begun is told why. */
function sendAway({ socket, answers }: Pick<Connection, 'socket' | 'answers'>): void {
  const [answer] = answers
  if (!answer || answer.headersSent || socket.writableLength > 0) return void socket.destroy()
  socket.write('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n')
  socket.destroySoon()
}

/** Whoever asks the socket where its client is learns what the proxy has said. */
function tellAddress(socket: Socket, address: string): void {
  if (socket.remoteAddress !== address) Object.defineProperty(socket, 'remoteAddress', { value: address })
}

/** Node tells it by no other way. */
const socketBelow = (socket: TLSSocket): Socket => (socket as TLSSocket & { _parent: Socket })._parent
