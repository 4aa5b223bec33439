import type { Clock } from '../../platform/clock.ts'
import type { Reply } from '../../platform/smtp/reply.ts'
import type { ContentStream } from './content-stream.ts'
import { parseMailCommand, parseRcptCommand, type MailCommand, type RcptCommand } from './envelope-command.ts'
import { replyOf, tooBig } from './smtp-refusal.ts'
import { offeredToSubmitters } from './transfer-parameters.ts'

/** Who is at the other end, for a Received field and for the log. */
export interface SmtpClient {
  /** Random, one per connection. */
  connectionId: string
  address: string
  /** As given with EHLO or HELO; any text without control characters. */
  ehloName: string
  secure: boolean
}

/** One message as the client announced it: MAIL and RCPT. */
export interface Transaction<User> {
  client: SmtpClient
  user: User
  mail: MailCommand
  recipients: RcptCommand[]
}

/** Who may submit mail at a port: clients that log in, or anyone; then AUTH is not offered. */
type SmtpAccess<User> =
  | {
      /** The user with this password, or the refusal. */
      login(password: string, client: SmtpClient): Promise<User | LoginRefusal>
      /** Whose connections count together. */
      accountOf(user: User): string
    }
  | { anyone: User }

export interface LoginRefusal {
  reply: Reply
  /** How long the client must wait for it, ms. */
  delayMs: number
}

export const isLoginRefusal = (answer: unknown): answer is LoginRefusal =>
  typeof answer === 'object' && answer !== null && 'delayMs' in answer && 'reply' in answer

/** True if nobody needs to log in. */
export const isOpen = <User>(access: SmtpAccess<User>): access is { anyone: User } => 'anyone' in access

/** What the port does with what clients send. */
export interface SmtpHandlers<User> {
  access: SmtpAccess<User>
  /** Null if this client may begin this message now. */
  mayBegin(user: User, client: SmtpClient, mail: MailCommand): Reply | null | Promise<Reply | null>
  /** Null if mail to this recipient is accepted; absent if it always is. */
  mayReceive?(recipient: RcptCommand): Reply | null
  /** Waited for before a recipient is refused; if it gives true, `mayReceive` is asked again. */
  caughtUp?(): Promise<boolean>
  /** Reads the content to its end and decides. Never rejects; the reply is lost if the client has left. */
  take(transaction: Transaction<User>, content: ContentStream): Promise<Reply>
}

export interface SessionSettings {
  maxMessageBytes: number
  maxRecipients: number
  /** The address for a recipient `<Postmaster>`, if it is accepted. */
  postmaster?: string
  /** By which submitters schedule mail (RFC 4865, 2852); absent where mail is not submitted. */
  submissionClock?: Pick<Clock, 'now'>
}

/** Between two messages. */
const maxCommands = 100
/** For recipients beyond the limit, or repeated: a client sends its list in one go, so only thousands of those are a flood. */
const costOfRecipientInVain = 0.01

/** What one connection has said so far: the commands between two messages, and the message that it has begun. */
export class SmtpSession {
  readonly #settings: SessionSettings
  #commands = 0
  #mail: MailCommand | null = null
  readonly #recipients = new Map<string, RcptCommand>()

  constructor(settings: SessionSettings) {
    this.#settings = settings
  }

  /** Counts a command. False after too many without a message. */
  countCommand(): boolean {
    this.#commands += 1
    return this.#commands <= maxCommands
  }

  /** A message has been answered. */
  finishedMessage(): void {
    this.#commands = 0
  }

  /** Drops the current message. */
  reset(): void {
    this.#mail = null
    this.#recipients.clear()
  }

  /** The answer to EHLO, from the library's: with our extensions, and without what is only for clients that may log in. */
  offered(lines: string[], mayLogIn: boolean): string[] {
    if (!mayLogIn) return lines.filter((line) => !line.startsWith('AUTH '))
    const { submissionClock } = this.#settings
    return submissionClock ? [...lines, ...offeredToSubmitters(submissionClock.now())] : lines
  }

  /** MAIL FROM. `mayBegin` is asked last, when everything else is valid. */
  begin(
    command: Uint8Array,
    isSecure: boolean,
    mayBegin: (mail: MailCommand) => Reply | null | Promise<Reply | null>,
  ): Reply | Promise<Reply> {
    if (this.#mail) return replyOf(503, '5.5.1', 'A message has already begun, send RSET to drop it')
    const { maxMessageBytes, submissionClock } = this.#settings
    const mail = parseMailCommand(command, isSecure, submissionClock?.now() ?? null)
    if ('code' in mail) return mail
    if (mail.size !== null && mail.size > maxMessageBytes) return tooBig(maxMessageBytes)
    const refusal = mayBegin(mail)
    return refusal instanceof Promise ? refusal.then((known) => this.#begun(mail, known)) : this.#begun(mail, refusal)
  }

  #begun(mail: MailCommand, refusal: Reply | null): Reply {
    if (refusal) return refusal
    this.#mail = mail
    return replyOf(250, '2.1.0', 'Ok')
  }

  /** RCPT TO. A repeated address replaces its earlier self. `mayReceive` is asked about a valid one. */
  addRecipient(command: Uint8Array, mayReceive: (recipient: RcptCommand) => Reply | null): Reply {
    if (!this.#mail) return replyOf(503, '5.5.1', 'Begin with MAIL FROM')
    const recipient = parseRcptCommand(command, this.#mail, this.#settings.postmaster)
    if ('code' in recipient) return recipient
    const refusal = mayReceive(recipient)
    if (refusal) return refusal
    const { maxRecipients } = this.#settings
    const isAgain = this.#recipients.has(recipient.forwardPath)
    if (this.#recipients.size >= maxRecipients && !isAgain) {
      this.#commands -= 1 - costOfRecipientInVain
      return replyOf(452, '4.5.3', `A message can have ${maxRecipients} recipients, send another one for the rest`)
    }
    this.#commands -= isAgain ? 1 - costOfRecipientInVain : 1
    this.#recipients.set(recipient.forwardPath, recipient)
    return replyOf(250, '2.1.5', 'Ok')
  }

  /** The message that DATA brings, null if none was begun. */
  transaction<User>(client: SmtpClient, user: User): Transaction<User> | null {
    return this.#mail && { client, user, mail: this.#mail, recipients: [...this.#recipients.values()] }
  }
}
