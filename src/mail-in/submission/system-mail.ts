import { isAscii } from 'node:buffer'
import { systemAccountId } from '../../senders/account/system-account.ts'
import type { Clock } from '../../platform/clock.ts'
import { newId } from '../../platform/id.ts'
import { composeHeader } from '../../mail/message/compose-header.ts'
import { composeParts, type MimePart } from '../../mail/message/compose-parts.ts'
import { toContent } from '../../mail/message/content.ts'
import { envelopeTo, recipientTo } from '../../mail/message/envelope.ts'
import { defaultOptions } from '../../mail/message/send-options.ts'
import type { TransferOptions } from '../../mail/message/transfer-options.ts'
import type { Submission } from '../../mail/message/submission.ts'
import type { Mailbox } from '../../platform/smtp/mailbox.ts'
import type { Statement } from '../../platform/store/database.ts'
import type { Accept } from './accept.ts'
import type { Accepted } from './admission.ts'

/** A message from the server itself. */
export interface SystemMail {
  /** One address, as `parseAddress` gave it. */
  to: string
  subject: string
  /** RFC 3834 5: `auto-replied` if it answers a message. */
  autoSubmitted: 'auto-generated' | 'auto-replied'
  /** Other fields by name, with values in printable ASCII. */
  headers?: Record<string, string>
  /** `mixed`, or with parameters: `report; report-type=delivery-status`. */
  multipart: string
  parts: MimePart[]
  /** Default: the server itself. */
  sender?: { from: Mailbox; domainId: string }
  /** Seconds after which it is not tried any more; default: the setting `delivery.give_up_after`. */
  expiresIn?: number
  /** Default: nothing is asked. */
  transfer?: TransferOptions
}

interface SystemMailerServices {
  clock: Clock
  accept: Accept
  /** The server's own domain; undefined if its name cannot be in the DNS. */
  systemDomain(): { id: string } | undefined
}

interface SystemMailerOptions {
  hostname: string
  /** True if no mail may leave the machine. */
  sandboxOnly: boolean
}

/**
 * Sends the server's own mail: notices, reports, and mail forwarded to the operator. It comes from
 * `postmaster@{hostname}` with the null reverse-path, so nothing bounces back, and goes through `accept` like all mail. It is
 * signed while the DKIM record of the server's own domain is published; otherwise only the SPF record of `hostname` covers it.
 */
export class SystemMailer {
  readonly #services: SystemMailerServices
  readonly #options: SystemMailerOptions

  constructor(services: SystemMailerServices, options: SystemMailerOptions) {
    this.#services = services
    this.#options = options
  }

  /** The author. */
  get from(): Mailbox {
    return { address: `postmaster@${this.#options.hostname}`, name: 'Mail Delivery' }
  }

  /** An id for `send`, for callers that must know it beforehand. */
  newMessageId(): string {
    return newId('em', this.#services.clock.now())
  }

  /**
   * Resolves when the message is on disk.
   * @param alsoWrite written in the same batch as the message: together or not at all
   * @throws ConflictError, UniqueError if `alsoWrite` is refused
   * @throws StorageFullError if the disk is full
   */
  send(mail: SystemMail, alsoWrite: Statement[] = [], id = this.newMessageId()): Promise<Accepted> {
    return this.#services.accept(this.#submissionOf(mail, id), alsoWrite)
  }

  #submissionOf(mail: SystemMail, id: string): Submission {
    const { clock, systemDomain } = this.#services
    const { sandboxOnly } = this.#options
    const { from, domainId } = mail.sender ?? { from: this.from, domainId: systemDomain()?.id ?? null }
    const headers = { 'Auto-Submitted': mail.autoSubmitted, ...mail.headers }
    const fields = { from, to: [{ address: mail.to, name: null }], cc: [], replyTo: [], subject: mail.subject, headers }
    const { text, summary } = composeHeader(fields, { now: clock.now() })
    const content = composeParts(text, mail.multipart, mail.parts)
    return {
      id,
      source: 'system',
      submitter: { accountId: systemAccountId, domainId, sandbox: sandboxOnly },
      envelope: envelopeTo([recipientTo(mail.to)], {
        bodyType: isAscii(content) ? '7bit' : '8bitmime',
        smtputf8: !isAscii(Buffer.from(text)),
      }),
      header: summary,
      content: toContent(content),
      options: { ...defaultOptions, expiresIn: mail.expiresIn ?? null, transfer: mail.transfer ?? null },
      idempotency: null,
    }
  }
}
