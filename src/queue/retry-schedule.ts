/** How far a delay is stretched at random, so that what was deferred together does not come back together. */
const jitter = 0.1

/**
 * When a recipient is tried again, epoch ms: after the delay that the schedule has for this many attempts (its last
 * one repeats), never early, and no later than the moment at which it is given up.
 */
export function retryAt(
  attempts: number,
  retry: { schedule: readonly number[]; expiresAt: number; now: number; random: number },
): number {
  const { schedule, expiresAt, now, random } = retry
  const delay = schedule[Math.min(attempts, schedule.length) - 1] ?? 0
  return Math.min(now + Math.round(delay * (1 + jitter * random)), expiresAt)
}
