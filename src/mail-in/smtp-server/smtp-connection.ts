import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { SMTPServer } from 'smtp-server'
import { SMTPConnection, type SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection.js'
import type { TlsFiles } from '../../platform/certificate/server-certificates.ts'
import type { ConnectionSlots, ConnectionSlot } from '../../platform/connection/connection-slots.ts'
import { onHangUp } from '../../platform/connection/intercept-connections.ts'
import type { MinimumRate } from '../../platform/connection/minimum-rate.ts'
import type { Log } from '../../platform/log.ts'
import type { Reply } from '../../platform/smtp/reply.ts'
import { isLoopback } from '../../platform/ip-address.ts'
import type { ArrivingContent } from './arriving-content.ts'
import { DataParser } from './data-parser.ts'
import { lookUpFailed } from './smtp-refusal.ts'
import { SmtpSession, isOpen, type SessionSettings, type SmtpClient, type SmtpHandlers } from './smtp-session.ts'
import { anyName, greetingOf, isLogin, logInFirst, ourWords, startTlsFirst, textOf, withAnyName } from './smtp-wordings.ts'

export interface SmtpPortSettings extends SessionSettings {
  /** Our name in greetings. */
  hostname: string
  /** True: TLS from the first byte. False: STARTTLS. */
  implicitTls: boolean
  /** There is no default, because the library's own key is public. */
  tls: TlsFiles
  allowPlaintextAuthOnLoopback: boolean
  /** Whether we believe the PROXY header of this address. */
  isProxy(address: string): boolean
  seats: ConnectionSlots
  /** How fast a message must arrive. */
  contentRate: MinimumRate
  log: Log
}

/** The port of a connection; `User` is the result of its login. */
export interface SmtpPort<User> extends SMTPServer {
  readonly settings: SmtpPortSettings
  readonly handlers: SmtpHandlers<User>
  readonly isStopping: boolean
}

/** How long a client without a login may take between two commands, ms; with a login it is the time of RFC 5321 4.5.3.2.7. */
export const strangerIdleMs = 60_000
const idleMs = 5 * 60_000
/** How long a client may take to log in, ms, however busy it looks. */
export const loginMs = 2 * 60_000
/**
 * How long a client that need not log in may take for a message, ms, however busy it looks: ten minutes, or as long as the largest message
 * takes at 32 KB a second.
 */
const messageMs = (maxMessageBytes: number): number => Math.max(10 * 60_000, maxMessageBytes / 32)

/**
 * A client's connection: the library's, with our own texts and codes, addresses parsed by our own grammar, and limits on what a client may
 * do.
 */
export class SmtpConnection<User> extends SMTPConnection {
  readonly #port: SmtpPort<User>
  readonly #seat: ConnectionSlot
  readonly #said: SmtpSession
  #deadline: NodeJS.Timeout | undefined
  #answer: NodeJS.Timeout | undefined
  /** During a TLS handshake, the socket above the library's. */
  #topSocket: Socket
  /** The arriving message, until its reply. */
  #content: ArrivingContent | null = null
  #hasGivenWay = false
  #stopWatching = (): void => {}

  constructor(
    port: SmtpPort<User>,
    { socket, seat }: { socket: Socket | TLSSocket; seat: ConnectionSlot },
    options?: SMTPConnectionOptions | null,
  ) {
    super(port, socket, options)
    this.#port = port
    this.#seat = seat
    this.#topSocket = socket
    onHangUp(socket, () => this.#seat.free())
    this.#said = new SmtpSession(port.settings)
  }

  get client(): SmtpClient {
    return {
      connectionId: this.id,
      address: this.remoteAddress,
      ehloName: this.hostNameAppearsAs || '',
      secure: this.secure,
    }
  }

  /** Null before the login, if there is one. */
  get #user(): User | null {
    const { access } = this.#port.handlers
    return isOpen(access) ? access.anyone : (this.session.user as User | undefined) || null
  }

  get #mayLogIn(): boolean {
    return this.secure || (this.#port.settings.allowPlaintextAuthOnLoopback && isLoopback(this.remoteAddress))
  }

  /** What a client is told that has to log in before it goes on. */
  get #loginFirst(): Reply {
    return this.#mayLogIn ? logInFirst : startTlsFirst
  }

  /** The library waits a constant 100 ms before its greeting: ten times as long as the rest of a short session takes. */
  override init(): void {
    this._setListeners(() => this.connectionReady())
    this.#startDeadline()
    this.#watch()
  }

  #startDeadline(): void {
    const { handlers, settings } = this.#port
    const [ms, text] = isOpen(handlers.access) ? [messageMs(settings.maxMessageBytes), 'No message in time'] : [loginMs, 'No login in time']
    this.#deadline = setTimeout(() => this.send(421, `4.4.2 ${text}, closing the connection`), ms).unref()
  }

  /** The login has succeeded; false if the account has too many connections. */
  welcome(account: string): boolean {
    if (!this.#seat.authenticated(account)) return false
    clearTimeout(this.#deadline)
    this._socket.setTimeout(idleMs)
    return true
  }

  /** Delays the answer; a client without a delay is answered at once, without a timer. */
  answerLater(ms: number, answer: () => void): void {
    if (ms === 0) return answer()
    this.#answer = setTimeout(answer, ms).unref()
  }

  take(content: ArrivingContent): Promise<Reply> {
    const user = this.#user
    const transaction = user && this.#said.transaction(this.client, user)
    if (!transaction) throw new Error('DATA without login or MAIL')
    this.#content = content
    return this.#port.handlers.take(transaction, content)
  }

  /** Drops a client that sends a message too slowly. Time that we need to take or store it does not count. */
  #watch(): void {
    this.#stopWatching = this.#port.settings.contentRate.watch({
      received: () => this._socket.bytesRead,
      state: () => (this.#content === null ? 'idle' : this.#content.isFlowing ? 'sending' : 'waiting'),
      progress: () => this.#seat.progress(),
      tooSlow: () => this.#hangUp('4.4.2 The message came in too slowly, try again later'),
    })
  }

  /** The reply to a message has been sent. */
  finishedMessage(): void {
    this.#content = null
    this.#said.finishedMessage()
    if (this.#port.isStopping) return this.#sendAway()
    if (this.#hasGivenWay) return this.giveWay()
    if (!isOpen(this.#port.handlers.access)) return
    clearTimeout(this.#deadline)
    this.#startDeadline()
  }

  leaveUnlessReceiving(): void {
    if (!this._dataStream) this.#sendAway()
  }

  cut(): void {
    this._socket.destroy()
  }

  /** Somebody else got its seat. A message that has arrived gets its reply first, because a client that gets none sends it again. */
  giveWay(): void {
    this.#hasGivenWay = true
    if (!this.#content?.writableEnded) this.#hangUp('4.7.0 Too many connections, and yours was idle; try again later')
  }

  /** At once: a client that does not listen, or does not hang up, would keep the connection longer. */
  #hangUp(text: string): void {
    const isListening = this.#topSocket.writableLength === 0
    this.send(421, text)
    if (isListening && !this._upgrading) this.#topSocket.destroySoon()
    else this.#topSocket.destroy()
  }

  closed(): void {
    clearTimeout(this.#deadline)
    clearTimeout(this.#answer)
    this.#stopWatching()
  }

  /** Gives up its seat before the client hears of the end, as it may come back at once. */
  override handler_QUIT(command: Buffer, callback: () => void): void {
    const hasSentAll = this.#topSocket.writableLength === 0
    if (hasSentAll) this.#seat.free()
    super.handler_QUIT(command, callback)
    // A connection that no longer counts must not keep its socket until the client hangs up.
    if (hasSentAll) this.#topSocket.destroySoon()
  }

  #sendAway(): void {
    this.send(421, '4.3.2 Shutting down, try again in a moment')
  }

  override _onCommand(command: Buffer, callback?: () => void): void {
    if (!this.#said.countCommand()) return this.send(421, '4.7.0 Too many commands without a message')
    this.#seat.progress()
    super._onCommand(command, callback)
  }

  override _createParser(): DataParser {
    const parser = new DataParser()
    parser.oncommand = (command, callback) => this._onCommand(command, callback)
    parser.on('error', (error) => this.send(421, `Error: ${error.message}`))
    return parser
  }

  override _armTimeout(socket: Socket = this._socket): void {
    if (socket !== this.#topSocket) onHangUp(socket, () => this.#seat.free())
    this.#topSocket = socket
    socket.setTimeout(this.session.user ? idleMs : strangerIdleMs, () => this._onTimeout())
  }

  override upgrade(callback: () => void, secureCallback?: () => void): void {
    const socket = this._socket
    super.upgrade(callback, secureCallback)
    // The library has just removed every listener from the underlying socket.
    socket.once('close', () => this.#seat.free())
  }

  override _resetSession(): void {
    super._resetSession()
    this.#said.reset()
  }

  /** A proxy whose header came too late, or a client that writes one: the session already has another address. */
  handler_PROXY(): void {
    this.send(421, '4.7.0 PROXY header not accepted here, closing the connection')
  }

  override handler_AUTH(command: Buffer, callback: () => void): void {
    if (!this.#mayLogIn) {
      this.#reply(startTlsFirst)
      return callback()
    }
    super.handler_AUTH(withAnyName(command), () => {
      const takeName = this._nextHandler
      if (takeName && isLogin.test(command.toString('latin1'))) {
        this._nextHandler = (name, done) => takeName.call(this, name.toString('latin1').trim() === '*' ? name : anyName, done)
      }
      callback()
    })
  }

  override handler_EHLO(command: Buffer, callback: () => void): void {
    super.handler_EHLO(greetingOf(command), callback)
  }

  override handler_HELO(command: Buffer, callback: () => void): void {
    super.handler_HELO(greetingOf(command), callback)
  }

  override handler_MAIL(command: Buffer, callback: () => void): void {
    const user = this.#user
    const reply = user
      ? this.#said.begin(command, this.secure, (mail) => this.#port.handlers.mayBegin(user, this.client, mail))
      : this.#loginFirst
    const answer = (known: Reply): void => {
      // The library's DATA uses an envelope of its own.
      if (known.code === 250) this.session.envelope.mailFrom = { address: '', args: false }
      this.#reply(known)
      callback()
    }
    void (reply instanceof Promise ? reply.then(answer, () => answer(lookUpFailed)) : answer(reply))
  }

  override handler_RCPT(command: Buffer, callback: () => void): void {
    const { mayReceive = () => null, caughtUp } = this.#port.handlers
    const add = (): Reply => this.#said.addRecipient(command, mayReceive)
    const answer = (reply: Reply): void => {
      if (reply.code === 250) this.session.envelope.rcptTo = [{ address: '', args: false }]
      this.#reply(reply)
      callback()
    }
    const reply = add()
    const again = async (): Promise<Reply> => ((await caughtUp?.()) ? add() : reply)
    void (reply.code >= 500 && caughtUp ? again().then(answer, () => answer(lookUpFailed)) : answer(reply))
  }

  #reply(reply: Reply): void {
    this.send(reply.code, textOf(reply))
  }

  /** Replaces the library's texts where they are wrong; a text of ours includes its enhanced status. */
  override send(code: number, data?: string | string[] | null, context?: string | false): void {
    if (Array.isArray(data)) return super.send(code, this.#said.offered(data, this.#mayLogIn), context)
    if (typeof data !== 'string') return super.send(code, data, context)
    const text = /^[245]\.\d{1,3}\.\d{1,3} /.test(data) ? data : ourWords(code, data, () => this.#loginFirst)
    super.send(code, text ?? data, text === null ? context : false)
  }
}
