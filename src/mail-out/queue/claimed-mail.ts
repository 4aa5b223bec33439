import type { BaseServices } from '../../platform/base-services.ts'
import { DamagedError, orDamage } from '../../platform/store/database.ts'
import type { ErasedAddress } from '../../mail/suppression/erased-address.ts'
import { findSuppressed } from '../../mail/suppression/suppression-list.ts'
import { fitsInJob, type ContentBudget } from './content-budget.ts'
import type { Dispatch } from './dispatch.ts'
import type { QueuedMessage, QueuedRecipient } from './queue-store.ts'
import { readContent, readMessage } from './queued-mail.ts'
import type { Reprieve } from './reprieve.ts'
import { isOver } from './retry-schedule.ts'

export interface StoredMailServices extends Pick<BaseServices, 'db' | 'clock' | 'log'> {
  erasedAddress: ErasedAddress
  isSuspended(accountId: string): boolean
  /** Whether all of an account's queued mail is held. */
  holdsMail(accountId: string): boolean
  reprieve: Pick<Reprieve, 'extensionOf'>
  dispatch: Dispatch
  contentRoom: ContentBudget
  /** Called if a probe of this destination was not made after all. */
  untried(destination: string): void
}

/** How to treat claimed recipients. */
export interface Way {
  /** True to find out whether a host is up again. */
  isProbe: boolean
  /** Why none of them was tried before they expired; undefined if they should be tried. */
  expiredBecause?: string
}

/** Mail claimed from the store: reads and sorts it, and passes it to dispatch once there is room for its content. */
export class ClaimedMail {
  readonly #services: StoredMailServices

  constructor(services: StoredMailServices) {
    this.#services = services
  }

  async deliver(messageId: string, recipients: QueuedRecipient[], way: Way): Promise<void> {
    const { log, dispatch } = this.#services
    const message = await orDamage(this.#readMessage(messageId, recipients))
    if (message instanceof DamagedError) {
      log.error({ messageId, error: message }, 'a message that is due cannot be read and waits')
      return void (await Promise.all(recipients.map((recipient) => dispatch.postpone(recipient, true))))
    }
    const open = await this.#stillOpen(message, recipients, way)
    const [first] = open
    if (first) return this.#services.contentRoom.inTurn(first.destination, message.size, () => this.#deliverOpen(message, open, way))
    for (const { destination } of way.isProbe ? recipients : []) this.#services.untried(destination)
  }

  /** The message, and which of its recipients were suppressed while they waited. */
  async #readMessage(messageId: string, recipients: QueuedRecipient[]): Promise<QueuedMessage> {
    const { db, clock, erasedAddress } = this.#services
    const message = await readMessage(db, messageId)
    const { accountId, sandbox, unsubscribeTopic } = message
    const asked = { accountId, sandbox, erasedAddress, now: clock.now() }
    const addresses = recipients.map(({ forwardPath }) => forwardPath)
    const isSuppressed = await findSuppressed(db, asked, addresses)
    for (const recipient of recipients) recipient.suppressed = isSuppressed(recipient.forwardPath, unsubscribeTopic)
    return message
  }

  /**
   * Settles the recipients that need no content: those given up, or held because the account is suspended. Returns the others, for
   * delivery.
   */
  async #stillOpen(message: QueuedMessage, recipients: QueuedRecipient[], { expiredBecause }: Way): Promise<QueuedRecipient[]> {
    const { clock, dispatch, reprieve, isSuspended, holdsMail } = this.#services
    const now = clock.now()
    const isHarmful = holdsMail(message.accountId)
    const isHeld = message.isScheduled && isSuspended(message.accountId)
    const open: QueuedRecipient[] = []
    for (const recipient of recipients) {
      const { dueAt, expiresAt: own } = recipient
      const expiresAt = message.neverLate ? own : (reprieve.extensionOf(own)?.endsAt ?? own)
      if (isHarmful && !recipient.suppressed) await dispatch.holdHarmful(message, recipient)
      else if (expiredBecause !== undefined) {
        Object.assign(recipient, { lastResponse: expiredBecause, smtpCode: null, enhancedStatus: null })
        await dispatch.giveUp(message, recipient)
      } else if (recipient.suppressed || isOver({ dueAt, expiresAt }, message.neverLate, now)) await dispatch.giveUp(message, recipient)
      else if (isHeld && recipient.attempts === 0) await dispatch.holdSuspended(message, recipient, expiresAt)
      else open.push(recipient)
    }
    return open
  }

  async #deliverOpen(message: QueuedMessage, open: QueuedRecipient[], { isProbe }: Way): Promise<void> {
    const { db, dispatch } = this.#services
    const read = () => readContent(db, message)
    const along = fitsInJob(message.size) ? await read().catch((error: unknown) => dispatch.defer(message, open, error)) : null
    if (along !== undefined) await dispatch.deliver(message, open, { content: { size: message.size, along, read }, isProbe })
  }
}
