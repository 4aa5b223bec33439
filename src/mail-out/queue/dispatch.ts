import type { BaseServices } from '../../platform/base-services.ts'
import type { AccountPolicies } from '../../senders/account/account-policies.ts'
import { recipientTlsPolicy, retrySchedule, suppressionPolicy } from '../../senders/account/account-policy.ts'
import { systemAccountId } from '../../senders/account/system-account.ts'
import {
  unconnectedAttempt,
  type Attempt,
  type ContentSupply,
  type DeliveryJob,
  type Outcome,
  type Postponed,
} from '../delivery/attempt.ts'
import { isUrgent } from '../../mail/message/transfer-options.ts'
import { textNumber } from '../../platform/text-number.ts'
import { tlsPolicyFor } from '../../platform/config/recipient-tls.ts'
import type { Changes } from '../../platform/store/changes.ts'
import type { Choices } from '../smarthost/choose-route.ts'
import type { JobEnvelope } from '../delivery/job-envelopes.ts'
import { simulatedOutcomeFor, simulatedAttempt, simulatorDomain, type Reaction } from '../delivery/simulator.ts'
import type { Claims } from '../../platform/store/claims.ts'
import type { Database, Statement } from '../../platform/store/database.ts'
import type { ContentBudget, QueuedContent } from './content-budget.ts'
import { DeliveryCounts } from './delivery-counts.ts'
import { lookBack, needsLookBack } from './look-back.ts'
import { logOutcome, type SettledMail } from './outcome-line.ts'
import { faultOfOurs, unsignable, unsigned } from './own-faults.ts'
import { holdHarmful, holdSuspended, postpone, postponeUnread, putBack } from './put-back.ts'
import type { QueuedMessage, QueuedRecipient } from './queue-store.ts'
import type { Reprieve } from './reprieve.ts'
import { recordReactions, settleAttempt, settleUntried, type Settlement } from './settle.ts'

export interface DispatchServices extends Pick<BaseServices, 'clock' | 'log' | 'metrics'> {
  db: Pick<Database, 'read' | 'slowRead'>
  changes: Pick<Changes, 'caughtUp'>
  /** Makes one attempt for every recipient of the job. `supply`: where content comes from that is not sent along with it. */
  deliver(job: DeliveryJob, onAttempt: (result: Attempt | Postponed) => void, supply: ContentSupply): Promise<void>
  /** Null if the message cannot be signed: it waits. */
  envelopeFor(message: QueuedMessage): JobEnvelope | null
  /** Where mail for this destination goes; null: as the settings say. */
  choicesFor(message: QueuedMessage, destination: string): Choices | null
  /** True if the name servers are not to be believed. */
  isResolverSuspect(): boolean
  reprieve: Pick<Reprieve, 'extensionOf'>
  policies: Pick<AccountPolicies, 'of' | 'anywhere'>
  random(): number
}

interface DispatchHooks {
  claims: Claims
  contentRoom: ContentBudget
  /** Called with each attempt, and with what was put back because its destination is in backoff. */
  onAttempt(recipient: QueuedRecipient, result: Attempt | Postponed): void
  /**
   * Called when a recipient's outcome is on disk, with the time when it is due again; null: never.
   * @param isTried false if it was put back untried
   */
  onSettled(recipient: QueuedRecipient, dueAt: number | null, isTried: boolean): void
}

/** What is to be delivered. */
interface Work {
  content: QueuedContent
  /** True if it is a probe of whether a host is up again. */
  isProbe: boolean
}

/** Recipients of one job: they share a connection, one after the other. */
const jobSize = 10
/** When to try mail again that found no free connection, ms. */
const postponedMs = 5_000
/** When to try again to read a message that is damaged, ms. */
const unreadMs = 600_000
/** When to check held mail of a suspended account again, in case nobody reports that the account is active, ms. */
const heldMs = 3_600_000
const suspendedReason = 'The account is suspended, so its scheduled mail is held.'

/** Hands the recipients of a message to delivery, or to the simulator, and records the outcome for each. */
export class Dispatch {
  readonly #services: DispatchServices & DispatchHooks
  readonly #counts: DeliveryCounts
  readonly #policyFor = (accountId: string) => this.#services.policies.of(suppressionPolicy, accountId)
  #lastJob = 0

  constructor(services: DispatchServices & DispatchHooks) {
    this.#services = services
    this.#counts = new DeliveryCounts(services.metrics)
  }

  /** Attempts every recipient and records the outcome. Anything that goes wrong here is a deferral. */
  deliver(message: QueuedMessage, recipients: QueuedRecipient[], work: Work): Promise<void> {
    if (message.sandbox) return this.#deliverAs(unsigned, message, recipients, work)
    const envelope = this.#envelopeFor(message)
    if (envelope !== unsigned) return this.#deliverAs(envelope, message, recipients, work)
    // Its domain may be one that another node has just made known.
    return this.#services.changes.caughtUp().then(() => this.#deliverAs(this.#envelopeFor(message), message, recipients, work))
  }

  #deliverAs(envelope: JobEnvelope | Outcome, message: QueuedMessage, recipients: QueuedRecipient[], work: Work): Promise<void> {
    const jobs: Promise<void>[] = []
    for (const [destination, atDestination] of byDestination(recipients)) {
      if (message.sandbox || destination === simulatorDomain) {
        for (const recipient of atDestination) jobs.push(this.#simulate(message, recipient))
        continue
      }
      if ('type' in envelope) {
        for (const recipient of atDestination)
          jobs.push(this.#settleAttempt(message, recipient, unconnectedAttempt(recipient.id, envelope)))
        continue
      }
      for (let i = 0; i < atDestination.length; i += jobSize) {
        jobs.push(this.#runJob(message, atDestination.slice(i, i + jobSize), envelope, work))
      }
    }
    return allOf(jobs)
  }

  /** Puts recipients back to be tried later, because of an internal fault. */
  async defer(message: QueuedMessage, recipients: QueuedRecipient[], error: unknown): Promise<void> {
    this.#services.log.error({ messageId: message.id, error }, 'a message that is due cannot be delivered and waits')
    await allOf(
      recipients.map((recipient) => this.#settleAttempt(message, recipient, unconnectedAttempt(recipient.id, faultOfOurs(error)))),
    )
  }

  /** How the message leaves, or why it must wait. */
  #envelopeFor(message: QueuedMessage): JobEnvelope | Outcome {
    try {
      return this.#services.envelopeFor(message) ?? unsigned
    } catch (error) {
      this.#services.log.error({ messageId: message.id, error }, 'a message cannot be signed and waits')
      return unsignable(error)
    }
  }

  async #runJob(message: QueuedMessage, recipients: QueuedRecipient[], envelope: JobEnvelope, work: Work): Promise<void> {
    let open = recipients
    const settling: Promise<void>[] = []
    const settle = (result: Attempt | Postponed): void => {
      const recipient = open.find(({ id }) => id === result.recipientId)
      if (!recipient) return
      open = open.filter((each) => each !== recipient)
      if (!('postponed' in result) || result.backoff) this.#services.onAttempt(recipient, result)
      if (!('postponed' in result)) settling.push(this.#settleAttempt(message, recipient, result))
      else settling.push(result.backoff ? this.#putBack(recipient) : this.postpone(recipient))
    }
    const supply = this.#services.contentRoom.supply(recipients[0]?.destination ?? '', work.content)
    try {
      await this.#services.deliver(this.#jobOf(message, recipients, envelope, work), settle, supply)
      for (const { id: recipientId } of open) settle({ recipientId, postponed: true })
    } catch (error) {
      this.#services.log.error({ messageId: message.id, error }, 'a delivery job failed')
      for (const { id: recipientId } of open) settle(unconnectedAttempt(recipientId, faultOfOurs(error)))
    } finally {
      supply.end()
    }
    await allOf(settling)
  }

  #jobOf(message: QueuedMessage, recipients: QueuedRecipient[], envelope: JobEnvelope, { content, isProbe }: Work): DeliveryJob {
    const { policies, clock } = this.#services
    const destination = recipients[0]?.destination ?? ''
    const job: DeliveryJob = {
      id: String(++this.#lastJob),
      messageId: message.id,
      destination,
      isSecondLook: recipients.some(({ nxdomainSince }) => nxdomainSince !== null),
      knownName: envelope.knownName,
      recipients: recipients.map((recipient) => {
        const { reversePath, traceFields, fields } = envelope.envelopeOf(recipient)
        return { id: recipient.id, forwardPath: recipient.forwardPath, reversePath, traceFields, fields }
      }),
      isProbe,
      account: textNumber(message.accountId),
      isUrgent: isUrgent(message.transfer),
      content: content.along ?? 'on request',
      size: content.size,
      bodyType: message.bodyType,
      smtputf8: message.smtputf8,
      transfer: message.transfer,
      senderTls: envelope.tls,
      recipientTls: tlsPolicyFor(policies.of(recipientTlsPolicy, message.accountId).recipientTls, destination),
      isOwnMail: message.accountId === systemAccountId,
      at: clock.now(),
      signingKeys: envelope.signingKeys,
      fields: envelope.fields,
      tracking: envelope.tracking,
    }
    const choices = this.#services.choicesFor(message, destination)
    if (choices) job.choices = choices
    return job
  }

  async #simulate(message: QueuedMessage, recipient: QueuedRecipient): Promise<void> {
    const { clock } = this.#services
    const fate = simulatedOutcomeFor(recipient.forwardPath)
    if (fate.delayMs > 0) await new Promise<void>((resolve) => clock.at(clock.now() + fate.delayMs, resolve))
    await this.#settleAttempt(message, recipient, simulatedAttempt(recipient.id, fate), fate.reactions)
  }

  async #settleAttempt(message: QueuedMessage, recipient: QueuedRecipient, attempt: Attempt, reactions?: Reaction[]): Promise<void> {
    const endedAt = this.#services.clock.now()
    try {
      const judged = needsLookBack(attempt.outcome) ? await this.#lookedBack(message, recipient, attempt) : attempt
      const settlement = this.#settlementOf(message, recipient, judged)
      if (reactions) settlement.batch.push(...recordReactions(message, recipient, reactions, this.#services.clock.now()))
      await this.#settle({ message, recipient, attempt: judged }, settlement)
      this.#counts.attempted(message, recipient, attempt, endedAt)
    } catch (error) {
      this.#services.log.error({ messageId: message.id, recipientId: recipient.id, error }, 'the outcome of an attempt cannot be settled')
      const failed = unconnectedAttempt(recipient.id, faultOfOurs(error))
      await this.#settle({ message, recipient, attempt: failed }, this.#settlementOf(message, recipient, failed))
    }
  }

  #lookedBack(message: QueuedMessage, recipient: QueuedRecipient, attempt: Attempt): Promise<Attempt> {
    const { db, clock } = this.#services
    const policy = this.#policyFor(message.accountId)
    return lookBack(attempt, { message, recipient }, { db, policy, now: clock.now() })
  }

  #settlementOf(message: QueuedMessage, recipient: QueuedRecipient, attempt: Attempt): Settlement {
    const { clock, random, claims, reprieve, policies } = this.#services
    const extension = message.neverLate ? null : reprieve.extensionOf(recipient.expiresAt)
    const extended = extension ? { ...recipient, expiresAt: extension.endsAt } : recipient
    return settleAttempt(message, extended, attempt, {
      owner: claims.owner,
      now: clock.now(),
      maxWaitMs: extension?.maxWaitMs,
      retrySchedule: policies.of(retrySchedule, message.accountId).delays,
      viaSmarthost: attempt.viaSmarthost === true,
      isResolverSuspect: this.#services.isResolverSuspect(),
      random: random(),
      policyFor: this.#policyFor,
    })
  }

  /** Ends a recipient that is no longer tried: its time is over, or it was suppressed while it waited. */
  async giveUp(message: QueuedMessage, recipient: QueuedRecipient): Promise<void> {
    const { claims, clock } = this.#services
    const context = { owner: claims.owner, now: clock.now(), policyFor: this.#policyFor }
    await this.#settle({ message, recipient, attempt: null }, settleUntried(message, recipient, context))
  }

  async #settle(mail: SettledMail, settlement: Settlement): Promise<void> {
    const { log, clock } = this.#services
    const { batch, dueAt, result } = settlement
    if (await this.#write(mail.recipient, batch)) logOutcome(log, mail, settlement, clock.now())
    if (result) this.#counts.ended(result)
    this.#services.onSettled(mail.recipient, dueAt, true)
  }

  /** Puts a recipient back for which nothing could be tried; `isUnread`: because the disk has damaged its message. */
  async postpone(recipient: QueuedRecipient, isUnread = false): Promise<void> {
    const { clock, claims } = this.#services
    const dueAt = clock.now() + (isUnread ? unreadMs : postponedMs)
    await this.#write(recipient, [(isUnread ? postponeUnread : postpone)(recipient.id, claims.owner, dueAt)])
    this.#services.onSettled(recipient, dueAt, isUnread)
  }

  /** Puts back a recipient whose destination rests: it keeps its due time. */
  async #putBack(recipient: QueuedRecipient): Promise<void> {
    await this.#write(recipient, [putBack(recipient.id, this.#services.claims.owner)])
    this.#services.onSettled(recipient, recipient.dueAt, false)
  }

  /** Puts back scheduled mail of a suspended account, until the account is active again or the mail expires. */
  holdSuspended({ accountId }: QueuedMessage, recipient: QueuedRecipient, expiresAt: number): Promise<void> {
    const { clock, claims } = this.#services
    const dueAt = Math.min(clock.now() + heldMs, expiresAt)
    return this.#hold(recipient, holdSuspended(recipient.id, claims.owner, { accountId, dueAt, reason: suspendedReason }), dueAt)
  }

  /** Puts back mail of an account that the server suspended, as it is, until the account is active again. */
  holdHarmful({ accountId }: QueuedMessage, recipient: QueuedRecipient): Promise<void> {
    return this.#hold(recipient, holdHarmful(recipient.id, this.#services.claims.owner, accountId), null)
  }

  async #hold(recipient: QueuedRecipient, hold: Statement, dueAt: number | null): Promise<void> {
    if ((await this.#services.claims.settle([hold])) === false) return this.postpone(recipient)
    this.#services.onSettled(recipient, dueAt, false)
  }

  /** False where somebody else was first. */
  async #write(recipient: QueuedRecipient, batch: Statement[]): Promise<boolean> {
    if ((await this.#services.claims.settle(batch)) !== false) return true
    this.#services.log.info({ recipientId: recipient.id }, 'the recipient was moved by somebody else while an attempt was made')
    return false
  }
}

/** Most messages have one recipient. */
function byDestination(recipients: QueuedRecipient[]): Iterable<[string, QueuedRecipient[]]> {
  const [first] = recipients
  return first && recipients.length === 1 ? [[first.destination, recipients]] : Map.groupBy(recipients, ({ destination }) => destination)
}

/** Rejects if one of them does, but only after all have ended: what is still in progress must not be taken for abandoned. */
function allOf(work: Promise<void>[]): Promise<void> {
  const [only] = work
  return only && work.length === 1 ? only : allEnded(work)
}

async function allEnded(work: Promise<void>[]): Promise<void> {
  for (const result of await Promise.allSettled(work)) if (result.status === 'rejected') throw result.reason
}
