import type { Attempt } from '../delivery/attempt.ts'
import { isAbsence } from '../delivery/outcome.ts'
import { isoTime } from '../../platform/iso-time.ts'

/** How long the DNS must say that a recipient's mail has nowhere to go before we believe it, ms. */
const secondLookAfterMs = 15 * 60_000
/** How much that is lengthened at random, so that what was looked up together is not looked up together again. */
const jitter = 0.1

interface LookedUp {
  /** Since when the DNS has said so for the recipient, epoch ms; null if it did not at the last attempt. */
  nxdomainSince: number | null
  /** Epoch, ms. */
  expiresAt: number
}

interface LookContext {
  now: number
  /** True if name servers say so of too many domains to be believed. */
  isResolverSuspect: boolean
  /** 0 … 1 */
  random: number
}

/** What to do about an attempt. */
interface Judged {
  attempt: Attempt
  nxdomainSince: number | null
  /** When to ask the name servers again, epoch ms; null if that is not the reason to retry. */
  askAgainAt: number | null
}

/**
 * What only the DNS says is believed once it has said so for a quarter of an hour, at the first attempt and at a later one, and while
 * the name servers are not suspect. Until then the attempt is a deferral.
 */
export function confirmAbsence(attempt: Attempt, { nxdomainSince, expiresAt }: LookedUp, context: LookContext): Judged {
  const { outcome } = attempt
  const { now, isResolverSuspect, random } = context
  if (!isAbsence(outcome)) return { attempt, nxdomainSince: null, askAgainAt: null }
  // The clock may have been set back in the meantime.
  const since = Math.min(nxdomainSince ?? now, now)
  const isConfirmed = now - since >= secondLookAfterMs
  if (isConfirmed && !isResolverSuspect) return { attempt, nxdomainSince: since, askAgainAt: null }
  const from = isConfirmed ? now : since
  const askAgainAt = Math.min(from + Math.round(secondLookAfterMs * (1 + jitter * random)), expiresAt)
  const why = isResolverSuspect ? ', though they say so of many domains now' : ''
  const next =
    askAgainAt < expiresAt
      ? `they are asked again at ${isoTime(askAgainAt)}, before it bounces`
      : 'its time ends before they are asked again'
  const reason = `${transient(outcome.reason)}, say the name servers${why}; ${next}`
  const { reply, category } = outcome
  return { attempt: { ...attempt, outcome: { type: 'deferred', reply, category, reason } }, nxdomainSince: since, askAgainAt }
}

/** How an absence at the first look is reported if nobody waits for the second. */
export const untilSecondLook = (reason: string): string =>
  `${transient(reason)}, say the name servers; they would be asked again after ${secondLookAfterMs / 60_000} minutes, before it bounces`

/** RFC 3463 2: the same, but temporary. */
const transient = (reason: string): string => reason.replace(/^5/, '4')
