import type { HarmLimits } from '../../senders/account/account-policy.ts'
import type { HarmKind } from '../../mail/suppression/note-harm.ts'

/** What the mail of an account has done within a day, in recipients. */
export type HarmCounts = Record<HarmKind, number> & { sent: number }

/** What follows, and why. */
export interface Judgement {
  isSuspended: boolean
  /** A sentence for the account and the operator. */
  reason: string
}

/** The first limit that is reached, or null. What suspends weighs more than what slows, and complaints more than bounces. */
export function judgeHarm(counts: HarmCounts, limits: HarmLimits): Judgement | null {
  const complaints = { count: counts.complaint, from: limits.complaintsFrom, did: 'complained' }
  const bounces = { count: counts.hard_bounce, from: limits.bouncesFrom, did: 'hard bounced' }
  const checks: Check[] = [
    { ...complaints, ofThousand: limits.complaintsSuspend, isSuspended: true },
    { ...bounces, ofThousand: limits.bouncesSuspend, isSuspended: true },
    { ...complaints, ofThousand: limits.complaintsSlow, isSuspended: false },
    { ...bounces, ofThousand: limits.bouncesSlow, isSuspended: false },
  ]
  for (const { count, from, did, ofThousand, isSuspended } of checks) {
    // Before it was asked how much was sent, it is 0.
    const sent = Math.max(counts.sent, count)
    if (ofThousand === 0 || count === 0 || count < from || count * 1000 < ofThousand * sent) continue
    const share = ((count / sent) * 100).toFixed(2)
    return { isSuspended, reason: `Of ${sent} recipients in 24 hours, ${count} ${did} (${share} %); the limit is ${ofThousand / 10} %.` }
  }
  return null
}

interface Check {
  count: number
  /** A lower count has no effect. */
  from: number
  did: string
  /** 0: no limit. */
  ofThousand: number
  isSuspended: boolean
}
