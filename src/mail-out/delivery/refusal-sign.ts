import { findReplyEntry } from '../../readers/explanation/find-reply-entry.ts'
import type { Outcome } from './attempt.ts'
import { mxProviderOf, providerOf } from './mx-provider.ts'

/** A reply that is about us, or about how much we send, so about all mail from the same address to the same hosts. */
export interface RefusalSign {
  /** How long to send nothing, ms; null: one such reply alone does not say that. */
  stopMs: number | null
  /** False if the recipient's domain may have written it, so it may say nothing about other domains behind the same hosts. */
  isOfHost: boolean
}

type Refused = Exclude<Outcome, { type: 'delivered' }>

/** No domain that a provider serves is asked before its recipient is named. */
const phasesOfHost = new Set(['banner', 'ehlo', 'mail'])
const minuteMs = 60_000
/** A host that wants a retry that soon only slows us down, ms. */
const shortMs = 2 * minuteMs
/** However long a reply says, ms. */
export const longestStopMs = 240 * minuteMs
const unitMs: Record<string, number> = { s: 1_000, m: minuteMs, h: 60 * minuteMs }
/**
 * "Try again in 30 minutes", "retry after 2-4 hours", "wait 600 seconds". The first number of two counts. Without such a verb the time is
 * what was counted over: "500 messages in 24 hours".
 */
const hint =
  /\b(?:(?:try|again|retry|back)(?:,?\slater)?,?\s(?:in|after)|wait(?:\sfor)?)\s(?:about |at least |another )?(\d{1,5})(?:\s?-\s?\d{1,5})?\s?(s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?|h(?:(?:ou)?rs?)?)\b/i

/** Null if the outcome says nothing about other mail. */
export function refusalSign(outcome: Outcome, mxHost: string): RefusalSign | null {
  if (outcome.type === 'delivered' || outcome.reply === null) return null
  const known = findReplyEntry({ ...outcome.reply, provider: mxProviderOf(mxHost), phase: outcome.phase ?? null })
  if (known?.effect !== 'slow_down' && known?.effect !== 'rest_address') return null
  // A bad list of one account brings that about. It is about other mail too once the address is refused for it.
  if (known.cause === 'unknown_recipients' && known.effect === 'slow_down') return null
  const isOfHost = !isWorded(outcome, outcome.reply.code, mxHost) || (known.ownStatus?.test(outcome.reply.enhancedStatus ?? '') ?? false)
  const hinted = hintedMs(outcome.reply.text)
  if (hinted > shortMs) return { stopMs: Math.min(hinted, longestStopMs), isOfHost }
  return { stopMs: known.stopMinutes === undefined ? null : known.stopMinutes * minuteMs, isOfHost }
}

/** Whether the domain of the recipient may have chosen the words. */
const isWorded = ({ phase }: Refused, code: number, mxHost: string): boolean =>
  (phase === undefined || !phasesOfHost.has(phase)) && providerOf(mxHost)?.worded?.includes(Math.floor(code / 100)) === true

/** How long the text says to wait, ms; 0 if it does not say. */
function hintedMs(text: string): number {
  const [, count = '0', unit = 's'] = hint.exec(text) ?? []
  return Number(count) * (unitMs[unit.charAt(0).toLowerCase()] ?? 0)
}
