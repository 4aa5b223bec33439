import { randomBytes } from 'node:crypto'
import type { AddressInfo, Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import {
  SMTPServer,
  type SMTPServerAuthentication,
  type SMTPServerAuthenticationResponse,
  type SMTPServerDataStream,
  type SMTPServerOptions,
  type SMTPServerSession,
} from 'smtp-server'
import type { SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection.js'
import type { ConnectionSlot } from '../../platform/connection/connection-slots.ts'
import { interceptConnections } from '../../platform/connection/intercept-connections.ts'
import { ciphersOfSmtp } from '../../platform/certificate/served-ciphers.ts'
import { sessionIdContext } from '../../platform/certificate/ticket-keys.ts'
import { listen } from '../../platform/connection/listen.ts'
import { takeProxyHeader } from '../../platform/connection/take-proxy-header.ts'
import { messageOf } from '../../platform/errors.ts'
import { clientNetwork, plainAddress } from '../../platform/ip-address.ts'
import type { Reply } from '../../platform/smtp/reply.ts'
import type { ArrivingContent } from './arriving-content.ts'
import { replyOf } from './smtp-refusal.ts'
import { isLoginRefusal, isOpen, type SmtpHandlers } from './smtp-session.ts'
import { SmtpConnection, loginMs, strangerIdleMs, type SmtpPort, type SmtpPortSettings } from './smtp-connection.ts'
import { textOf } from './smtp-wordings.ts'

/** One SMTP port. Only this file, smtp-connection.ts and data-parser.ts know smtp-server. */
export class SmtpListener<User> extends SMTPServer implements SmtpPort<User> {
  readonly settings: SmtpPortSettings
  readonly handlers: SmtpHandlers<User>
  readonly #open = new Map<SMTPServerSession, SmtpConnection<User>>()
  /** By the socket of the session: the TLS one if there is one. */
  readonly #guests = new WeakMap<Socket, Guest<User>>()
  isStopping = false

  constructor(settings: SmtpPortSettings, handlers: SmtpHandlers<User>) {
    super(libraryOptions(settings, isOpen(handlers.access)))
    this.settings = settings
    this.handlers = handlers
    this.#shareTickets()
    interceptConnections(this.server, (_, handOn) => handOn())
    this.on('error', (error) => settings.log.debug({ reason: messageOf(error) }, 'SMTP connection failed'))
  }

  /** @throws SternaError `configuration` if it cannot listen there */
  async start(...where: Rest<Parameters<typeof listen>>): Promise<AddressInfo> {
    await listen(this.server, ...where)
    return this.server.address() as AddressInfo
  }

  /** PEM, both; for new connections. */
  useCertificate({ cert, key }: Pick<SmtpPortSettings['tls'], 'cert' | 'key'>): void {
    this.updateSecureContext({ cert, key })
    this.#shareTickets()
  }

  #shareTickets(): void {
    for (const context of this.secureContext.values()) this.settings.tls.tickets?.prepare(context)
  }

  /** Stops listening, lets arriving messages finish within `graceMs`, and closes all other connections at once. */
  async stop(graceMs: number): Promise<void> {
    this.isStopping = true
    this.options.closeTimeout = graceMs
    const closed = new Promise<void>((resolve) => this.close(resolve))
    for (const connection of this.#open.values()) connection.leaveUnlessReceiving()
    await closed
    for (const connection of this.#open.values()) connection.cut()
  }

  override connect(socket: Socket | TLSSocket, options?: SMTPConnectionOptions | null): void {
    // An already closed socket emits no further event that would remove its connection.
    const guest = this.#guests.get(socket)
    if (socket.destroyed || !guest) return
    const connection = new SmtpConnection(this, { socket, seat: guest.seat }, options)
    guest.connection = connection
    this.connections.add(connection)
    this.#open.set(connection.session, connection)
    connection.on('error', (error: Error) => this._onError(error))
    connection.init()
  }

  override _acceptSocket(socket: Socket, handshake: boolean): (() => void) | false {
    const address = plainAddress(socket.remoteAddress ?? '')
    const guest: Guest<User> = { seat: noSeat, connection: null }
    if (!this.#seat(guest, socket, { address, network: this._expectsProxyHeader(socket) ? null : clientNetwork(address) })) return false
    socket.once('close', () => guest.seat.free())
    this.#guests.set(socket, guest)
    const release = super._acceptSocket(socket, handshake)
    if (!release || !handshake) return release
    // Destroying the socket below a handshake crashes Node, so destroy the TLS socket.
    const deadline = setTimeout(() => this._pendingSockets.get(socket)?.destroy(), loginMs).unref()
    return () => {
      clearTimeout(deadline)
      this.#guests.set(this._pendingSockets.get(socket) ?? socket, guest)
      release()
    }
  }

  /** The library asks a handshake that failed for its protocol, which crashes Node once the socket below has gone. */
  override _upgrade(socket: Socket, callback: Parameters<SMTPServer['_upgrade']>[1]): void {
    super._upgrade(socket, callback)
    const secure = this._pendingSockets.get(socket) as TLSSocket | undefined
    if (!secure) return
    const getProtocol = secure.getProtocol.bind(secure)
    secure.getProtocol = () => (socket.destroyed || secure.destroyed ? null : getProtocol())
  }

  override _expectsProxyHeader(socket: Socket): boolean {
    return this.settings.isProxy(socket.remoteAddress ?? '')
  }

  /** The library knows only version 1 of the header, and accepts nobody without one. */
  override _handleProxy(socket: Socket, done: Parameters<SMTPServer['_handleProxy']>[1]): void {
    const guest = this.#guests.get(socket)
    if (!guest || !this._expectsProxyHeader(socket)) return super._handleProxy(socket, done)
    takeProxyHeader(socket, (address) => {
      guest.seat.free()
      if (address === null) {
        this.settings.log.debug({ address: plainAddress(socket.remoteAddress ?? ''), reason: 'proxy_header' }, 'SMTP connection refused')
      } else if (this.#seat(guest, socket, { address, network: clientNetwork(address) })) {
        return done(null, { id: randomBytes(10).toString('hex'), remoteAddress: address })
      }
      done(new Error('refused'))
    })
  }

  /** Gives the guest a seat, or turns it away. */
  #seat(guest: Guest<User>, socket: Socket, { address, network }: { address: string; network: string | null }): boolean {
    const seat = this.settings.seats.take(network, () => {
      if (guest.connection) guest.connection.giveWay()
      else (this._pendingSockets.get(socket) ?? socket).destroy()
    })
    if (typeof seat !== 'string') {
      guest.seat = seat
      return true
    }
    this.settings.log.debug({ address, reason: seat }, 'SMTP connection refused')
    if (this.settings.implicitTls) socket.destroy()
    else turnAway(socket, seat === 'full' ? 'Too many connections, try again later' : 'Too many connections from your address')
    return false
  }

  override onConnect(_session: SMTPServerSession, done: () => void): void {
    done()
  }

  override onSecure(_socket: Socket | TLSSocket, _session: SMTPServerSession, done: () => void): void {
    done()
  }

  override onAuth(
    auth: SMTPServerAuthentication,
    session: SMTPServerSession,
    done: (error: Error | null, response?: SMTPServerAuthenticationResponse) => void,
  ): void {
    const connection = this.#open.get(session)
    const { access } = this.handlers
    if (!connection || isOpen(access)) return
    access.login(auth.password ?? '', connection.client).then(
      (answer) => {
        if (isLoginRefusal(answer)) return connection.answerLater(answer.delayMs, () => done(errorOf(answer.reply)))
        if (!connection.welcome(access.accountOf(answer))) return done(errorOf(tooManyOfAccount))
        done(null, { user: answer })
      },
      (error: unknown) => {
        this.settings.log.error({ error }, 'an SMTP login could not be checked')
        done(errorOf(loginFailed))
      },
    )
  }

  override onData(content: SMTPServerDataStream, session: SMTPServerSession, done: (error: Error | null, text?: string) => void): void {
    const connection = this.#open.get(session)
    if (!connection) return
    void connection.take(content as unknown as ArrivingContent).then((reply) => {
      if (reply.code < 400) done(null, textOf(reply))
      else done(errorOf(reply))
      connection.finishedMessage()
    })
  }

  override onClose(session: SMTPServerSession): void {
    this.#open.get(session)?.closed()
    this.#open.delete(session)
  }
}

type Rest<T extends unknown[]> = T extends [unknown, ...infer Others] ? Others : never

/** The holder of a seat; the connection begins after the TLS handshake. */
interface Guest<User> {
  seat: ConnectionSlot
  connection: SmtpConnection<User> | null
}

const noSeat: ConnectionSlot = { progress() {}, authenticated: () => true, serve() {}, free() {} }

const loginFailed = replyOf(454, '4.7.0', 'Temporary authentication failure, try again later')
const tooManyOfAccount = replyOf(421, '4.7.0', 'Too many connections of your account, try again later')

/** A refusal in the form of the library's callbacks. */
const errorOf = (reply: Reply): Error => Object.assign(new Error(textOf(reply)), { responseCode: reply.code })

/** Waits for nobody, because a client that keeps talking would keep its place. */
function turnAway(socket: Socket, text: string): void {
  socket.write(`421 4.7.0 ${text}\r\n`)
  socket.destroySoon()
}

const libraryOptions = (settings: SmtpPortSettings, needsNoLogin: boolean): SMTPServerOptions => ({
  name: settings.hostname,
  heloResponse: '%s',
  secure: settings.implicitTls,
  key: settings.tls.key,
  cert: settings.tls.cert,
  sessionIdContext,
  SNICallback: (name, done) => done(null, settings.tls.contextFor?.(name)),
  // The library would offer TLS 1.0.
  minVersion: 'TLSv1.2',
  ciphers: ciphersOfSmtp,
  authMethods: needsNoLogin ? [] : ['PLAIN', 'LOGIN'],
  // The address decides whether a connection may log in without TLS.
  allowInsecureAuth: true,
  hideREQUIRETLS: false,
  disabledCommands: ['WIZ', 'SHELL', 'KILL', 'XCLIENT', 'XFORWARD', ...(needsNoLogin ? ['AUTH'] : [])],
  size: settings.maxMessageBytes,
  hideDSN: false,
  hideENHANCEDSTATUSCODES: false,
  disableReverseLookup: true,
  noDelay: true,
  logger: false,
  socketTimeout: strangerIdleMs,
})
