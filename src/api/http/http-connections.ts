import type { BaseServices } from '../../platform/base-services.ts'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import {
  ConnectionSlots,
  restMs,
  type Crowding,
  type ConnectionSlot,
  type SlotFigures,
} from '../../platform/connection/connection-slots.ts'
import { MinimumRate } from '../../platform/connection/minimum-rate.ts'
import { interceptConnections, onHangUp } from '../../platform/connection/intercept-connections.ts'
import { takeProxyHeader } from '../../platform/connection/take-proxy-header.ts'
import { SternaError } from '../../platform/errors.ts'
import { clientNetwork, networkRule, plainAddress } from '../../platform/ip-address.ts'
import type { Log } from '../../platform/log.ts'
import type { ApiContext } from './api-state.ts'
import { clientAddressRule } from './client-address.ts'

interface HttpConnectionsServices extends Pick<BaseServices, 'clock' | 'log'> {
  /** The limit for all ports together. */
  maxConnections: number
  /** Networks in CIDR notation. */
  trustedProxies: readonly string[]
}

interface Connection {
  seat: ConnectionSlot
  /** A trusted proxy's, which carries the requests of many. */
  isProxy: boolean
  /** A trusted proxy's, or a client's for which one speaks. */
  isProxied: boolean
  /** The client's address, or that of a proxy that names its client in X-Forwarded-For. */
  address: string
  /** Where to write: with TLS, after the handshake, the TLS socket. */
  socket: Socket
  /** The latest request, until it has arrived completely and has been answered. */
  request: IncomingMessage | null
  /** The requests without a response yet, in order. */
  answers: Set<ServerResponse>
  /** Bytes that the client had taken at the last look. */
  taken: number
}

/** How many requests a client may pipeline: all that have arrived are processed at the same time. */
const maxPipelined = 20
/** How long a body may make no progress, ms. */
const bodyPatienceMs = 30_000
/** Connections without a valid key: in total, and per client network. */
const [maxStrangers, maxPerNetwork] = [1_000, 100]

/**
 * The connections of the HTTP ports. A client is a stranger until one of its requests on the connection had a valid key; from then on,
 * the connection counts as the account's. A trusted proxy's connection counts for whoever it serves: the client or the account of the
 * request that is being answered.
 */
export class HttpConnections {
  readonly #seats: ConnectionSlots
  readonly #bodyRate: MinimumRate
  readonly #isProxy: (address: string) => boolean
  readonly #clientAddress: ReturnType<typeof clientAddressRule>
  readonly #log: Log
  readonly #connections = new WeakMap<Socket, Connection>()

  constructor({ clock, log, maxConnections, trustedProxies }: HttpConnectionsServices) {
    const steady = (): number => clock.steady()
    const crowded = (crowding: Crowding): void => log.warn(crowding, 'too many HTTP connections: closed idle ones, refused others')
    this.#seats = new ConnectionSlots({ max: maxConnections, maxStrangers, maxPerNetwork, countsKnown: false }, { steady, crowded })
    this.#bodyRate = new MinimumRate(steady, { patienceMs: bodyPatienceMs })
    this.#isProxy = networkRule(trustedProxies)
    this.#clientAddress = clientAddressRule(trustedProxies)
    this.#log = log
  }

  get figures(): SlotFigures {
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
      onHangUp(socket, () => connection.seat.free())
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
    if (answers.size > maxPipelined) {
      req.socket.destroy()
      return false
    }
    if (connection.isProxy) seat.serve(this.#networkBehind(connection, req))
    else seat.progress()
    res.once('close', () => {
      answers.delete(res)
      if (connection.request === req && req.complete) connection.request = null
      if (connection.isProxy && answers.size === 0) seat.serve(null)
      else seat.progress()
    })
    return true
  }

  /** Whether the request came by a trusted proxy. */
  isProxied(req: IncomingMessage): boolean {
    return this.#connections.get(req.socket)?.isProxied === true
  }

  /**
   * The request has a valid key of this account.
   * @throws SternaError `rate_limit_exceeded` if the account has too many connections; this one is closed after the answer
   */
  vouch({ req, res }: Pick<ApiContext, 'req' | 'res'>, accountId: string): void {
    if (this.#connections.get(req.socket)?.seat.authenticated(accountId) !== false) return
    res.setHeader('Connection', 'close')
    const message = `Your account has ${this.#seats.maxPerAccount} connections open, and no more are allowed. Close some, or send more requests over each.`
    throw new SternaError('rate_limit_exceeded', message, { retryAfter: restMs / 1000 })
  }

  /** The network of the client that a proxy names; null if it names none. */
  #networkBehind({ address }: Connection, { headers }: IncomingMessage): string | null {
    const client = this.#clientAddress({ remoteAddress: address, forwardedFor: headers['x-forwarded-for'] as string | undefined })
    return this.#isProxy(client) ? null : clientNetwork(client)
  }

  #admit(socket: Socket, handOn: () => void): void {
    const address = plainAddress(socket.remoteAddress ?? '')
    if (!this.#isProxy(address)) return this.#seat(socket, { address, isProxied: false }, handOn)
    const seat = this.#seats.take(null, () => socket.destroy())
    if (typeof seat === 'string') return this.#refuse(socket, address, seat)
    takeProxyHeader(socket, (client) => {
      seat.free()
      if (client === null) this.#log.debug({ address, reason: 'proxy_header' }, 'HTTP connection refused')
      else this.#seat(socket, { address: client, isProxied: true }, handOn)
    })
  }

  /** Gives it a place, or refuses it. */
  #seat(socket: Socket, { address, isProxied }: { address: string; isProxied: boolean }, handOn: () => void): void {
    const isProxy = this.#isProxy(address)
    const connection = { socket, address, isProxy, isProxied, request: null, answers: new Set<ServerResponse>(), taken: 0 }
    const seat = this.#seats.take(isProxy ? null : clientNetwork(address), () => sendAway(connection))
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
    onHangUp(socket, () => connection.seat.free())
    socket.once('close', () => {
      connection.seat.free()
      stopWatching()
    })
    this.#connections.set(socket, connection)
  }
}

/** Bytes that were read but not yet consumed wait for us, like a request that has arrived completely. */
function stateOf(connection: Connection): 'sending' | 'waiting' | 'idle' {
  const { request, answers } = connection
  if (request?.complete === false) return request.readableLength > 0 ? 'waiting' : 'sending'
  return answers.size > 0 && isTaking(connection) ? 'waiting' : 'idle'
}

/** False if the client has taken nothing of an answer since the last look, although there is more: it then waits for itself. */
function isTaking(connection: Connection): boolean {
  const { socket, taken } = connection
  connection.taken = socket.bytesWritten - socket.writableLength
  return socket.writableLength === 0 || connection.taken > taken
}

/**
 * Closes the connection; if the response to a request has not begun, it says why. What is being carried out gets its answer first, because
 * a client that gets none would ask again.
 */
function sendAway({ socket, answers }: Pick<Connection, 'socket' | 'answers'>): void {
  const [answer] = answers
  if (!answer || answer.headersSent || socket.writableLength > 0) return void socket.destroy()
  if (answer.req.complete) return void answer.setHeader('Connection', 'close')
  socket.write('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n')
  socket.destroySoon()
}

/** Code that reads the client's address from the socket gets what the proxy said. */
function tellAddress(socket: Socket, address: string): void {
  if (socket.remoteAddress !== address) Object.defineProperty(socket, 'remoteAddress', { value: address })
}

/** Node reports it in no other way. */
const socketBelow = (socket: TLSSocket): Socket => (socket as TLSSocket & { _parent: Socket })._parent
