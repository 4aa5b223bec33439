import type { CancelTimer, Clock } from '../clock.ts'
import type { Attempt, DeliveryJob, Postponed } from '../delivery/attempt.ts'
import { fateOf, simulatedAttempt, simulatorDomain } from '../delivery/simulator.ts'
import { newId } from '../id.ts'
import type { Log } from '../log.ts'
import { ConflictError, StorageFullError } from '../store/database.ts'
import type { Database, Statement } from '../store/database.ts'
import { ByteBudget } from './byte-budget.ts'
import { DestinationDirectory } from './destination-directory.ts'
import { FreshSlots } from './fresh-slots.ts'
import type { FreshSlot } from './fresh-slots.ts'
import { claimDue, postpone, releaseAll, releaseOthers, waitingDestinations } from './queue-store.ts'
import type { ClaimedRow, QueuedMessage, QueuedRecipient } from './queue-store.ts'
import { queuedRecipientOf, readContent, readMessage } from './queued-mail.ts'
import { recordReactions, settleAttempt, settleUntried } from './settle.ts'
import type { Settlement } from './settle.ts'

/** How a message leaves: under which return path, with which signatures, by which transport. */
export type JobFrame = Pick<DeliveryJob, 'signingKeys' | 'tls'> & { reversePathFor(recipientId: string): string }

export interface QueueParts {
  db: Database
  clock: Clock
  log: Log
  /** Makes one attempt for every recipient of the job. */
  deliver(job: DeliveryJob, onAttempt: (result: Attempt | Postponed) => void): Promise<void>
  /** Null where the message cannot be signed now: it is deferred. */
  frameFor(message: QueuedMessage): JobFrame | null
  /** Called after events were written. */
  eventsWritten(): void
  random(): number
}

export interface QueueSettings {
  /** ms; the last one repeats */
  retrySchedule: readonly number[]
  viaSmarthost: boolean
}

/** Recipients that may be in hand: of one destination, and in all. */
const destinationLimit = 64
const totalLimit = 2_000
/** bytes of content read back from the store that may be in memory */
const contentLimit = 64 * 1024 * 1024
/** Recipients of one job: they share a connection, one after the other. */
const jobSize = 10
/** When mail that found no free connection is looked at again, ms. */
const postponedMs = 5_000
/** When something that failed for a reason of ours (a full disk, say) is tried again, ms. */
const againMs = 1_000

/**
 * Brings what is due to delivery and writes down what came of it. Fresh mail comes straight from acceptance; what
 * waits (retries, scheduled mail, what a restart found) is claimed from the store, destination by destination.
 * Recipients in hand carry the boot id of this process as their owner, so nobody else takes them.
 */
export class QueueRunner {
  readonly owner: string
  readonly #parts: QueueParts
  readonly #settings: QueueSettings
  readonly #destinations = new DestinationDirectory(destinationLimit)
  readonly #slots = new FreshSlots()
  readonly #content = new ByteBudget(contentLimit)
  readonly #work = new Set<Promise<void>>()
  #inHand = 0
  #cancelTimer: CancelTimer = () => {}
  #armedFor = Infinity
  #running = false

  constructor(parts: QueueParts, settings: QueueSettings) {
    this.#parts = parts
    this.#settings = settings
    this.owner = `boot_${newId('att', parts.clock.now()).slice(4)}`
  }

  /** Takes over what an earlier process left and begins to claim what is due. */
  async start(): Promise<void> {
    const { db } = this.#parts
    await db.write([releaseOthers(this.owner)])
    for (const row of await db.read<{ destination: string; due_at: number }>(waitingDestinations)) {
      this.#destinations.noteWaiting(row.destination, row.due_at)
    }
    this.#running = true
    this.#claimWhatIsDue()
  }

  /**
   * Room to hand a fresh message over in memory; null where it has to wait in the queue, because memory is full or
   * older mail for one of its destinations waits already.
   */
  reserve(destinations: Iterable<string>, bytes: number): FreshSlot | null | Promise<FreshSlot | null> {
    if (!this.#running) return null
    const now = this.#parts.clock.now()
    for (const name of destinations) if (this.#destinations.isBehind(name, now)) return null
    return this.#slots.take(bytes)
  }

  /** Delivers a message that was stored with this process as the owner of its recipients. */
  deliverFresh(message: QueuedMessage, recipients: QueuedRecipient[], content: Uint8Array, slot: FreshSlot): void {
    for (const { destination } of recipients) this.#take(destination, 1)
    this.#track(this.#deliver(message, recipients, content).finally(() => slot.release()))
  }

  /** Mail for this destination has been stored without an owner, or became due at another time. */
  noteWaiting(destination: string, dueAt: number): void {
    this.#destinations.noteWaiting(destination, dueAt)
    this.#claimWhatIsDue()
  }

  /** Claims no more, waits at most so long for what is in hand, and gives the rest back. */
  async stop(graceMs: number): Promise<void> {
    this.#running = false
    this.#cancelTimer()
    let isLate = false
    const late = new Promise<void>((resolve) => {
      setTimeout(() => {
        isLate = true
        resolve()
      }, graceMs).unref()
    })
    while (this.#work.size > 0 && !isLate) await Promise.race([Promise.allSettled(this.#work), late])
    await this.#parts.db.write([releaseAll(this.owner)])
  }

  #claimWhatIsDue(): void {
    if (!this.#running) return
    const now = this.#parts.clock.now()
    while (this.#inHand < totalLimit) {
      const next = this.#destinations.next(now)
      if (!next) break
      this.#track(this.#claim(next.name, next.room))
    }
    this.#arm(this.#destinations.firstDueAt)
  }

  #arm(dueAt: number): void {
    if (dueAt === this.#armedFor) return
    this.#cancelTimer()
    this.#armedFor = dueAt
    // What is due already but finds no room is looked at when something is let go.
    if (dueAt === Infinity || dueAt <= this.#parts.clock.now()) return
    this.#cancelTimer = this.#parts.clock.at(dueAt, () => {
      this.#armedFor = Infinity
      this.#claimWhatIsDue()
    })
  }

  async #claim(destination: string, room: number): Promise<void> {
    const { db, clock, log } = this.#parts
    this.#take(destination, room)
    let unclaimed = room
    try {
      const [claimed, next] = await db.write(claimDue({ destination, owner: this.owner, now: clock.now(), limit: room }))
      const rows = (claimed?.rows ?? []) as ClaimedRow[]
      unclaimed = room - rows.length
      const dueAt = next?.rows[0]?.due_at
      if (typeof dueAt === 'number') this.#destinations.noteWaiting(destination, dueAt)
      for (const [messageId, ofMessage] of Map.groupBy(rows, (row) => row.message_id)) {
        this.#track(this.#deliverStored(messageId, ofMessage.map((row) => queuedRecipientOf(row, destination))))
      }
    } catch (error) {
      log.error({ destination, error }, 'claiming due mail failed')
      this.#destinations.noteWaiting(destination, clock.now() + againMs)
    } finally {
      this.#letGo(destination, unclaimed)
    }
  }

  async #deliverStored(messageId: string, recipients: QueuedRecipient[]): Promise<void> {
    const { db, clock } = this.#parts
    const message = await readMessage(db, messageId).catch((error: unknown) => this.#cannotRead(messageId, recipients, error))
    if (!message) return
    const isOver = (recipient: QueuedRecipient) => recipient.suppressed || recipient.expiresAt <= clock.now()
    const { over = [], open = [] } = Object.groupBy(recipients, (recipient) => (isOver(recipient) ? 'over' : 'open'))
    for (const recipient of over) {
      await this.#settle(recipient, settleUntried(message, recipient, this.owner, clock.now()))
    }
    if (open.length === 0) return
    await this.#content.take(message.size)
    try {
      const content = await readContent(db, messageId).catch((error: unknown) => this.#cannotRead(messageId, open, error))
      if (content) await this.#deliver(message, open, content)
    } finally {
      this.#content.giveBack(message.size)
    }
  }

  async #cannotRead(messageId: string, recipients: QueuedRecipient[], error: unknown): Promise<undefined> {
    this.#parts.log.error({ messageId, error }, 'a message that is due could not be read')
    await Promise.all(recipients.map((recipient) => this.#postpone(recipient)))
  }

  async #deliver(message: QueuedMessage, recipients: QueuedRecipient[], content: Uint8Array): Promise<void> {
    const frame = message.sandbox ? null : this.#parts.frameFor(message)
    const jobs: Promise<void>[] = []
    for (const [destination, atDestination] of Map.groupBy(recipients, (recipient) => recipient.destination)) {
      if (message.sandbox || destination === simulatorDomain) {
        for (const recipient of atDestination) jobs.push(this.#simulate(message, recipient))
        continue
      }
      if (!frame) {
        for (const recipient of atDestination) jobs.push(this.#settleAttempt(message, recipient, unsigned(recipient, this.#parts.clock.now())))
        continue
      }
      for (let i = 0; i < atDestination.length; i += jobSize) {
        jobs.push(this.#runJob(message, atDestination.slice(i, i + jobSize), frame, content))
      }
    }
    await Promise.all(jobs)
  }

  async #runJob(message: QueuedMessage, recipients: QueuedRecipient[], frame: JobFrame, content: Uint8Array): Promise<void> {
    const { clock, deliver, log } = this.#parts
    const open = new Map(recipients.map((recipient) => [recipient.id, recipient]))
    const settling: Promise<void>[] = []
    const job: DeliveryJob = {
      id: newId('att', clock.now()),
      messageId: message.id,
      destination: recipients[0]?.destination ?? '',
      recipients: recipients.map(({ id, forwardPath }) => ({ id, forwardPath, reversePath: frame.reversePathFor(id) })),
      content,
      bodyType: message.bodyType,
      smtputf8: message.smtputf8,
      tls: frame.tls,
      signingKeys: frame.signingKeys,
    }
    const settle = (result: Attempt | Postponed): void => {
      const recipient = open.get(result.recipientId)
      if (!recipient) return
      open.delete(result.recipientId)
      settling.push('postponed' in result ? this.#postpone(recipient) : this.#settleAttempt(message, recipient, result))
    }
    await deliver(job, settle).catch((error: unknown) => log.error({ messageId: message.id, error }, 'a delivery job failed'))
    for (const recipientId of open.keys()) settle({ recipientId, postponed: true })
    await Promise.all(settling)
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
      owner: this.owner,
      now: clock.now(),
      retrySchedule: this.#settings.retrySchedule,
      viaSmarthost: this.#settings.viaSmarthost && attempt.mxHost !== simulatorDomain,
      random: random(),
    })
    settlement.batch.push(...more)
    this.#parts.log.debug(
      { messageId: message.id, recipientId: recipient.id, outcome: attempt.outcome.type, mxHost: attempt.mxHost },
      'attempt ended',
    )
    await this.#settle(recipient, settlement)
  }

  async #settle(recipient: QueuedRecipient, { batch, dueAt }: Settlement): Promise<void> {
    await this.#writeOutcome(recipient, batch)
    this.#parts.eventsWritten()
    this.#letGo(recipient.destination, 1)
    if (dueAt !== null) this.noteWaiting(recipient.destination, dueAt)
  }

  async #postpone(recipient: QueuedRecipient): Promise<void> {
    const dueAt = this.#parts.clock.now() + postponedMs
    await this.#writeOutcome(recipient, [postpone(recipient.id, this.owner, dueAt)])
    this.#letGo(recipient.destination, 1)
    this.noteWaiting(recipient.destination, dueAt)
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

  #take(destination: string, recipients: number): void {
    this.#inHand += recipients
    this.#destinations.tookInHand(destination, recipients)
  }

  #letGo(destination: string, recipients: number): void {
    if (recipients === 0) return
    this.#inHand -= recipients
    this.#destinations.letGo(destination, recipients)
    this.#claimWhatIsDue()
  }

  #track(work: Promise<void>): void {
    const tracked = work.catch((error: unknown) => this.#parts.log.error({ error }, 'delivering failed'))
    this.#work.add(tracked)
    void tracked.finally(() => this.#work.delete(tracked))
  }
}

/** The attempt of a message whose sending domain has lost its keys: it waits, because it must not leave unsigned. */
const unsigned = (recipient: QueuedRecipient, now: number): Attempt => ({
  recipientId: recipient.id,
  outcome: {
    type: 'deferred',
    reply: null,
    category: 'internal_error',
    reason: 'The sending domain is not verified any more, so the message cannot be signed. Verify the domain again.',
  },
  startedAt: now,
  durationMs: 0,
  mxHost: null,
  address: null,
  tls: null,
  selectors: [],
  transcript: [],
})
