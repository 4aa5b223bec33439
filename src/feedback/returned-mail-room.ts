import type { Clock } from '../clock.ts'
import type { Database, Statement } from '../store/database.ts'
import { firstRowsBySize } from '../store/remove-in-pieces.ts'
import type { ReturnPathBox, ReturnedMailBudget } from './returned-mail-budget.ts'

interface ReturnedMailRoomServices {
  db: Pick<Database, 'slowRead' | 'write'>
  clock: Clock
  budget: ReturnedMailBudget
}

/** Contents that one batch removes at most: they are large, and removing them is what takes the time. */
const contentsAtOnce = 32
/** How long nobody looks again where nothing could leave, ms: to find that out, all that waits is gone through. */
const inVainMs = 1_000

/**
 * Finds room for what comes. Where a box is full the oldest contents leave that are settled, so that nobody who fills it
 * keeps the reports of others out: what came of a report is written down, and its content is only for looking it up. Of the
 * operator's mail nothing leaves: that is for a person, who may not have seen it yet.
 */
export class ReturnedMailRoom {
  readonly #services: ReturnedMailRoomServices
  readonly #clearing = new Map<ReturnPathBox, Promise<boolean>>()
  /** Until when nothing can leave a box, by the clock that goes evenly. */
  readonly #inVainUntil = new Map<ReturnPathBox, number>()

  constructor(services: ReturnedMailRoomServices) {
    this.#services = services
  }

  /** Counts a report; false, and nothing is counted, where there is no room for it. `source`: as of `ReturnedMailBudget`. */
  async take(box: ReturnPathBox, source: string | null, cost: number): Promise<boolean> {
    const { budget } = this.#services
    while (!budget.take(box, source, cost)) {
      if (box === 'operator' || !budget.mayEverTake(source, cost) || !(await this.#clear(box))) return false
    }
    return true
  }

  /** One piece at a time, whoever waits for it. */
  #clear(box: ReturnPathBox): Promise<boolean> {
    const clearing = this.#clearing.get(box) ?? this.#removeOldest(box).finally(() => this.#clearing.delete(box))
    this.#clearing.set(box, clearing)
    return clearing
  }

  /** False where there was nothing to remove. */
  async #removeOldest(box: ReturnPathBox): Promise<boolean> {
    const { db, clock, budget } = this.#services
    if ((this.#inVainUntil.get(box) ?? 0) > clock.steady()) return false
    const found = await db.slowRead<{ id: string; cost: number }>(
      `select c.id, c.cost from incoming_content c
        where c.box = :box and not exists (select 1 from incoming_report r where r.content_id = c.id and r.state = 'received')
        order by c.id limit ${contentsAtOnce}`,
      { box },
    )
    const oldest = firstRowsBySize(found, ({ cost }) => cost)
    if (oldest.length === 0) {
      this.#inVainUntil.set(box, clock.steady() + inVainMs)
      return false
    }
    const written = await db.write(oldest.map(removeContent), { patient: true })
    // One that was swept out meanwhile is counted there.
    budget.giveBack(
      box,
      oldest.reduce((sum, { cost }, place) => sum + (written[place]?.changes ? cost : 0), 0),
    )
    return true
  }
}

const removeContent = ({ id }: { id: string }): Statement => ({ sql: 'delete from incoming_content where id = :id', params: { id } })
