import type { BaseServices } from '../../platform/base-services.ts'
import { SternaError } from '../../platform/errors.ts'
import { recordEvent } from '../../mail/event/event-log.ts'
import { sendLimits } from '../../mail/message/send-limits.ts'
import { returnAtOf, storedTransfer } from '../../mail/message/transfer-options.ts'
import { isoTime } from '../../platform/iso-time.ts'
import { ConflictError, type Row, type Statement, refusedAs } from '../../platform/store/database.ts'
import type { Lane } from './queue-store.ts'
import type { RecipientState } from './recipient-state.ts'
import { firstOfLanes } from './waiting-lanes.ts'

interface WaitingMailServices extends Pick<BaseServices, 'db' | 'clock'> {
  /** Tells the running queue that mail of this lane is due at another time. */
  noteWaiting(lane: Lane, dueAt: number): void
}

/** A message that its submitter wants to stop. */
interface WaitingMessage {
  id: string
  accountId: string
  sandbox: boolean
  subject: string
}

interface RecipientRow extends Row, Lane {
  id: string
  forward_path: string
  state: RecipientState
  owner: string | null
}

/** They were left out from the start, or removed, and do not affect what can be done with the others. */
const setAside = new Set<RecipientState>(['suppressed', 'canceled'])

/**
 * What a submitter can still do with a message before the first attempt. The queue claims a recipient with a guarded write, and so does
 * each change here: whoever comes first wins, and the other one finds out.
 */
export class WaitingMail {
  readonly #services: WaitingMailServices

  constructor(services: WaitingMailServices) {
    this.#services = services
  }

  /**
   * Cancels a message for all of its recipients; a canceled message stays canceled.
   * @throws SternaError `invalid_state` if an attempt for one of them was made or is in progress
   */
  async cancel(message: WaitingMessage): Promise<void> {
    try {
      await this.#cancelWaiting(message)
    } catch (error) {
      if (!(error instanceof SternaError) || !(await this.#isCanceled(message.id))) throw error
    }
  }

  async #cancelWaiting(message: WaitingMessage): Promise<void> {
    const now = this.#services.clock.now()
    const waiting = await this.#waiting(message.id, ['scheduled', 'queued'], tooLateToCancel)
    await this.#change(tooLateToCancel, [
      {
        sql: `update recipient set state = 'canceled', due_at = null, held = 0
               where message_id = :messageId and state in ('scheduled', 'queued') and owner is null`,
        params: { messageId: message.id },
        expect: waiting.length,
      },
      ...waiting.map((recipient) => recordCanceled(message, recipient, now)),
    ])
  }

  /**
   * Reschedules a message; null: it is due now. Its expiry moves by the same amount, unless its submitter gave a time.
   * @throws SternaError `invalid_state` if it is no longer scheduled, or is to be returned by then
   */
  async reschedule(messageId: string, at: number | null): Promise<void> {
    const dueAt = at ?? this.#services.clock.now()
    const waiting = await this.#waiting(messageId, ['scheduled'], notScheduled)
    const returnAt = await this.#returnAt(messageId)
    if (returnAt !== null && returnAt <= dueAt) throw returnedBefore(returnAt)
    await this.#change(notScheduled, [
      {
        // What has been held since is due at another time than it was scheduled for.
        sql: `update recipient
                 set state = :state, due_at = :dueAt, last_response = null,
                     expires_at = expires_at - coalesce((select scheduled_at from message where id = :messageId), due_at) + :dueAt
               where message_id = :messageId and state = 'scheduled' and owner is null`,
        params: { messageId, dueAt, state: at === null ? 'queued' : 'scheduled' },
        expect: waiting.length,
      },
      ...(returnAt === null ? [] : [expireAt(messageId, Math.min(returnAt, dueAt + sendLimits.maxExpiry * 1000))]),
      { sql: 'update message set scheduled_at = :at where id = :messageId', params: { messageId, at }, expect: 1 },
    ])
    const due = waiting.map((recipient) => ({ ...recipient, due_at: dueAt }))
    for (const lane of firstOfLanes(due)) this.#services.noteWaiting(lane, dueAt)
  }

  /** True if all recipients are canceled, except those that were left out from the start. */
  async #isCanceled(messageId: string): Promise<boolean> {
    const states = (await this.#recipients(messageId)).map(({ state }) => state)
    return states.includes('canceled') && states.every((state) => setAside.has(state))
  }

  async #returnAt(id: string): Promise<number | null> {
    const [row] = await this.#services.db.read<{ transfer: string | null }>('select transfer from message where id = :id', { id })
    return returnAtOf(storedTransfer(row?.transfer ?? null))
  }

  #recipients(messageId: string): Promise<RecipientRow[]> {
    return this.#services.db.read<RecipientRow>(
      'select id, forward_path, destination, account_id, urgent, state, owner from recipient where message_id = :messageId',
      { messageId },
    )
  }

  /** The recipients in these states. They must be all except those set aside, and none may be claimed. */
  async #waiting(messageId: string, states: RecipientState[], refuse: () => SternaError): Promise<RecipientRow[]> {
    const waiting = (await this.#recipients(messageId)).filter(({ state }) => !setAside.has(state))
    if (waiting.length === 0 || waiting.some(({ state, owner }) => owner !== null || !states.includes(state))) throw refuse()
    return waiting
  }

  /** The first statement says how many rows it must change: fewer if the queue was faster. */
  async #change(refuse: () => SternaError, batch: Statement[]): Promise<void> {
    await refusedAs(this.#services.db.write(batch), ConflictError, refuse)
  }
}

const recordCanceled = ({ id, accountId, sandbox, subject }: WaitingMessage, recipient: RecipientRow, now: number): Statement =>
  recordEvent(
    { accountId, messageId: id, recipientId: recipient.id, to: recipient.forward_path, subject, sandbox },
    'email.canceled',
    { canceled_at: isoTime(now) },
    now,
  )

const expireAt = (messageId: string, at: number): Statement => ({
  sql: 'update recipient set expires_at = :at where message_id = :messageId',
  params: { messageId, at },
})

const returnedBefore = (at: number): SternaError =>
  new SternaError(
    'invalid_state',
    `The submitter of this email has asked to have it back by ${isoTime(at)} if it has not arrived. Schedule it for an earlier time.`,
  )

const tooLateToCancel = (): SternaError =>
  new SternaError(
    'invalid_state',
    'Only an email that is scheduled or queued can be canceled; this one is being sent or has already been tried.',
  )

const notScheduled = (): SternaError =>
  new SternaError('invalid_state', 'Only a scheduled email can be rescheduled; this one is no longer scheduled.')
