import type { BaseServices } from '../../platform/base-services.ts'
import { newId, timeOfId } from '../../platform/id.ts'
import type { Reprieve } from '../../mail-out/queue/reprieve.ts'
import type { LogReader } from '../../mail/event/log-reader.ts'
import { Claims } from '../../platform/store/claims.ts'
import type { EndDuty, Nodes } from '../../platform/store/nodes.ts'
import type { Statement } from '../../platform/store/database.ts'
import { removeInPieces } from '../../platform/store/remove-in-pieces.ts'
import { EmailOrder } from './email-order.ts'
import { EndpointScheduler, type Endpoint } from './endpoint-scheduler.ts'
import { fanOutReader } from './fan-out.ts'
import { isSuccess, type PostResult, type WebhookPoster } from './post-webhook.ts'
import {
  bringForward,
  cancelClaimed,
  cancelIfDisabled,
  claimDeliveries,
  firstDue,
  insertAttempt,
  putBack,
  settleDelivery,
  type ClaimedDelivery,
} from './webhook-delivery-store.ts'
import type { WebhookList } from './webhook-list.ts'
import { webhookRequest } from './webhook-request.ts'
import { disableFailing, postponeDisabling, recordFailure, recordSuccess, type Webhook } from './webhook-store.ts'

interface RunnerServices extends Pick<BaseServices, 'db' | 'clock' | 'log' | 'metrics'> {
  nodes: Pick<Nodes, 'self' | 'deadline' | 'parts' | 'freeBuried' | 'duty'>
  list: WebhookList
  poster: WebhookPoster
  reprieve: Pick<Reprieve, 'waitMs' | 'onOutage'>
}

export interface RunnerSettings {
  /** ms to wait after each failed attempt. When they are used up, the delivery has failed. */
  retrySchedule: readonly number[]
  /** Disables a webhook after this time without success, if it has exhausted `disableAfterExhausted` deliveries; null: never. */
  disableAfterMs: number | null
  /** Concurrent posts; at most 2,000. */
  maxConnections?: number
}

const disableAfterExhausted = 10
/** How often a node that cannot say that it lives looks whether it can again, ms. */
const lookMs = 100

/**
 * Posts events to webhooks.
 *
 * 1. fan out     turns events of the log into deliveries, one per event and webhook
 * 2. claim       claims what is due at an endpoint, as much as it may have in hand
 * 3. post        makes one attempt each, freshly signed
 * 4. settle      records success, a later attempt, or failure
 *
 * The schedule is in the database. Memory holds only when each endpoint is due next, and what is in hand. Endpoints do not wait for one
 * another, because each has its own connections (see EndpointScheduler). At an endpoint, only the events of one email wait for each other (see
 * EmailOrder).
 */
export class WebhookRunner {
  readonly #services: RunnerServices
  readonly #settings: RunnerSettings
  readonly #turns: EndpointScheduler
  readonly #order = new EmailOrder()
  readonly #claims: Claims
  readonly #log: LogReader
  #endFanOut: EndDuty = () => {}
  #running = false
  #brokenOff = false

  constructor(services: RunnerServices, settings: RunnerSettings) {
    this.#services = services
    this.#settings = settings
    this.#claims = new Claims({
      ...services,
      table: 'webhook_delivery',
      what: 'webhook deliveries',
      fields: (webhookId) => ({ webhookId }),
      onDue: (webhookId) => this.#turns.request(webhookId),
      onFreed: () => (this.#running ? this.lookForDue() : undefined),
      putBack,
      mayBatch: true,
    })
    this.#log = fanOutReader(services, (webhookId) => this.wake(webhookId))
    // Time in which the server was off does not count as time without success.
    services.reprieve.onOutage((missedMs, now) => this.#claims.track(services.db.write([postponeDisabling(missedMs, now)])))
    this.#turns = new EndpointScheduler((endpoint) => this.#running && this.#claims.track(this.#takeTurn(endpoint)), {
      maxConnections: settings.maxConnections,
      partOf: (limit) => services.nodes.parts.of(limit),
    })
  }

  /** Continues what the last process left, and from then on posts what is due. */
  async start(): Promise<void> {
    await this.#claims.start()
    this.#running = true
    await this.lookForDue()
    this.#endFanOut = await this.#services.nodes.duty('webhook fan-out', async () => {
      await this.#log.start()
      return () => this.#log.stop()
    })
  }

  /** Starts nothing new. Waits this long for attempts in hand, then aborts them; they are due again after the next start. */
  async stop(graceMs: number): Promise<void> {
    this.#running = false
    this.#claims.track(Promise.resolve(this.#endFanOut()))
    await this.#claims.end(graceMs, () => {
      this.#brokenOff = true
      this.#services.poster.breakOff()
    })
  }

  /** Call it when a webhook is enabled, because events may be waiting for it. */
  webhookEnabled(): void {
    this.#log.wake()
  }

  /** Call it when the clock was set back: no delivery waits longer than the schedule says. */
  clockSetBack(): void {
    this.#claims.track(this.#bringForward())
  }

  /** Notes that a webhook has a delivery due at this time (epoch, ms; default now). */
  wake(webhookId: string, dueAt = this.#services.clock.now()): void {
    if (!this.#running) return
    if (dueAt <= this.#services.clock.now()) this.#turns.request(webhookId)
    else this.#claims.wake(webhookId, dueAt)
  }

  /** Looks in the rows which webhooks have posts that are due. */
  async lookForDue(): Promise<void> {
    for (const { webhook_id: id, due_at: dueAt } of await this.#services.db.read<{ webhook_id: string; due_at: number | null }>(firstDue)) {
      if (dueAt !== null) this.wake(id, dueAt)
    }
  }

  /** One turn of an endpoint: claims what it may and starts the attempts. */
  async #takeTurn(endpoint: Endpoint): Promise<void> {
    const places = this.#turns.reserve(endpoint)
    const turn = { name: endpoint.id, places }
    const claimed = await this.#claims.claim<ClaimedDelivery>(turn, (range) => claimDeliveries(endpoint.id, range))
    claimed.sort((a, b) => (a.id < b.id ? -1 : 1))
    const beginning = claimed.filter((delivery) => this.#order.mayBegin(endpoint.id, delivery))
    this.#turns.claimed(endpoint, { unused: places - claimed.length, waiting: claimed.length - beginning.length })
    for (const delivery of beginning) this.#claims.track(this.#attemptInOrder(endpoint, delivery))
  }

  /** Attempts a delivery, and then, in its place, those that have waited for it. After a stop, these are left for the next start. */
  async #attemptInOrder(endpoint: Endpoint, first: ClaimedDelivery): Promise<void> {
    for (let delivery: ClaimedDelivery | undefined = first; delivery;) {
      const succeeded: boolean = await this.#attempt(endpoint, delivery)
      delivery = this.#running ? this.#order.next(endpoint.id, delivery) : undefined
      if (delivery) this.#turns.passedOn(endpoint, succeeded)
      else this.#turns.ended(endpoint, succeeded)
    }
  }

  /** Resolves once there is an answer, true if it is a success. */
  async #attempt(endpoint: Endpoint, delivery: ClaimedDelivery): Promise<boolean> {
    const { list, log } = this.#services
    const webhook = list.findWebhook(endpoint.id)
    try {
      if (webhook?.status !== 'enabled') {
        await this.#claims.settle([cancelClaimed(delivery.id, this.#claims.owner)])
        return false
      }
      // What a stop interrupts here was not posted, and is put back.
      if (this.#services.nodes.deadline.isPast && !(await this.#isOursAgain())) return false
      const sentAt = this.#services.clock.now()
      const result = await this.#post(webhook, delivery, sentAt)
      // We aborted it ourselves. The attempt does not count, and is made again after the next start.
      if (this.#brokenOff && result.statusCode === null) return false
      this.#claims.track(this.#settle(webhook, delivery, { sentAt, result }))
      return isSuccess(result)
    } catch (error) {
      log.error({ error, webhookId: endpoint.id, deliveryId: delivery.id }, 'a webhook attempt failed because of an internal error')
      return false
    }
  }

  /** Other nodes may take over what this one has claimed. Waits until it can say again that it lives, if it does not end; false if it stops. */
  async #isOursAgain(): Promise<boolean> {
    const { nodes, clock } = this.#services
    while (nodes.deadline.isPast && !this.#brokenOff) await new Promise<void>((resolve) => clock.at(clock.now() + lookMs, resolve))
    return !this.#brokenOff
  }

  async #post(webhook: Webhook, delivery: ClaimedDelivery, at: number): Promise<PostResult> {
    const { id: deliveryId, event_id: eventId, event_type: eventType, body: text, attempts } = delivery
    try {
      return await this.#services.poster.post(
        await webhookRequest(webhook, { eventId, eventType, deliveryId, number: attempts + 1, text, at }),
      )
    } catch (error) {
      // A failure like any other: it is tried again, and the events behind it go on.
      this.#services.log.error({ error, webhookId: webhook.id, deliveryId }, 'a webhook request could not be made')
      return { statusCode: null, response: null, error: 'This server could not make the request.', durationMs: 0 }
    }
  }

  async #settle(webhook: Webhook, delivery: ClaimedDelivery, outcome: { sentAt: number; result: PostResult }): Promise<void> {
    const { sentAt, result } = outcome
    const { clock, log } = this.#services
    const now = clock.now()
    const number = delivery.attempts + 1
    // After an outage, one failed attempt is not the end.
    const wait = this.#settings.retrySchedule[delivery.attempts] ?? this.#services.reprieve.waitMs()
    const state = isSuccess(result) ? 'success' : wait === null ? 'failed' : 'pending'
    const nextAt = state === 'pending' ? now + (wait ?? 0) : null
    const written = await this.#claims.settle([
      settleDelivery({ id: delivery.id, owner: this.#claims.owner }, state, nextAt),
      insertAttempt({ id: newId('wha', now), deliveryId: delivery.id, number, sentAt }, result),
      ...(state === 'success' ? [recordSuccess(webhook.id)] : this.#failureStatements(webhook.id, state === 'failed', now)),
    ])
    if (!written) return
    this.#count(delivery, state, { sentAt, result })
    const fields = { webhookId: webhook.id, deliveryId: delivery.id, attempt: number, statusCode: result.statusCode }
    log.debug({ ...fields, state, reason: result.error }, 'webhook attempt made')
    if (nextAt !== null) this.wake(webhook.id, nextAt)
    const disabled = written.some(({ rows }) => rows.length === 1) // only disableFailing returns a row
    if (disabled) {
      await this.#services.list.reload(webhook.id)
      log.warn({ webhookId: webhook.id, accountId: webhook.accountId }, 'webhook disabled: all its deliveries have failed for days')
    }
  }

  #count(
    { id }: ClaimedDelivery,
    state: 'success' | 'failed' | 'pending',
    { sentAt, result }: { sentAt: number; result: PostResult },
  ): void {
    const { metrics } = this.#services
    metrics.webhookAttempts[state === 'pending' ? 'retry' : state].add()
    metrics.webhookDuration.observe(result.durationMs / 1000)
    if (state === 'success') metrics.webhookDelay.observe(Math.max(0, sentAt + result.durationMs - timeOfId(id)) / 1000)
  }

  async #bringForward(): Promise<void> {
    const { db, clock } = this.#services
    const now = clock.now()
    const latest = now + Math.max(0, ...this.#settings.retrySchedule)
    for (const { webhook_id: webhookId } of await db.read<{ webhook_id: string }>(firstDue)) {
      await removeInPieces(db, [bringForward(webhookId, { now, latest })])
      this.wake(webhookId)
    }
  }

  /** A webhook that was disabled meanwhile gets no further attempt. */
  #failureStatements(webhookId: string, exhausted: boolean, now: number): Statement[] {
    const { disableAfterMs } = this.#settings
    const failure = recordFailure(webhookId, now, { exhausted })
    if (!exhausted || disableAfterMs === null) return [failure, cancelIfDisabled(webhookId)]
    const limits = { failingBefore: now - disableAfterMs, exhausted: disableAfterExhausted }
    // Seldom so many that others mind those that change nothing.
    return [failure, disableFailing(webhookId, limits, now), ...this.#services.list.note(webhookId), cancelIfDisabled(webhookId)]
  }
}
