/** Limits of harm that nothing exceeds. */
export const neverHarmful = {
  bouncesSlow: 0,
  bouncesSuspend: 0,
  bouncesFrom: 0,
  complaintsSlow: 0,
  complaintsSuspend: 0,
  complaintsFrom: 0,
  slowedPerMinute: 1,
}
