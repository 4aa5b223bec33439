import type { Clock } from '../clock.ts'
import { unconnectedAttempt } from '../delivery/attempt.ts'
import type { Attempt, DeliveryJob, Outcome, Postponed } from '../delivery/attempt.ts'
import type { JobFrame } from '../delivery/job-frames.ts'
import { fateOf, simulatedAttempt, simulatorDomain } from '../delivery/simulator.ts'
import type { Log } from '../log.ts'
import { ConflictError, StorageFullError } from '../store/database.ts'
import type { Database, Statement } from '../store/database.ts'
import type { SuppressionPolicy } from '../suppression/suppression-policy.ts'
import { postpone } from './queue-store.ts'
import type { QueuedMessage, QueuedRecipient } from './queue-store.ts'
import { recordReactions, settleAttempt, settleUntried } from './settle.ts'
import type { Settlement } from './settle.ts'

export interface DispatchParts {
  db: Database
  clock: Clock
  log: Log
  /** Makes one attempt for every recipient of the job. */
  deliver(job: DeliveryJob, onAttempt: (result: Attempt | Postponed) => void): Promise<void>
  /** Null where the message cannot be signed: it waits. */
  frameFor(message: QueuedMessage): JobFrame | null
  /** True where what the name servers say is not to be believed. */
  isResolverSuspect(): boolean
  /** Called after events were written. */
  eventsWritten(): void
  random(): number
}

export interface DispatchSettings {
  /** ms; the last one repeats */
  retrySchedule: readonly number[]
  viaSmarthost: boolean
  suppressionPolicyFor(accountId: string): SuppressionPolicy
}

interface Hold {
  /** The boot id that has the recipients in hand. */
  owner: string
  /** Told of each recipient when its outcome is on disk, and when it is due again; null: never. */
  settled(recipient: QueuedRecipient, dueAt: number | null): void
}

/** Recipients of one job: they share a connection, one after the other. */
const jobSize = 10
/** When mail that found no free connection is looked at again, ms. */
const postponedMs = 5_000
/** When an outcome that found the disk full is written again, ms. */
const againMs = 1_000

/** Hands the recipients of a message to delivery, or to the simulator, and writes down what came of each. */
export class Dispatch {
  readonly #parts: DispatchParts & Hold
  readonly #settings: DispatchSettings
  #lastJob = 0

  constructor(parts: DispatchParts & Hold, settings: DispatchSettings) {
    this.#parts = parts
    this.#settings = settings
  }

  /** Attempts every recipient and writes down what came of it. Never rejects. */
  async deliver(message: QueuedMessage, recipients: QueuedRecipient[], content: Uint8Array): Promise<void> {
    const frame = message.sandbox ? null : this.#parts.frameFor(message)
    const jobs: Promise<void>[] = []
    for (const [destination, atDestination] of Map.groupBy(recipients, (recipient) => recipient.destination)) {
      if (message.sandbox || destination === simulatorDomain) {
        for (const recipient of atDestination) jobs.push(this.#simulate(message, recipient))
        continue
      }
      if (!frame) {
        for (const recipient of atDestination) jobs.push(this.#leaveUnsigned(message, recipient))
        continue
      }
      for (let i = 0; i < atDestination.length; i += jobSize) {
        jobs.push(this.#runJob(message, atDestination.slice(i, i + jobSize), frame, content))
      }
    }
    await Promise.all(jobs)
  }

  async #runJob(message: QueuedMessage, recipients: QueuedRecipient[], frame: JobFrame, content: Uint8Array): Promise<void> {
    const { deliver, log } = this.#parts
    const open = new Map(recipients.map((recipient) => [recipient.id, recipient]))
    const settling: Promise<void>[] = []
    const job: DeliveryJob = {
      id: String(++this.#lastJob),
      messageId: message.id,
      destination: recipients[0]?.destination ?? '',
      isSecondLook: recipients.some(({ absentSince }) => absentSince !== null),
      knownName: frame.knownName,
      recipients: recipients.map((recipient) => ({ id: recipient.id, forwardPath: recipient.forwardPath, ...frame.frameOf(recipient) })),
      content,
      bodyType: message.bodyType,
      smtputf8: message.smtputf8,
      tls: frame.tls,
      signingKeys: frame.signingKeys,
      fields: frame.fields,
    }
    const settle = (result: Attempt | Postponed): void => {
      const recipient = open.get(result.recipientId)
      if (!recipient) return
      open.delete(result.recipientId)
      settling.push('postponed' in result ? this.postpone(recipient) : this.#settleAttempt(message, recipient, result))
    }
    await deliver(job, settle).catch((error: unknown) => log.error({ messageId: message.id, error }, 'a delivery job failed'))
    for (const recipientId of open.keys()) settle({ recipientId, postponed: true })
    await Promise.all(settling)
  }

  #leaveUnsigned(message: QueuedMessage, recipient: QueuedRecipient): Promise<void> {
    return this.#settleAttempt(message, recipient, unconnectedAttempt(recipient.id, unsigned, this.#parts.clock.now()))
  }

  async #simulate(message: QueuedMessage, recipient: QueuedRecipient): Promise<void> {
    const { clock } = this.#parts
    const fate = fateOf(recipient.forwardPath)
    const startedAt = clock.now()
    if (fate.delayMs > 0) await new Promise<void>((resolve) => clock.at(startedAt + fate.delayMs, resolve))
    const reactions = recordReactions(message, recipient, fate.reactions, clock.now())
    await this.#settleAttempt(message, recipient, simulatedAttempt(recipient.id, fate, startedAt), reactions)
  }

  async #settleAttempt(message: QueuedMessage, recipient: QueuedRecipient, attempt: Attempt, more: Statement[] = []): Promise<void> {
    const { clock, random } = this.#parts
    const settlement = settleAttempt(message, recipient, attempt, {
      owner: this.#parts.owner,
      now: clock.now(),
      retrySchedule: this.#settings.retrySchedule,
      viaSmarthost: this.#settings.viaSmarthost && attempt.mxHost !== simulatorDomain,
      isResolverSuspect: this.#parts.isResolverSuspect(),
      random: random(),
      policy: this.#settings.suppressionPolicyFor(message.accountId),
    })
    settlement.batch.push(...more)
    this.#parts.log.debug(
      { messageId: message.id, recipientId: recipient.id, outcome: attempt.outcome.type, mxHost: attempt.mxHost },
      'attempt ended',
    )
    await this.#settle(recipient, settlement)
  }

  /** Ends a recipient that is not tried any more: its time is over, or it was suppressed while it waited. */
  giveUp(message: QueuedMessage, recipient: QueuedRecipient): Promise<void> {
    const policy = this.#settings.suppressionPolicyFor(message.accountId)
    return this.#settle(recipient, settleUntried(message, recipient, { owner: this.#parts.owner, now: this.#parts.clock.now(), policy }))
  }

  async #settle(recipient: QueuedRecipient, { batch, dueAt }: Settlement): Promise<void> {
    await this.#writeOutcome(recipient, batch)
    this.#parts.eventsWritten()
    this.#parts.settled(recipient, dueAt)
  }

  /** Puts a recipient back that nothing could be tried for. */
  async postpone(recipient: QueuedRecipient): Promise<void> {
    const dueAt = this.#parts.clock.now() + postponedMs
    await this.#writeOutcome(recipient, [postpone(recipient.id, this.#parts.owner, dueAt)])
    this.#parts.settled(recipient, dueAt)
  }

  /** What has happened must be written down: a full disk is waited out. */
  async #writeOutcome(recipient: QueuedRecipient, batch: Statement[]): Promise<void> {
    for (;;) {
      try {
        await this.#parts.db.write(batch, { patient: true })
        return
      } catch (error) {
        if (!(error instanceof StorageFullError)) return this.#lostOutcome(recipient, error)
        await new Promise((resolve) => setTimeout(resolve, againMs))
      }
    }
  }

  #lostOutcome(recipient: QueuedRecipient, error: unknown): void {
    if (error instanceof ConflictError) {
      this.#parts.log.info({ recipientId: recipient.id }, 'the recipient was moved by somebody else while an attempt was made')
    } else {
      this.#parts.log.error({ recipientId: recipient.id, error }, 'the outcome of an attempt could not be written')
    }
  }
}

/** What becomes of mail whose sending domain is gone: it waits, because it must not leave unsigned. */
const unsigned: Outcome = {
  type: 'deferred',
  reply: null,
  category: 'internal_error',
  reason: 'The sending domain has been removed, so the message cannot be signed. Add the domain again and verify it.',
}
