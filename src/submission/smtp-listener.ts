import type { AddressInfo, Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { SMTPServer } from 'smtp-server'
import type {
  SMTPServerAuthentication,
  SMTPServerAuthenticationResponse,
  SMTPServerDataStream,
  SMTPServerOptions,
  SMTPServerSession,
} from 'smtp-server'
import { SMTPConnection } from 'smtp-server/lib/smtp-connection.js'
import type { SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection.js'
import type { AuthenticatedKey } from '../account/api-keys.ts'
import { messageOf } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Reply } from '../smtp/reply.ts'
import { isLoopback } from './client-network.ts'
import type { ConnectionSeats } from './connection-seats.ts'
import { replyOf } from './smtp-refusal.ts'
import { SmtpSession } from './smtp-session.ts'
import type { SmtpClient, SmtpHandlers } from './smtp-session.ts'

interface SmtpListenerOptions {
  /** Our name in greetings. */
  hostname: string
  /** True: TLS from the first byte. False: STARTTLS. */
  implicitTls: boolean
  /** PEM, both; there is no default, since the library's own key is public. */
  tls: { key: string; cert: string }
  allowPlaintextAuthOnLoopback: boolean
  maxMessageBytes: number
  maxRecipients: number
  seats: ConnectionSeats
  log: Log
}

/** Without login a client gets this long between two commands, ms; with login as long as RFC 5321 4.5.3.2.7 asks. */
const strangerIdleMs = 60_000
const idleMs = 5 * 60_000
/** How long a client may take to log in, ms, however busy it looks. */
const loginMs = 2 * 60_000

/**
 * One port for mail from apps (RFC 6409). It is the only file that knows smtp-server: it puts its own words and codes
 * in place of the library's, parses addresses by our own grammar, and bounds what a client may do.
 */
export class SmtpListener extends SMTPServer {
  readonly settings: SmtpListenerOptions
  readonly handlers: SmtpHandlers
  readonly #open = new Map<SMTPServerSession, SubmissionConnection>()
  isStopping = false

  constructor(settings: SmtpListenerOptions, handlers: SmtpHandlers) {
    super(libraryOptions(settings))
    this.settings = settings
    this.handlers = handlers
    this.on('error', (error) => settings.log.debug({ reason: messageOf(error) }, 'SMTP connection failed'))
  }

  /** Begins to listen; a port of 0 lets the system choose. */
  async start(place: { host: string; port: number }): Promise<AddressInfo> {
    await new Promise<void>((resolve, reject) => {
      this.server.once('error', reject)
      this.listen(place.port, place.host, () => {
        this.server.off('error', reject)
        resolve()
      })
    })
    return this.server.address() as AddressInfo
  }

  /** Stops listening, lets messages that are arriving finish within `graceMs`, and sends everybody else away at once. */
  async stop(graceMs: number): Promise<void> {
    this.isStopping = true
    this.options.closeTimeout = graceMs
    const closed = new Promise<void>((resolve) => this.close(resolve))
    for (const connection of this.#open.values()) connection.leaveUnlessReceiving()
    await closed
    for (const connection of this.#open.values()) connection.cut()
  }

  override connect(socket: Socket | TLSSocket, options?: SMTPConnectionOptions | null): void {
    // A socket that has closed already gives no further event by which its connection would be forgotten.
    if (socket.destroyed) return
    const connection = new SubmissionConnection(this, socket, options)
    this.connections.add(connection)
    this.#open.set(connection.session, connection)
    connection.on('error', (error: Error) => this._onError(error))
    connection.init()
  }

  override _acceptSocket(socket: Socket, handshake: boolean): (() => void) | false {
    // The library listens for errors only from the greeting or the TLS handshake on.
    socket.on('error', () => {})
    const seat = this.settings.seats.take(socket)
    if (seat !== 'taken') {
      this.settings.log.info({ address: socket.remoteAddress, reason: seat }, 'SMTP connection refused')
      if (handshake) socket.destroy()
      else turnAway(socket, seat === 'full' ? 'Too many connections, try again later' : 'Too many connections from your address')
      return false
    }
    const release = super._acceptSocket(socket, handshake)
    if (!release || !handshake) return release
    // Destroying the socket below a handshake crashes Node, so it has to be the TLS socket.
    const deadline = setTimeout(() => this._pendingSockets.get(socket)?.destroy(), loginMs).unref()
    return () => {
      clearTimeout(deadline)
      release()
    }
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
    if (!connection) return
    const answer = this.handlers.login(auth.password ?? '', connection.client)
    if ('code' in answer) return done(errorOf(answer))
    done(null, { user: answer })
    connection.welcome()
  }

  override onData(content: SMTPServerDataStream, session: SMTPServerSession, done: (error: Error | null, text?: string) => void): void {
    const connection = this.#open.get(session)
    if (!connection) return
    void connection.take(content).then((reply) => {
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

class SubmissionConnection extends SMTPConnection {
  readonly #listener: SmtpListener
  readonly #said: SmtpSession
  #loginDeadline: NodeJS.Timeout | undefined

  constructor(listener: SmtpListener, socket: Socket | TLSSocket, options?: SMTPConnectionOptions | null) {
    super(listener, socket, options)
    this.#listener = listener
    this.#said = new SmtpSession(listener.settings)
  }

  get client(): SmtpClient {
    return {
      connectionId: this.id,
      address: this.remoteAddress,
      ehloName: this.hostNameAppearsAs || '',
      secure: this.secure,
    }
  }

  get #key(): AuthenticatedKey | null {
    return (this.session.user as AuthenticatedKey | undefined) || null
  }

  get #mayLogIn(): boolean {
    return this.secure || (this.#listener.settings.allowPlaintextAuthOnLoopback && isLoopback(this.remoteAddress))
  }

  /** The library waits 100 ms before its greeting, by a constant: ten times what the rest of a short session takes. */
  override init(): void {
    this._setListeners(() => this.connectionReady())
    this.#loginDeadline = setTimeout(() => {
      if (!this.#key) this.send(421, '4.4.2 No login in time, closing the connection')
    }, loginMs).unref()
  }

  /** The login has succeeded. */
  welcome(): void {
    clearTimeout(this.#loginDeadline)
    this._socket.setTimeout(idleMs)
  }

  take(content: Readable): Promise<Reply> {
    const transaction = this.#key && this.#said.transaction(this.client, this.#key)
    if (!transaction) throw new Error('DATA without login or MAIL')
    return this.#listener.handlers.take(transaction, content)
  }

  /** The reply to a message has been sent. */
  finishedMessage(): void {
    this.#said.finishedMessage()
    if (this.#listener.isStopping) this.#sendAway()
  }

  leaveUnlessReceiving(): void {
    if (!this._dataStream) this.#sendAway()
  }

  cut(): void {
    this._socket.destroy()
  }

  closed(): void {
    clearTimeout(this.#loginDeadline)
  }

  #sendAway(): void {
    this.send(421, '4.3.2 Shutting down, try again in a moment')
  }

  override _onCommand(command: Buffer, callback?: () => void): void {
    if (!this.#said.countCommand()) return this.send(421, '4.7.0 Too many commands without a message')
    super._onCommand(command, callback)
  }

  /** The library forgets that a message is waiting for its reply where it came together with the end of the one before. */
  override _createParser(): ReturnType<SMTPConnection['_createParser']> {
    const parser = super._createParser()
    parser.continue = () => {
      const resume = parser._continueCallback
      parser._continueCallback = typeof resume !== 'function'
      if (typeof resume === 'function') resume()
    }
    return parser
  }

  override _armTimeout(socket: Socket = this._socket): void {
    socket.setTimeout(this.#key ? idleMs : strangerIdleMs, () => this._onTimeout())
  }

  override upgrade(callback: () => void, secureCallback?: () => void): void {
    const socket = this._socket
    super.upgrade(callback, secureCallback)
    // The library has just taken every listener off the socket below.
    this.#listener.settings.seats.watch(socket)
  }

  override _resetSession(): void {
    super._resetSession()
    this.#said.reset()
  }

  override handler_AUTH(command: Buffer, callback: () => void): void {
    if (this.#mayLogIn) return super.handler_AUTH(command, callback)
    this.#reply(startTlsFirst)
    callback()
  }

  override handler_MAIL(command: Buffer, callback: () => void): void {
    const key = this.#key
    const reply = key
      ? this.#said.begin(command, () => this.#listener.handlers.mayBegin(key))
      : this.#mayLogIn ? logInFirst : startTlsFirst
    // The library's DATA looks at an envelope of its own.
    if (reply.code === 250) this.session.envelope.mailFrom = { address: '', args: false }
    this.#reply(reply)
    callback()
  }

  override handler_RCPT(command: Buffer, callback: () => void): void {
    const reply = this.#said.addRecipient(command)
    if (reply.code === 250) this.session.envelope.rcptTo = [{ address: '', args: false }]
    this.#reply(reply)
    callback()
  }

  #reply(reply: Reply): void {
    this.send(reply.code, textOf(reply))
  }

  /** Puts in our words where the library's are wrong; a text of ours brings its enhanced code along. */
  override send(code: number, data?: string | string[] | null, context?: string | false): void {
    if (Array.isArray(data)) {
      return super.send(code, this.#mayLogIn ? data : data.filter((line) => !line.startsWith('AUTH ')), context)
    }
    if (typeof data !== 'string') return super.send(code, data, context)
    const text = /^[245]\.\d{1,3}\.\d{1,3} /.test(data) ? data : this.#ourWords(code, data)
    super.send(code, text ?? data, text === null ? context : false)
  }

  #ourWords(code: number, text: string): string | null {
    if (code === 530) return textOf(this.#mayLogIn ? logInFirst : startTlsFirst)
    if (code !== 421) return null
    if (text.startsWith('Server shutting down')) return '4.3.2 Shutting down, try again in a moment'
    return text.startsWith('Timeout') ? '4.4.2 Nothing heard for too long, closing the connection' : `4.7.0 ${text.replace(/^Error: /, '')}`
  }
}

const startTlsFirst = replyOf(530, '5.7.0', 'Must issue a STARTTLS command first, an API key is not taken over an open line')
const logInFirst = replyOf(530, '5.7.0', 'Authentication required: log in with an API key as the password')

/** A refusal in the form in which the library's callbacks take it. */
const errorOf = (reply: Reply): Error => Object.assign(new Error(textOf(reply)), { responseCode: reply.code })
const textOf = ({ enhancedCode, text }: Reply): string => (enhancedCode === null ? text : `${enhancedCode} ${text}`)

function turnAway(socket: Socket, text: string): void {
  socket.end(`421 4.7.0 ${text}\r\n`)
  socket.resume()
  socket.setTimeout(1_000, () => socket.destroy())
}

const libraryOptions = (settings: SmtpListenerOptions): SMTPServerOptions => ({
  name: settings.hostname,
  heloResponse: '%s',
  secure: settings.implicitTls,
  key: settings.tls.key,
  cert: settings.tls.cert,
  // The library would offer TLS 1.0.
  minVersion: 'TLSv1.2',
  authMethods: ['PLAIN', 'LOGIN'],
  // Whether a connection may log in without TLS is decided by its address.
  allowInsecureAuth: true,
  disabledCommands: ['WIZ', 'SHELL', 'KILL', 'XCLIENT', 'XFORWARD'],
  size: settings.maxMessageBytes,
  hideDSN: false,
  hideENHANCEDSTATUSCODES: false,
  disableReverseLookup: true,
  noDelay: true,
  logger: false,
  socketTimeout: strangerIdleMs,
})
