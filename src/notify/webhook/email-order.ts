import type { ClaimedDelivery } from './webhook-delivery-store.ts'

/**
 * Begins the first attempts for one email at one endpoint one after another, in the order of its events. A delivery that is tried again waits
 * for nobody, and nobody waits for it.
 */
export class EmailOrder {
  /** By endpoint and email, if a first attempt is in hand: what waits for its end. */
  readonly #waiting = new Map<string, ClaimedDelivery[]>()

  /** True if the delivery may begin now. If not, `next` returns it in its turn. Call it in the order of the deliveries' ids. */
  mayBegin(endpointId: string, delivery: ClaimedDelivery): boolean {
    const key = keyOf(endpointId, delivery)
    if (key === null) return true
    const waiting = this.#waiting.get(key)
    if (waiting) waiting.push(delivery)
    else this.#waiting.set(key, [])
    return !waiting
  }

  /** What begins now that the attempt for this delivery has ended. */
  next(endpointId: string, ended: ClaimedDelivery): ClaimedDelivery | undefined {
    const key = keyOf(endpointId, ended)
    if (key === null) return undefined
    const next = this.#waiting.get(key)?.shift()
    if (!next) this.#waiting.delete(key)
    return next
  }
}

const keyOf = (endpointId: string, { email_id: emailId, attempts }: ClaimedDelivery): string | null =>
  emailId === null || attempts > 0 ? null : `${endpointId} ${emailId}`
