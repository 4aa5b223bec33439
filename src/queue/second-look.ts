import type { Attempt } from '../delivery/attempt.ts'
import { isAbsence } from '../delivery/outcome.ts'
import { isoTime } from '../iso-time.ts'

/** How long the DNS must say that there is nowhere to bring a recipient's mail before that is believed, ms. */
const secondLookAfterMs = 15 * 60_000
/** How far that is stretched at random, so that what was looked up together is not looked up together again. */
const jitter = 0.1

interface LookedUp {
  /** Since when the DNS has said so of the recipient, epoch ms; null where it did not at the last attempt. */
  absentSince: number | null
  /** Epoch, ms. */
  expiresAt: number
}

interface LookContext {
  now: number
  /** True where name servers say so of too many domains to be believed. */
  isResolverSuspect: boolean
  /** 0 … 1 */
  random: number
}

/** What is to be done about an attempt. */
interface Judged {
  attempt: Attempt
  absentSince: number | null
  /** When the name servers are to be asked again, epoch ms; null where that is not why it is tried again. */
  askAgainAt: number | null
}

/**
 * What the DNS alone says is believed once it has said so for a quarter of an hour, to the first attempt and to one after
 * that, and while the name servers are not suspect. Until then the attempt is a deferral.
 */
export function judgeAbsence(attempt: Attempt, { absentSince, expiresAt }: LookedUp, context: LookContext): Judged {
  const { outcome } = attempt
  const { now, isResolverSuspect, random } = context
  if (!isAbsence(outcome)) return { attempt, absentSince: null, askAgainAt: null }
  // The clock may have been set back meanwhile.
  const since = Math.min(absentSince ?? now, now)
  const isConfirmed = now - since >= secondLookAfterMs
  if (isConfirmed && !isResolverSuspect) return { attempt, absentSince: since, askAgainAt: null }
  const from = isConfirmed ? now : since
  const askAgainAt = Math.min(from + Math.round(secondLookAfterMs * (1 + jitter * random)), expiresAt)
  const why = isResolverSuspect ? ', though they say so of many domains now' : ''
  const next =
    askAgainAt < expiresAt
      ? `they are asked again at ${isoTime(askAgainAt)}, before it bounces`
      : 'its time ends before they are asked again'
  const reason = `${transient(outcome.reason)}, say the name servers${why}; ${next}`
  const { reply, category } = outcome
  return { attempt: { ...attempt, outcome: { type: 'deferred', reply, category, reason } }, absentSince: since, askAgainAt }
}

/** What an absence at the first look is told as, where nobody waits for the second. */
export const untilSecondLook = (reason: string): string =>
  `${transient(reason)}, say the name servers; they would be asked again after ${secondLookAfterMs / 60_000} minutes, before it bounces`

/** RFC 3463 2: the same, but it may pass. */
const transient = (reason: string): string => reason.replace(/^5/, '4')
