import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { SMTPServer } from 'smtp-server'
import { SMTPConnection } from 'smtp-server/lib/smtp-connection.js'
import type { SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection.js'
import type { AuthenticatedKey } from '../account/api-keys.ts'
import type { Log } from '../log.ts'
import type { Reply } from '../smtp/reply.ts'
import { isLoopback } from '../ip-address.ts'
import type { ConnectionSeats } from './connection-seats.ts'
import { mended } from './data-parser.ts'
import { replyOf } from './smtp-refusal.ts'
import { SmtpSession } from './smtp-session.ts'
import type { SmtpClient, SmtpHandlers } from './smtp-session.ts'

export interface SubmissionPortSettings {
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

/** The port that a connection came in by. */
export interface SubmissionPort extends SMTPServer {
  readonly settings: SubmissionPortSettings
  readonly handlers: SmtpHandlers
  readonly isStopping: boolean
}

/** Without login a client gets this long between two commands, ms; with login as long as RFC 5321 4.5.3.2.7 asks. */
export const strangerIdleMs = 60_000
const idleMs = 5 * 60_000
/** How long a client may take to log in, ms, however busy it looks. */
export const loginMs = 2 * 60_000

/**
 * One connection of a client: the library's, with our own words and codes in place of its own, addresses parsed by our
 * own grammar, and bounds on what a client may do.
 */
export class SubmissionConnection extends SMTPConnection {
  readonly #port: SubmissionPort
  readonly #said: SmtpSession
  #loginDeadline: NodeJS.Timeout | undefined

  constructor(port: SubmissionPort, socket: Socket | TLSSocket, options?: SMTPConnectionOptions | null) {
    super(port, socket, options)
    this.#port = port
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

  get #key(): AuthenticatedKey | null {
    return (this.session.user as AuthenticatedKey | undefined) || null
  }

  get #mayLogIn(): boolean {
    return this.secure || (this.#port.settings.allowPlaintextAuthOnLoopback && isLoopback(this.remoteAddress))
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
    return this.#port.handlers.take(transaction, content)
  }

  /** The reply to a message has been sent. */
  finishedMessage(): void {
    this.#said.finishedMessage()
    if (this.#port.isStopping) this.#sendAway()
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

  override _createParser(): ReturnType<SMTPConnection['_createParser']> {
    return mended(super._createParser())
  }

  override _armTimeout(socket: Socket = this._socket): void {
    socket.setTimeout(this.#key ? idleMs : strangerIdleMs, () => this._onTimeout())
  }

  override upgrade(callback: () => void, secureCallback?: () => void): void {
    const socket = this._socket
    super.upgrade(callback, secureCallback)
    // The library has just taken every listener off the socket below.
    this.#port.settings.seats.watch(socket)
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
      ? this.#said.begin(command, () => this.#port.handlers.mayBegin(key))
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

/** A reply's text as it stands on the line, behind the code. */
export const textOf = ({ enhancedCode, text }: Reply): string => (enhancedCode === null ? text : `${enhancedCode} ${text}`)
