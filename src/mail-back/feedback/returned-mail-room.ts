import type { BaseServices } from '../../platform/base-services.ts'
import type { Statement } from '../../platform/store/database.ts'
import { firstRowsBySize } from '../../platform/store/remove-in-pieces.ts'
import type { ReturnPathBox, ReturnedMailBudget } from './returned-mail-budget.ts'

interface ReturnedMailRoomServices extends Pick<BaseServices, 'db' | 'clock'> {
  budget: ReturnedMailBudget
}

/** Contents deleted per batch. They are large, so deleting them takes time. */
const contentsAtOnce = 32
/** ms to wait after a search found nothing to delete. Such a search goes through everything that is pending. */
const inVainMs = 1_000

/**
 * Makes room for new mail. If a box is full, deletes the oldest settled contents, so that nobody who fills it can keep out the bounces of
 * others. Their outcomes are recorded; the content only serves for looking them up. Never deletes the operator's mail, because the operator
 * may not have seen it yet.
 */
export class ReturnedMailRoom {
  readonly #services: ReturnedMailRoomServices
  readonly #clearing = new Map<ReturnPathBox, Promise<boolean>>()
  /** Do not search a box again before this time, by the steady clock. */
  readonly #inVainUntil = new Map<ReturnPathBox, number>()

  constructor(services: ReturnedMailRoomServices) {
    this.#services = services
  }

  /** Counts a message. Returns false, and counts nothing, if there is no room. `source`: see `ReturnedMailBudget.take`. */
  async take(box: ReturnPathBox, source: string | null, cost: number): Promise<boolean> {
    const { budget } = this.#services
    while (!budget.take(box, source, cost)) {
      if (box === 'operator' || !budget.mayEverTake(source, cost) || !(await this.#clear(box))) return false
    }
    return true
  }

  /** Concurrent callers share one deletion. */
  #clear(box: ReturnPathBox): Promise<boolean> {
    const clearing = this.#clearing.get(box) ?? this.#removeOldest(box).finally(() => this.#clearing.delete(box))
    this.#clearing.set(box, clearing)
    return clearing
  }

  /** False if there was nothing to delete. */
  async #removeOldest(box: ReturnPathBox): Promise<boolean> {
    const { db, clock, budget } = this.#services
    if ((this.#inVainUntil.get(box) ?? 0) > clock.steady()) return false
    const found = await db.slowRead<{ id: string; cost: number }>(
      `select c.id, c.cost from returned_mail_content c
        where c.box = :box and not exists (select 1 from returned_mail r where r.content_id = c.id and r.state = 'received')
        order by c.id limit ${contentsAtOnce}`,
      { box },
    )
    const oldest = firstRowsBySize(found, ({ cost }) => cost)
    if (oldest.length === 0) {
      this.#inVainUntil.set(box, clock.steady() + inVainMs)
      return false
    }
    const written = await db.write(oldest.map(removeContent), { mayBatch: true })
    // Content that the retention job deleted meanwhile was counted there.
    budget.giveBack(
      box,
      oldest.reduce((sum, { cost }, place) => sum + (written[place]?.changes ? cost : 0), 0),
    )
    return true
  }
}

const removeContent = ({ id }: { id: string }): Statement => ({ sql: 'delete from returned_mail_content where id = :id', params: { id } })
