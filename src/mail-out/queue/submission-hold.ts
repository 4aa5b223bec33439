/** How a destination takes its mail. */
export interface Pace {
  /** How long a recipient is in hand, on average, ms; infinite if the last one was deferred. */
  inHandMs: number
  /** Its recipients in hand. */
  inFlight: number
  /** How long none of them has made progress, ms. */
  idleMs: number
  /** How long the oldest of its mail in the queue has been due, ms; 0 if none is. */
  overdueMs: number
}

/** No submitter waits longer for room, ms. */
const maxHoldMs = 250
/** Where mail has been due for longer, waiting does not shorten the queue, ms. */
const maxOverdueMs = 1_000
/** How much one recipient counts in the average. */
const weight = 1 / 8

/**
 * How long the answer to a submitter may wait for room at the destination of the mail, ms; 0: not at all, because there will be none in
 * that time.
 * @param ahead how many submitters already wait for it
 */
export function holdMs({ inHandMs, inFlight, idleMs, overdueMs }: Pace, ahead: number): number {
  const expectedMs = ((ahead + 1) * inHandMs) / Math.max(1, inFlight)
  return expectedMs > maxHoldMs || idleMs > maxHoldMs || overdueMs > maxOverdueMs ? 0 : maxHoldMs
}

/** The average with one more recipient. */
export const averageWith = (average: number, inHandMs: number): number =>
  Number.isFinite(average) && Number.isFinite(inHandMs) ? average + (inHandMs - average) * weight : inHandMs
