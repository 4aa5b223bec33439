import type { BaseServices } from '../../platform/base-services.ts'
import { SternaError } from '../../platform/errors.ts'
import type { Health } from '../../platform/health.ts'
import { isId } from '../../platform/id.ts'
import type { Row, Statement } from '../../platform/store/database.ts'
import type { Page } from '../../platform/store/page-clause.ts'
import { bounceWaiting } from './bounce-waiting.ts'
import {
  destinationPage,
  destinationQueue,
  maxQueuesLength,
  queuedWhere,
  queueTotals,
  type DestinationQueue,
  type QueueTotals,
} from './queue-overview.ts'
import type { Lane, WaitingLane } from './queue-store.ts'
import { firstOfLanes } from './waiting-lanes.ts'
import { cancelRestored, endRestored, releaseRestored, restoredHold } from './restored-hold.ts'
import type { RecipientState } from './recipient-state.ts'

interface QueueAdminServices extends Pick<BaseServices, 'db' | 'clock' | 'changes'> {
  health: Pick<Health, 'clear'>
  /** Tells the running queue that mail of this lane is due at another time; does nothing if none is running. */
  noteWaiting(lane: Lane, dueAt: number): void
  /** Makes the running queue try a host in backoff now; does nothing if none is running. */
  tryNow(destination: string): void
}

/** The most recipients that one call bounces: it must return before its caller loses patience. */
const maxBounced = 10_000

/** The mail that waits for one destination. */
interface QueuedDestination extends Row {
  destination: string
  /** Recipients, including held ones. */
  recipients: number
  held: number
  /** Epoch, ms, of the next attempt; null if all are held. */
  next_due_at: number | null
}

/** One recipient as an operator sees it. */
export interface QueueEntry extends Row {
  id: string
  message_id: string
  account_id: string
  forward_path: string
  destination: string
  state: RecipientState
  /** Epoch, ms; null once final. */
  due_at: number | null
  /** 1 if an operator holds it, 2 if it is held because the database is a copy, 3 if its account does harm, else 0. */
  held: number
  /** Null unless an attempt is being made. */
  owner: string | null
  attempts: number
  expires_at: number
  last_response: string | null
}

const entryColumns = `id, message_id, account_id, forward_path, destination, state, due_at, held, owner, attempts,
                      expires_at, last_response`

/**
 * What an operator can do with the queue. `what` names a message (`em_…`), one recipient (`rcp_…`) or a destination domain, and stands
 * for its recipients that are not final yet.
 */
export class QueueAdmin {
  readonly #services: QueueAdminServices

  constructor(services: QueueAdminServices) {
    this.#services = services
  }

  /** The destinations with waiting mail, longest queue first. */
  list(): Promise<QueuedDestination[]> {
    return this.#services.db.slowRead<QueuedDestination>(
      `select destination, count(*) as recipients, count(case when held > 0 then 1 end) as held,
              min(case when held = 0 then due_at end) as next_due_at
         from ${queuedWhere('1 = 1')}
        group by destination order by recipients desc, destination`,
    )
  }

  /** A page of the queues by destination name, plus one row. */
  page(page: Page): Promise<DestinationQueue[]> {
    return destinationPage(this.#services.db, page, this.#services.clock.now())
  }

  /** The longest queues, plus one row. */
  longest(limit: number): Promise<DestinationQueue[]> {
    return maxQueuesLength(this.#services.db, limit, this.#services.clock.now())
  }

  totals(): Promise<QueueTotals> {
    return queueTotals(this.#services.db, this.#services.clock.now())
  }

  /** The queue of one destination; undefined if nothing waits for it. */
  destination(name: string): Promise<DestinationQueue | undefined> {
    return destinationQueue(this.#services.db, name.toLowerCase(), this.#services.clock.now())
  }

  /**
   * Bounces the mail that waits for a destination: a soft bounce with an event for each recipient, even if it is held. What is being
   * tried or scheduled for later is not affected. Returns the number of recipients, and whether more may be waiting.
   * @throws SternaError `not_found` if there is nothing to bounce
   */
  async bounce(destination: string): Promise<{ recipients: number; hasMore: boolean }> {
    const recipients = await bounceWaiting(this.#services, destination.toLowerCase(), maxBounced)
    if (recipients === 0) throw nothingFor(destination)
    return { recipients, hasMore: recipients === maxBounced }
  }

  /** The recipients of a message, one recipient, or the first hundred that wait for a destination. */
  async show(what: string): Promise<QueueEntry[]> {
    const { condition, params } = selectorOf(what)
    const waiting = 'destination' in params ? 'and due_at is not null' : ''
    const entries = await this.#services.db.slowRead<QueueEntry>(
      `select ${entryColumns} from recipient where ${condition} ${waiting} order by due_at nulls first, id limit 100`,
      params,
    )
    if (entries.length === 0) throw nothingFor(what)
    return entries
  }

  /**
   * Makes waiting mail due at once, except mail that is held or scheduled for later, and tries hosts in backoff now. Returns the number of
   * recipients.
   */
  retry(what: string): Promise<number> {
    const { condition, params } = selectorOf(what)
    const now = this.#services.clock.now()
    return this.#change(what, {
      // What was already due stays due, and keeps the last attempt that it is entitled to.
      sql: `update recipient set due_at = case when due_at > :now then :now else due_at end
             where ${condition} and due_at is not null and owner is null and held = 0 and state <> 'scheduled'
             returning destination, account_id, urgent, due_at`,
      params: { ...params, now },
      otherwise: 'held, scheduled for later or being tried',
      thenTry: true,
    })
  }

  /** Holds waiting mail until it is released; an attempt in progress continues. Held mail still expires. */
  hold(what: string): Promise<number> {
    const { condition, params } = selectorOf(what)
    return this.#change(what, {
      sql: `update recipient set held = 1 where ${condition} and due_at is not null and held = 0 returning destination, account_id, urgent, due_at`,
      params,
      otherwise: 'already held',
    })
  }

  /** Releases held mail, to be tried when it is due. */
  release(what: string): Promise<number> {
    const { condition, params } = selectorOf(what)
    return this.#change(what, {
      sql: `update recipient set held = 0 where ${condition} and due_at is not null and held > 0 returning destination, account_id, urgent, due_at`,
      params,
      otherwise: 'not held',
    })
  }

  /**
   * Releases what is held because the database is a copy, which then counts as current. Returns the number of recipients.
   * @throws SternaError `invalid_state` if it is none
   */
  releaseRestored(): Promise<number> {
    const { db, noteWaiting } = this.#services
    return this.#endRestored(() => releaseRestored(db, noteWaiting))
  }

  /**
   * Cancels what is held because the database is a copy, with an event for each recipient. Returns their number.
   * @throws SternaError `invalid_state` if it is none
   */
  cancelRestored(): Promise<number> {
    return this.#endRestored(() => cancelRestored(this.#services))
  }

  async #endRestored(change: () => Promise<number>): Promise<number> {
    if (!(await restoredHold(this.#services.db))) {
      throw new SternaError('invalid_state', 'No mail is held because a backup was restored, or the files copied or moved.')
    }
    const recipients = await change()
    await endRestored(this.#services)
    return recipients
  }

  /** `otherwise` describes the matching recipients that stay unchanged. */
  async #change(what: string, { otherwise, thenTry, ...statement }: Statement & { otherwise: string; thenTry?: boolean }): Promise<number> {
    const [written] = await this.#services.db.write([statement])
    const rows = written?.rows ?? []
    if (rows.length === 0) {
      const waiting = (await this.show(what)).filter(({ due_at: dueAt }) => dueAt !== null)
      if (waiting.length === 0) throw nothingFor(what)
      throw new SternaError('invalid_state', `The mail for "${what}" is ${otherwise}. See: sterna queue show ${what}`)
    }
    for (const lane of firstOfLanes(rows as unknown as WaitingLane[])) {
      this.#services.noteWaiting(lane, lane.due_at)
      if (thenTry) this.#services.tryNow(lane.destination)
    }
    return rows.length
  }
}

function selectorOf(what: string): { condition: string; params: Record<string, string> } {
  if (isId('em', what)) return { condition: 'message_id = :what', params: { what } }
  if (isId('rcp', what)) return { condition: 'id = :what', params: { what } }
  return { condition: 'destination = :destination', params: { destination: what.toLowerCase() } }
}

const nothingFor = (what: string): SternaError =>
  new SternaError('not_found', `Nothing in the queue matches "${what}". "sterna queue list" lists what waits.`)
