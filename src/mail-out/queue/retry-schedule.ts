/** How much a delay is lengthened at random, so that what was deferred together does not come back together. */
const jitter = 0.1

/**
 * When a recipient is tried again, epoch ms: after the delay in the schedule for this many attempts (the last one repeats), never
 * early, and no later than its expiry. Null once that has passed. `maxWaitMs` shortens the delay.
 */
export function retryAt(
  attempts: number,
  retry: { schedule: readonly number[]; expiresAt: number; maxWaitMs?: number | undefined; now: number; random: number },
): number | null {
  const { schedule, expiresAt, maxWaitMs = Infinity, now, random } = retry
  if (now >= expiresAt) return null
  const delay = Math.min(schedule[Math.min(attempts, schedule.length) - 1] ?? 0, maxWaitMs)
  return Math.min(now + Math.round(delay * (1 + jitter * random)), expiresAt)
}

/** No retry by these schedules waits longer than this, ms. */
export const maxWaitMs = (schedules: readonly { delays?: readonly number[] }[]): number =>
  Math.ceil(Math.max(...schedules.flatMap(({ delays = [] }) => delays)) * (1 + jitter))

/**
 * True if a recipient is given up without another attempt. One that was due before it expired has not been tried since, because the
 * server was off or the clock was wrong, so it gets a last attempt. One that is due exactly at its expiry has had its own.
 * @param neverLate the message is of no use to its recipient after its expiry
 */
export function isOver({ dueAt, expiresAt }: { dueAt: number; expiresAt: number }, neverLate: boolean, now: number): boolean {
  return now >= expiresAt && (neverLate || dueAt >= expiresAt)
}
