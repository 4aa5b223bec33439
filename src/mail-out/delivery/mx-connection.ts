import type { DeliveryRecipient, Outcome } from './attempt.ts'
import { encodeData } from './data-encoding.ts'
import type { DeliveryTimeouts } from './delivery-timeouts.ts'
import { limitIn } from './announced-limits.ts'
import { transferParameters } from './mail-parameters.ts'
import { envelopeOf, type TransferEnvelope } from './transfer-envelope.ts'
import { bounce, deferral, isAboutCommand, isExpected, unclear, hostOutcomeOf, type Phase, type HostOutcome } from './outcome.ts'
import type { RouteHost } from './route.ts'
import type { LeaseDeadline } from '../../platform/store/lease-deadline.ts'
import { formatReply, type Reply } from '../../platform/smtp/reply.ts'
import type { Heard, SmtpDialogue } from './smtp-dialogue.ts'
import { tlsTroubleIn } from './tls-trouble.ts'
import type { AttemptContext } from './transcript.ts'
import type { Body, OutgoingMessage } from './outgoing-message.ts'
import { textOfPlain, textOfTls, transportOf, type ConnectionTls, type Transport } from './transport-facts.ts'
import { testResult, type TransportPolicy } from './transport-policy.ts'

/**
 * `sent`: the message data left, whatever the reply. `stale`: the peer wants no more mail on this connection, so nothing was sent. `no room`:
 * memory had no room for its content, so nothing was sent either. `not ours`: others may do the work of this node by now, so the host did not get
 * all of it.
 */
export type Transfer = (HostOutcome & Sent) | 'stale' | 'no room' | 'not ours'

interface Sent {
  sent: boolean
  /** True if the connection broke before anything was decided, although more commands had been sent than were answered. */
  hasLostCommands?: boolean
}

interface Step {
  phase: Phase | 'rset'
  command: string
  timeoutMs: number
}

interface Fields {
  dialogue: SmtpDialogue
  extensions: Map<string, string>
  policy: TransportPolicy
  tls: ConnectionTls | null
  /** How the host refused TLS that it offers. */
  refused: string | undefined
  host: RouteHost
  timeouts: DeliveryTimeouts
  lease: Pick<LeaseDeadline, 'isPast'>
  /** False if the host gets one command at a time, whatever it offers. */
  mayPipeline: boolean
}

const xtext = /^[\x21-\x2a\x2c-\x3c\x3e-\x7e]{1,100}$/

/** An open SMTP session with one MX host, for one transaction after another (RFC 5321 3.3). */
export class MxConnection {
  readonly host: RouteHost
  readonly transport: Transport
  /** What every attempt over it says of its TLS, once for all. */
  readonly tlsText: string | null
  readonly #isEncrypted: boolean
  /** Transactions begun. */
  transactions = 0
  /** Called once the message data has left this process, or never will. */
  onWritten: () => void = () => {}
  readonly #dialogue: SmtpDialogue
  readonly #extensions: Map<string, string>
  readonly #timeouts: DeliveryTimeouts
  readonly #lease: Fields['lease']
  readonly #pipelines: boolean
  /** bytes; zero if there is none, or one that is no number (RFC 1870 4) */
  readonly #sizeLimit: number
  /** As many transactions as the host allows on one connection (RFC 9422). */
  readonly #maxTransactions: number
  /** True if a transaction was begun and neither finished nor reset. */
  #isMidTransaction = false

  constructor({ dialogue, extensions, policy, tls, refused, host, timeouts, lease, mayPipeline }: Fields) {
    this.#dialogue = dialogue
    this.#extensions = extensions
    this.#timeouts = timeouts
    this.#lease = lease
    this.#pipelines = mayPipeline && extensions.has('PIPELINING')
    const size = extensions.get('SIZE') ?? ''
    this.#sizeLimit = /^\d+$/.test(size) ? Number(size) : 0
    this.#maxTransactions = limitIn(extensions.get('LIMITS'), 'MAILMAX')
    this.host = host
    this.transport = transportOf(tls)
    this.tlsText =
      policy.mode === 'plain' ? null : refused === undefined ? textOfSession(policy, tls) : textOfPlain(policy, 'refused', refused)
    this.#isEncrypted = tls !== null
  }

  get isUsable(): boolean {
    return this.#dialogue.broken === null
  }

  /** True once it has carried as many messages as it should. */
  isWorn(messagesPerConnection: number): boolean {
    return this.transactions >= messagesPerConnection || this.transactions >= this.#maxTransactions
  }

  /** Called once when the connection is gone, whichever side closed it. */
  set onGone(gone: () => void) {
    this.#dialogue.onBroken = gone
  }

  quit(): void {
    this.#dialogue.quit()
  }

  destroy(): void {
    this.#dialogue.break('the delivery was stopped')
  }

  /** One message to one recipient. Never rejects. */
  async transfer(message: OutgoingMessage, recipient: DeliveryRecipient, context: AttemptContext): Promise<Transfer> {
    const isReused = this.transactions > 0
    this.transactions++
    this.#dialogue.transcript = context.transcript
    this.#dialogue.endsAt = context.endsAt
    const envelope = envelopeOf(recipient)
    if ('outcome' in envelope) return { ...envelope, sent: false }
    const refusal = this.#unsupported(message, envelope)
    if (refusal) return { outcome: refusal, nextHost: 'of another name', sent: false }

    if (this.#lease.isPast) return 'not ours'
    const steps = this.#steps(message, envelope)
    const answers = await this.#converse(steps)
    const failed = answers.findIndex((heard, i) => 'broken' in heard || !isExpected(steps[i]?.phase as Phase, heard))
    if (failed === -1) return this.#content(message)
    await this.#abandon(answers.length === steps.length ? answers.at(-1) : undefined)
    const [phase, heard] = [steps[failed]?.phase as Step['phase'], answers[failed] as Heard]
    if (phase === 'rset' || (isReused && concernsConnection(phase, heard))) {
      this.quit()
      return 'stale'
    }
    return { ...this.#verdict(phase, heard), sent: false, hasLostCommands: 'broken' in heard && this.#hasLost(answers) }
  }

  /** Whether what was sent ahead of replies may have been dropped. Inside TLS only the host itself can drop it, and answers the first. */
  #hasLost(answers: Heard[]): boolean {
    const last = answers.at(-1)
    if (!this.#pipelines || !last || !('broken' in last)) return false
    const [first] = answers
    const hasAnswered = first !== undefined && !('broken' in first)
    return hasAnswered || (!this.#isEncrypted && last.category !== 'timeout')
  }

  #steps(message: OutgoingMessage, { reversePath, forwardPath }: TransferEnvelope): Step[] {
    const { mail, rcpt, data, command } = this.#timeouts
    const offers = (keyword: string): boolean => this.#extensions.has(keyword)
    let from = `MAIL FROM:<${reversePath?.text ?? ''}>`
    if (offers('SIZE')) from += ` SIZE=${this.#toldSize(message)}`
    if (message.bodyType === '8bitmime' && offers('8BITMIME')) from += ' BODY=8BITMIME'
    if (needsSmtputf8(message, { reversePath, forwardPath })) from += ' SMTPUTF8'
    if (message.transfer) from += transferParameters(message.transfer, this.#extensions, message.at)
    let to = `RCPT TO:<${forwardPath.text}>`
    if (offers('DSN')) {
      // RFC 3461: bounces come to our own reverse-path, and the header is enough to identify the message.
      if (reversePath) from += xtext.test(message.messageId) ? ` RET=HDRS ENVID=${message.messageId}` : ' RET=HDRS'
      // A report's failure is reported to nobody (RFC 3461 6.1).
      to += reversePath ? ' NOTIFY=FAILURE' : ' NOTIFY=NEVER'
    }
    const steps: Step[] = [
      { phase: 'mail', command: from, timeoutMs: mail },
      { phase: 'rcpt', command: to, timeoutMs: rcpt },
      { phase: 'data', command: 'DATA', timeoutMs: data },
    ]
    return this.#isMidTransaction ? [{ phase: 'rset', command: 'RSET', timeoutMs: command }, ...steps] : steps
  }

  /** Not above the limit if only the estimate is. */
  #toldSize({ size }: OutgoingMessage): number {
    return Math.min(size, this.#sizeLimit || size)
  }

  /** The replies to the steps: all commands in one write if the host allows it (RFC 2920), else up to the first refusal. */
  async #converse(steps: Step[]): Promise<Heard[]> {
    const dialogue = this.#dialogue
    const answers: Heard[] = []
    this.#isMidTransaction = true
    if (this.#pipelines) {
      dialogue.send(steps.map(({ command }) => command))
      return new Promise((resolve) => {
        const heard = (answer: Heard): void => {
          if (answers.push(answer) === steps.length) resolve(answers)
        }
        for (const { command, timeoutMs } of steps) dialogue.hear({ timeoutMs, what: verbOf(command), heard, isDot: false })
      })
    }
    for (const { phase, command, timeoutMs } of steps) {
      dialogue.send([command])
      const heard = await dialogue.reply(timeoutMs, verbOf(command))
      answers.push(heard)
      if ('broken' in heard || !isExpected(phase as Phase, heard)) break
    }
    return answers
  }

  /** RFC 2920 3.1: if a host asks for data although a recipient was refused, it gets an empty message. */
  async #abandon(dataAnswer: Heard | undefined): Promise<void> {
    if (!dataAnswer || 'broken' in dataAnswer || dataAnswer.code !== 354) return
    this.#dialogue.send(['.'])
    await this.#dialogue.reply(this.#timeouts.command, 'the empty message')
  }

  async #content(message: OutgoingMessage): Promise<Transfer> {
    const blocks = await this.#blocks(message)
    if (blocks === null || 'outcome' in blocks) {
      this.#dialogue.break('the message was not sent')
      return blocks === null ? 'no room' : { ...blocks, sent: false }
    }
    // The host hung up while we waited for the content.
    const { broken } = this.#dialogue
    if (broken) return { ...this.#verdict('data', broken), sent: false }
    const mayEnd = (): boolean => !this.#lease.isPast
    const heard = await this.#dialogue.content(blocks, this.#timeouts, { written: this.onWritten, mayEnd })
    if (heard === null) return 'not ours'
    if (heard.early && !('broken' in heard)) {
      this.#dialogue.break('the host answered before the end of the message')
      // It cannot have accepted what it has not seen.
      if (heard.code < 400)
        return { ...deferral('other', this.#where('the host answered before the end of the message'), false), sent: true }
    }
    this.#isMidTransaction = false
    return Object.assign(this.#verdict('dot', heard), { sent: true })
  }

  async #blocks({ body: given }: OutgoingMessage): Promise<ReturnType<typeof encodeData> | HostOutcome | null> {
    let body = given
    if (typeof body === 'function') {
      try {
        const got = await body()
        if (got === null || 'outcome' in got) return got
        const outcome = this.#lacksEightBit(got)
        if (outcome) return { outcome, nextHost: 'of another name' }
        body = got
      } catch (error) {
        this.#dialogue.break('the message cannot be read')
        throw error
      }
    }
    this.#dialogue.transcript.client(`(${body.header.length + body.content.length} bytes)`)
    return encodeData(body.header, body.content)
  }

  #verdict(phase: Phase, heard: Heard): HostOutcome {
    if ('broken' in heard) {
      if (heard.instead !== undefined) return unclear(`${this.host.name} (${this.host.address})`, heard.instead)
      // A host that has taken a message over TLS can do TLS; one that is slow to answer after all of it may just be filtering.
      const isAboutTls = this.#isEncrypted && this.transactions === 1 && !(phase === 'dot' && heard.category === 'timeout')
      // Once data was sent, nobody knows whether the host has the message, so another host must not get it now.
      return {
        ...deferral(heard.category, this.#where(heard.broken), phase !== 'dot'),
        tlsTrouble: isAboutTls ? tlsTroubleIn(heard) : undefined,
      }
    }
    // Whatever comes next on this connection would not be understood either.
    if (heard.code === 421 || isAboutCommand(heard)) this.quit()
    if (this.host.smarthost && isLoginDemand(heard)) {
      this.quit()
      return { ...deferral('policy', this.#where(`it requires authentication: ${formatReply(heard)}`)), lacksLogin: true }
    }
    return hostOutcomeOf(phase, heard, this.host.name)
  }

  /** The host lacks what the message needs: we must not send what it did not offer. */
  #unsupported(message: OutgoingMessage, envelope: TransferEnvelope): Outcome | null {
    const { name } = this.host
    const limit = this.#sizeLimit
    const { minSize: size } = message
    if (limit > 0 && size > limit)
      return bounce(`5.3.4 ${name} accepts messages up to ${limit} bytes; this one has ${size}`, 'content_rejected')
    if (needsSmtputf8(message, envelope) && !this.#extensions.has('SMTPUTF8')) {
      return bounce(`5.6.7 ${name} does not accept internationalised addresses or headers (SMTPUTF8)`, 'content_rejected')
    }
    return typeof message.body === 'function' ? null : this.#lacksEightBit(message)
  }

  #lacksEightBit({ bodyType }: Pick<Body, 'bodyType'>): Outcome | null {
    if (bodyType === '7bit' || this.#extensions.has('8BITMIME')) return null
    return bounce(`5.6.3 ${this.host.name} does not accept 8-bit content (8BITMIME)`, 'content_rejected')
  }

  #where(what: string): string {
    return `${this.host.name} (${this.host.address}): ${what}`
  }
}

const textOfSession = (policy: TransportPolicy, tls: ConnectionTls | null): string | null =>
  tls ? textOfTls(policy, tls) : textOfTls(policy, null, testResult(policy, { is: 'not offered' }))

/** RFC 4954 6. */
const isLoginDemand = ({ code }: Reply): boolean => code === 530 || code === 535 || code === 538

const verbOf = (command: string): string => command.slice(0, 4)

const needsSmtputf8 = (message: OutgoingMessage, { reversePath, forwardPath }: TransferEnvelope): boolean =>
  message.smtputf8 || forwardPath.needsSmtputf8 || reversePath?.needsSmtputf8 === true

/** True of an answer on a reused connection that may say nothing about this mail, but that it is one too many for the connection. */
function concernsConnection(phase: Phase, heard: Heard): boolean {
  if ('broken' in heard) return heard.category !== 'timeout'
  return heard.code === 421 || (phase === 'data' && heard.code >= 500) || isAboutCommand(heard)
}
