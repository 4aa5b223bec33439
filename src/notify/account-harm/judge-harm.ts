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

/** Null: nothing. What suspends weighs more than what slows, and complaints more than bounces. */
export function judgeHarm(counts: HarmCounts, limits: HarmLimits): Judgement | null {
  const { complaintsFrom, bouncesFrom } = limits
  const complaints = { count: counts.complaint, from: complaintsFrom, did: 'complained' }
  const bounces = { count: counts.hard_bounce, from: bouncesFrom, did: 'hard bounced' }
  const found =
    exceeded(complaints, counts.sent, limits.complaintsSuspend, true) ??
    exceeded(bounces, counts.sent, limits.bouncesSuspend, true) ??
    exceeded(complaints, counts.sent, limits.complaintsSlow, false) ??
    exceeded(bounces, counts.sent, limits.bouncesSlow, false)
  return found
}

interface Counted {
  count: number
  from: number
  did: string
}

/** @param ofThousand 0: no limit */
function exceeded({ count, from, did }: Counted, sent: number, ofThousand: number, isSuspended: boolean): Judgement | null {
  // Nobody asks how much was sent before there is enough to ask for.
  const all = Math.max(sent, count)
  if (ofThousand === 0 || count === 0 || count < from || count * 1000 < ofThousand * all) return null
  const share = ((count / all) * 100).toFixed(2)
  return { isSuspended, reason: `Of ${all} recipients in 24 hours, ${count} ${did} (${share} %); the limit is ${ofThousand / 10} %.` }
}
