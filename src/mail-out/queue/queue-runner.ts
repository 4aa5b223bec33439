import { retrySchedule } from '../../senders/account/account-policy.ts'
import type { Attempt, Postponed } from '../delivery/attempt.ts'
import type { Health } from '../../platform/health.ts'
import type { Content } from '../../mail/message/content.ts'
import type { MessageRow } from '../../mail/message/message-store.ts'
import type { Database } from '../../platform/store/database.ts'
import { Claims } from '../../platform/store/claims.ts'
import type { Nodes } from '../../platform/store/nodes.ts'
import type { HostInBackoff } from './backoffs.ts'
import { bringForward, bringHeld, freeHeld } from './bring-forward.ts'
import { claimAllExpired } from './claim-all-expired.ts'
import { ContentBudget, fitsInJob, type QueuedContent } from './content-budget.ts'
import { DestinationDirectory, type Turn } from './destination-directory.ts'
import { destinationKey } from './destination-key.ts'
import { Dispatch, type DispatchServices } from './dispatch.ts'
import { HandoffLimit, type FreshSlot } from './handoff-limit.ts'
import { StallDetector } from './stall-detector.ts'
import { holdMs } from './submission-hold.ts'
import { claimDue, type ClaimedRow, type ExpiredRow, type Lane, type QueuedRecipient, type WaitingRecipient } from './queue-store.ts'
import { queuedMessageOf, queuedRecipientOf, readContent } from './queued-mail.ts'
import type { Reprieve } from './reprieve.ts'
import { readWaitingLanes } from './waiting-lanes.ts'
import { ClaimedMail, type StoredMailServices, type Way } from './claimed-mail.ts'

interface QueueRunnerServices extends DispatchServices, Pick<StoredMailServices, 'erasedAddress' | 'isSuspended' | 'holdsMail'> {
  db: Database
  nodes: Pick<Nodes, 'self' | 'freeBuried'>
  reprieve: Reprieve
  health: Pick<Health, 'set'>
}

interface QueueSettings {
  /** How long an ordinary recipient is tried, ms. */
  giveUpAfterMs: number
}

/** How many recipients may be claimed: of one destination, and in total. */
const destinationLimit = 64
const totalLimit = 4_000
/** How many destinations are claimed from at a time: if very many are due at once, others would wait for the store. */
const claimsAtOnce = 32
/** How often to look for mail that has expired while its destination is in backoff, ms. */
const expireEveryMs = 15_000

/**
 * Delivers due mail and records the outcomes. Fresh mail comes straight from acceptance; waiting mail (retries, scheduled mail, what a
 * restart found) is claimed from the store, destination by destination (see `Claims`).
 */
export class QueueRunner {
  readonly #services: QueueRunnerServices
  readonly #dispatch: Dispatch
  readonly #stored: ClaimedMail
  readonly #claims: Claims
  readonly #watch: StallDetector
  readonly #giveUpAfterMs: number
  readonly #destinations = new DestinationDirectory(destinationLimit, totalLimit)
  readonly #slots: HandoffLimit
  readonly #content = new ContentBudget()
  /** Each keeps its room until it is settled. With the time since when it is in hand, by the steady clock. */
  readonly #inFlight = new Map<QueuedRecipient, number>()
  /** Those of jobs that set out before a change of the routes: where these were not let in, others of their destinations may be now. */
  readonly #byOldRoutes = new WeakSet<QueuedRecipient>()
  #claiming = 0
  #running = false

  constructor(services: QueueRunnerServices, settings: QueueSettings) {
    this.#services = services
    this.#claims = new Claims({
      ...services,
      table: 'recipient',
      what: 'due mail',
      fields: (destination) => ({ destination }),
      onDue: (what) => (what === 'expiry' ? this.#claims.track(this.#expireInBackoff()) : this.#claimWhatIsDue()),
      onFreed: () => (this.#running ? this.lookForWaiting() : undefined),
    })
    this.#giveUpAfterMs = settings.giveUpAfterMs
    const isReady = (key: string): boolean => this.#running && !this.#destinations.isBehind(key, services.clock.now())
    this.#slots = new HandoffLimit({ clock: services.clock, isReady })
    const onSettled = (recipient: QueuedRecipient, dueAt: number | null, isTried: boolean) => this.#onSettled(recipient, dueAt, isTried)
    const onAttempt = (recipient: QueuedRecipient, result: Attempt | Postponed): void => this.#onAttempt(recipient, result)
    this.#dispatch = new Dispatch({ ...services, claims: this.#claims, contentRoom: this.#content, onSettled, onAttempt })
    this.#stored = new ClaimedMail({
      ...services,
      dispatch: this.#dispatch,
      contentRoom: this.#content,
      untried: (destination) => this.tryNow(destination),
    })
    this.#watch = new StallDetector({ ...services, figures: () => ({ overdueMs: this.overdueMs, inFlight: this.#destinations.inFlight }) })
  }

  /** The owner of what is claimed here. */
  get owner(): string {
    return this.#claims.owner
  }

  /** How long the oldest claimable mail has been due; 0 if there is none. */
  get overdueMs(): number {
    return Math.max(0, this.#services.clock.now() - this.#destinations.oldestDueAt)
  }

  /** Takes over what an earlier process left, and begins to claim due mail. */
  async start(): Promise<void> {
    await this.#claims.start()
    this.#running = true
    this.#watch.start()
    await this.lookForWaiting()
    this.#claims.track(this.freeHeld())
  }

  /**
   * Room to pass on a fresh message in memory; null if it must wait in the queue, because memory is full or older mail for one of its
   * destinations is already waiting. If there will be room in a moment, it waits for that, unless it is also for other destinations.
   */
  reserve(recipients: Pick<WaitingRecipient, 'destination' | 'urgent'>[], bytes: number): FreshSlot | null | Promise<FreshSlot | null> {
    const [first] = recipients
    if (!this.#running || !first) return null
    const now = this.#services.clock.now()
    const others = recipients.length === 1 ? [] : recipients.filter(({ destination }) => destination !== first.destination)
    if (others.some((other) => this.#destinations.isBehind(destinationKey(other), now))) return null
    const key = destinationKey(first)
    const slot = this.#slots.take(key, bytes)
    if (slot || others.length > 0) return slot
    const pace = this.#destinations.paceOf(key, now)
    const ms = pace ? holdMs(pace, this.#slots.waitingFor(key)) : 0
    return ms > 0 ? this.#slots.wait(key, bytes, ms) : null
  }

  /** Delivers a message that was stored with this process as the owner of its recipients. */
  deliverFresh(stored: MessageRow, rows: WaitingRecipient[], { pending, loan }: Content, slot: FreshSlot): void {
    const { db, clock } = this.#services
    const bytes = pending[0] as Uint8Array
    const message = queuedMessageOf(stored)
    const recipients = rows.map((row) => queuedRecipientOf(row, row))
    for (const row of rows) this.#destinations.claimed(destinationKey(row), 1, clock.now())
    const content: QueuedContent = { size: bytes.length, along: bytes, read: async () => slot.content ?? readContent(db, message) }
    if (!fitsInJob(bytes.length)) {
      slot.content = bytes
      slot.loan = loan ?? null
      content.along = null
      content.onMayBeRead = () => (slot.loan = null)
    }
    this.#work(message.id, recipients, async () => {
      try {
        await this.#dispatch.deliver(message, recipients, { content, isProbe: false })
        slot.loan?.giveBack()
      } finally {
        slot.release()
      }
    })
  }

  /** Mail of this lane was stored without an owner, or became due at another time. */
  noteWaiting(lane: Lane, dueAt: number): void {
    this.#destinations.noteWaiting(lane, dueAt)
    this.#claimWhatIsDue()
  }

  /** Somebody wants the destination tried now, even if its host is in backoff. */
  tryNow(destination: string): void {
    this.#destinations.probeNow(destination, this.#services.clock.now())
    this.#claimWhatIsDue()
  }

  /** A destination belongs to a group: see `destinationGroup`. */
  readonly noteGroup = (destination: string, group: string): void => this.#destinations.gate.noteGroup(destination, group)

  /** A group of destinations is sent nothing for a while, whatever it leaves from; or, null, mail to it flows again. */
  noteStop(group: string, stop: HostInBackoff | null): void {
    this.#destinations.setStop(group, stop)
    this.#claims.wake('expiry', this.#services.clock.now() + expireEveryMs)
    this.#claimWhatIsDue()
  }

  /** The routes of mail are other ones. `areAny`: there are some, so a group that is stopped may be reached another way. */
  routesChanged(areAny: boolean): void {
    for (const recipient of this.#inFlight.keys()) this.#byOldRoutes.add(recipient)
    this.#destinations.heedStops(!areAny)
    this.#claimWhatIsDue()
  }

  /** Call it when the clock was set forward: what is due is tried at once. */
  readonly clockSetForward = (): void => this.#claimWhatIsDue()

  /** Call it when the clock was set back: waiting mail, and hosts in backoff, must not wait for that time to come again. */
  clockSetBack(): void {
    const { db, clock, policies } = this.#services
    const now = clock.now()
    for (const { name } of this.#destinations.inBackoff) this.#destinations.probeNow(name, now)
    const limits = { now, schedules: policies.anywhere(retrySchedule), giveUpAfterMs: this.#giveUpAfterMs }
    this.#claims.track(bringForward(db, limits, (lane) => this.noteWaiting(lane, now)))
    this.#claimWhatIsDue()
  }

  /** Call it when an account is active again: what was held in the meantime is due. */
  accountResumed(accountId: string): void {
    const now = this.#services.clock.now()
    this.#claims.track(bringHeld(this.#services.db, { accountId, now }, (lane) => this.noteWaiting(lane, now)))
    this.#claims.track(this.freeHeld())
  }

  /** Frees what is held of accounts that the server no longer suspends, in case nobody was there when they were resumed. */
  readonly freeHeld = (): Promise<void> => freeHeld(this.#services.db, (lane, dueAt) => this.noteWaiting(lane, dueAt))

  /** Stops claiming, waits at most this long for claimed mail, and gives the rest back. */
  async stop(graceMs: number): Promise<void> {
    this.#running = false
    this.#watch.stop()
    await this.#claims.end(graceMs)
  }

  #claimWhatIsDue(): void {
    if (!this.#running) return
    const now = this.#services.clock.now()
    while (this.#claiming < claimsAtOnce) {
      const turn = this.#destinations.next(now)
      if (!turn) break
      this.#claims.track(this.#claimDue(turn))
    }
    this.#claims.wake('queue', this.#destinations.nextLookAt(now))
  }

  async #claimDue({ lane, room, isProbe }: Turn): Promise<void> {
    const key = destinationKey(lane)
    this.#destinations.claimed(key, room, this.#services.clock.now())
    this.#claiming++
    const noteDue = (at: number): void => this.#destinations.noteWaiting(lane, at)
    const turn = { name: lane.destination, places: room, order: `${key} ${lane.account_id}`, noteDue }
    const rows = await this.#claims.claim<ClaimedRow>(turn, (range) => claimDue(lane, range))
    this.#claiming--
    this.#destinations.released(key, room - this.#deliver(rows, { isProbe }, () => lane), this.#services.clock.now())
    this.#claimWhatIsDue()
    this.#slots.letIn(key)
  }

  /** @returns how many recipients were claimed */
  #deliver<R extends ClaimedRow>(rows: R[], way: Way, laneOf: (row: R) => Lane): number {
    this.#watch.noteClaimed(rows.length)
    for (const [messageId, ofMessage] of Map.groupBy(rows, (row) => row.message_id)) {
      const recipients = ofMessage.map((row) => queuedRecipientOf(row, laneOf(row)))
      this.#work(messageId, recipients, () => this.#stored.deliver(messageId, recipients, way))
    }
    return rows.length
  }

  /** Does work on recipients that have room. Whatever happens, none of them is claimed afterwards. */
  #work(messageId: string, recipients: QueuedRecipient[], work: () => Promise<void>): void {
    const since = this.#services.clock.steady()
    for (const recipient of recipients) this.#inFlight.set(recipient, since)
    this.#claims.track(this.#worked(messageId, recipients, work))
  }

  async #worked(messageId: string, recipients: QueuedRecipient[], work: () => Promise<void>): Promise<void> {
    const failed = (error: unknown): void => this.#services.log.error({ messageId, error }, 'delivering failed')
    await work().catch(failed)
    for (const recipient of recipients) {
      if (!this.#inFlight.has(recipient)) continue
      await this.#dispatch.postpone(recipient).catch(failed)
      this.#onSettled(recipient, null, false)
    }
  }

  /** Looks in the rows whose mail waits, for whatever destination or for one. */
  async lookForWaiting(destination?: string): Promise<void> {
    for (const lane of await readWaitingLanes(this.#services.db, destination)) this.#destinations.noteWaiting(lane, lane.due_at)
    this.#claimWhatIsDue()
  }

  #onSettled(recipient: QueuedRecipient, dueAt: number | null, isTried: boolean): void {
    if (!this.#inFlight.delete(recipient)) return
    this.#watch.noteSettled(isTried)
    if (dueAt !== null) this.#destinations.noteWaiting(recipient.lane, dueAt)
    const key = destinationKey(recipient.lane)
    this.#destinations.released(key, 1, this.#services.clock.now())
    this.#claimWhatIsDue()
    this.#slots.letIn(key)
  }

  #onAttempt(recipient: QueuedRecipient, result: Attempt | Postponed): void {
    const { clock, reprieve, log } = this.#services
    const { destination } = recipient
    if (!result.backoff) this.#destinations.wake(destination)
    if (!('postponed' in result)) {
      const { type, reply } = result.outcome
      if (reply) reprieve.noteAnswer()
      const inHandMs = clock.steady() - (this.#inFlight.get(recipient) ?? 0)
      this.#destinations.noteAttempt(destination, reply && (type === 'deferred' ? Infinity : inHandMs), clock.now())
    }
    if (!result.backoff || this.#byOldRoutes.has(recipient)) return
    const { key, forMs, reason } = result.backoff
    const isNew = this.#destinations.backOff(destination, { key, until: clock.now() + forMs, reason })
    if (isNew) log.info({ destination, reason }, 'mail for a destination waits until a probe gets through')
    this.#claims.wake('expiry', clock.now() + expireEveryMs)
  }

  /** Mail that expires while its destination is in backoff bounces at once, not when its host is tried again. */
  async #expireInBackoff(): Promise<void> {
    const { clock, log, reprieve } = this.#services
    const inBackoff = [...this.#destinations.inBackoff]
    const wake = (): void => this.#claims.wake('expiry', clock.now() + expireEveryMs)
    const services = { ...this.#services, claims: this.#claims, isRunning: () => this.#running, again: wake }
    const failed = (error: unknown): void => log.error({ error }, 'giving up expired mail failed')
    for (const { name, reason } of inBackoff) {
      const giveUp = (rows: ExpiredRow[]): void => {
        for (const row of rows) this.#destinations.claimed(destinationKey(row), 1, clock.now())
        this.#deliver(rows, { isProbe: false, expiredBecause: reason }, (row) => row)
      }
      if (!reprieve.isInForce()) await claimAllExpired(services, name, giveUp).catch(failed)
    }
    if (this.#destinations.gate.holdsBack) wake()
  }
}
