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
  /** The limit for all ports together. */
  maxConnections: number
  /** Networks in CIDR notation. */
  trustedProxies: readonly string[]
}

interface Connection {
  seat: Seat
  /** The client's address, or that of a proxy that names its client in X-Forwarded-For. */
  address: string
  /** Where to write: with TLS, after the handshake, the TLS socket. */
  socket: Socket
  /** The latest request, until it has arrived completely and has been answered. */
  request: IncomingMessage | null
  /** The requests without a response yet, in order. */
  answers: Set<ServerResponse>
}

/** How many requests a client may pipeline: all that have arrived are processed at the same time. */
const mostPipelined = 20
/** How long a body may make no progress, ms. */
const bodyPatienceMs = 30_000
/** Connections without a valid key: in total, and per client network. */
const [maxStrangers, maxPerNetwork] = [1_000, 100]

/**
 * The connections of the HTTP ports. A client is a stranger until one of its requests on the connection had a valid key; from then on,
 * the connection keeps its place for as long as it lasts. Addresses of trusted proxies do not count as clients.
 */
export class HttpConnections {
  readonly #seats: ConnectionSeats
  readonly #bodyRate: MinimumRate
  readonly #isProxy: (address: string) => boolean
  readonly #log: Log
  readonly #connections = new WeakMap<Socket, Connection>()

  constructor({ clock, log, maxConnections, trustedProxies }: HttpConnectionsServices) {
    const steady = (): number => clock.steady()
    const crowded = (crowding: Crowding): void => log.warn(crowding, 'too many HTTP connections: closed idle ones, refused others')
    this.#seats = new ConnectionSeats({ max: maxConnections, maxStrangers, maxPerNetwork, countsKnown: false }, { steady, crowded })
    this.#bodyRate = new MinimumRate(steady, { patienceMs: bodyPatienceMs })
    this.#isProxy = networkRule(trustedProxies)
    this.#log = log
  }

  get figures(): SeatFigures {
    return this.#seats.figures
  }

  /** Call it before the server listens. */
  watch(server: Server | TlsServer): void {
    // A refused connection costs the server nothing more.
    interceptConnections(server, (socket, handOn) => this.#admit(socket, handOn))
    server.on('secureConnection', (socket: TLSSocket) => {
      const connection = this.#connections.get(socketBelow(socket))
      if (!connection) return void socket.destroy()
      connection.socket = socket
      tellAddress(socket, connection.address)
      this.#connections.set(socket, connection)
    })
  }

  /** Begins a request; false if that was one too many, and the connection is closed. */
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

  /** Gives it a place, or refuses it. */
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

  /** Disconnects a client that sends a body too slowly. */
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

/** Bytes that were read but not yet consumed wait for us, like a request that has arrived completely. */
function stateOf({ request, answers }: Connection): 'sending' | 'waiting' | 'idle' {
  if (request?.complete === false) return request.readableLength > 0 ? 'waiting' : 'sending'
  return answers.size > 0 ? 'waiting' : 'idle'
}

/** Closes the connection; if the response to a request has not begun, it says why. */
function sendAway({ socket, answers }: Pick<Connection, 'socket' | 'answers'>): void {
  const [answer] = answers
  if (!answer || answer.headersSent || socket.writableLength > 0) return void socket.destroy()
  socket.write('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n')
  socket.destroySoon()
}

/** Code that reads the client's address from the socket gets what the proxy said. */
function tellAddress(socket: Socket, address: string): void {
  if (socket.remoteAddress !== address) Object.defineProperty(socket, 'remoteAddress', { value: address })
}

/** Node reports it in no other way. */
const socketBelow = (socket: TLSSocket): Socket => (socket as TLSSocket & { _parent: Socket })._parent
